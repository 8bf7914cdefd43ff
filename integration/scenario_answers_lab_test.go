package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// uploadTelling is lab.upload for a test that has its own context, or has to act
// in the moment in which something happens.
func (l *lab) uploadTelling(ctx context.Context, t *testing.T, src check.Source, tell func(multipart.Event)) (multipart.Result, error) {
	t.Helper()
	profile, err := s3store.ByName("minio")
	if err != nil {
		t.Fatal(err)
	}
	l.endpoint.Client = l.wire
	l.used, l.events = multipart.NewEndpoint(l.endpoint), nil
	l.options.Endpoint = l.used
	l.options.OnEvent = func(e multipart.Event) {
		l.events = append(l.events, e)
		tell(e)
	}
	u, err := multipart.New(s3store.New(l.client, profile, l.wire), s3presign.New(l.client, l.ttl), &l.options)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.Upload(ctx, multipart.Object{Bucket: l.bucket, Key: "key"}, source{src})
	logTrouble(t, l.events)
	return res, err
}

// ends fails the test unless the upload, which has returned, is over: nothing
// more is sent, nothing is open at the store, and no secret was told.
func (l *lab) ends(t *testing.T, err error) {
	t.Helper()
	sent := l.proxy.Count(faultproxy.Any)
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
	told := []error{err}
	for _, e := range l.events {
		told = append(told, e.Err)
	}
	for _, err := range told {
		if err != nil {
			l.keepsSecrets(t, err.Error())
		}
	}
	if now := l.proxy.Count(faultproxy.Any); now != sent {
		t.Errorf("%d requests after the upload had returned", now-sent)
	}
}

func (l *lab) keepsSecrets(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{l.server.AccessKey, l.server.SecretKey, "X-Amz-Signature", "Signature="} {
		if strings.Contains(text, secret) {
			t.Errorf("%q holds a secret", text)
		}
	}
}

// succeeds fails the test unless the upload did what it should: the object
// equals the source and each part was stored once.
func (l *lab) succeeds(t *testing.T, src check.Source, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, l.server.Client(), l.bucket, "key", src, src.Size())
	l.ends(t, nil)
	stored := map[int]int{}
	for _, r := range l.proxy.Requests() {
		if r.Op == faultproxy.PutPart && r.Status == 200 && r.Fault == nil {
			stored[r.Part]++
		}
	}
	for part, n := range stored {
		if n != 1 {
			t.Errorf("part %d was stored %d times", part, n)
		}
	}
}

// givesUp fails the test unless the upload failed as it should: it says what
// failed and made no object. It returns the failure.
func (l *lab) givesUp(t *testing.T, err error, op wire.Operation, says ...string) *multipart.Error {
	t.Helper()
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok || e.Op != op || e.Abort != nil {
		t.Fatalf("err = %v", err)
	}
	for _, want := range append(says, op.String()) {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	check.Absent(t, l.server.Client(), l.bucket, "key")
	l.ends(t, err)
	return e
}

// parts are the requests for parts, in order of arrival.
func (l *lab) parts() []faultproxy.Request {
	return slices.DeleteFunc(l.proxy.Requests(), func(r faultproxy.Request) bool { return r.Op != faultproxy.PutPart })
}
