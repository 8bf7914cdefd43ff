package integration

import (
	"bytes"
	"maps"
	"mime/multipart"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// A form that a browser sends is good for one object of at most so many bytes, with
// these properties and no others. The store looks at all that.
func TestPresignedForm(t *testing.T) {
	l := newLab(t, wire.Limits{})
	const most = 1000
	fields := map[string]string{"Content-Type": "text/plain", "x-amz-meta-a": "b", "success_action_status": "201"}
	for _, tc := range []struct {
		name   string
		size   int
		change func(form map[string]string)
		old    time.Duration
		status int
	}{
		{name: "empty", size: 0, status: 201},
		{name: "of the size", size: most, status: 201},
		{name: "too large", size: most + 1, status: 400},
		{name: "another key", size: 1, change: func(f map[string]string) { f["key"] = "other" }, status: 403},
		{name: "another type", size: 1, change: func(f map[string]string) { f["Content-Type"] = "text/html" }, status: 403},
		{name: "a field more", size: 1, change: func(f map[string]string) { f["x-amz-meta-c"] = "d" }, status: 403},
		{name: "a field less", size: 1, change: func(f map[string]string) { delete(f, "x-amz-meta-a") }, status: 403},
		{name: "over", size: 1, old: time.Hour, status: 403},
	} {
		key := "form/" + tc.name
		p := s3presign.New(l.client, 0)
		p.Clock().Wall = func() time.Time { return time.Now().Add(-tc.old) }
		address, form, notAfter, err := p.PresignForm(t.Context(), l.bucket, key, fields, most)
		if err != nil || time.Until(notAfter) > s3presign.DefaultTTL {
			t.Fatalf("until %v: %v", notAfter, err)
		}
		if tc.change != nil {
			tc.change(form)
		}
		if status := postForm(t, address, form, make([]byte, tc.size)); status != tc.status {
			t.Errorf("%s: status %d, want %d", tc.name, status, tc.status)
		}
		head, err := l.server.Client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &l.bucket, Key: &key})
		if made := err == nil; made != (tc.status == 201) {
			t.Errorf("%s: an object is there: %v", tc.name, made)
		} else if made && (aws.ToInt64(head.ContentLength) != int64(tc.size) || aws.ToString(head.ContentType) != "text/plain" ||
			!maps.Equal(head.Metadata, map[string]string{"a": "b"})) {
			t.Errorf("%s: %d bytes of %s, %v", tc.name, aws.ToInt64(head.ContentLength), aws.ToString(head.ContentType), head.Metadata)
		}
	}
}

// postForm sends a form as a browser does, and returns the status of the answer.
func postForm(t *testing.T, address string, form map[string]string, file []byte) int {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range form {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", "name of no interest")
	if err != nil {
		t.Fatal(err)
	}
	part.Write(file) // to memory: cannot fail
	w.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(address, w.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
