package storetest

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart"
)

// is fails unless the object under a key has these bytes.
func (s Store) is(t *testing.T, key string, whole []byte) {
	t.Helper()
	info, err := s.Control.Head(t.Context(), s.Bucket, key)
	if err != nil || info.Size != int64(len(whole)) {
		t.Fatalf("%+v, %v; want %d bytes", info, err, len(whole))
	}
	r, ok := s.Control.(multipart.RangeReader)
	if !ok {
		return
	}
	if got, err := r.ReadRange(t.Context(), s.Bucket, key, info.ETag, 0, info.Size); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("the bytes differ: %v", err)
	}
}

func testPutCreatesOnly(t *testing.T, s Store) {
	if !s.Control.Traits().CreateOnly {
		return
	}
	first, second := bytesOf(21, 500), bytesOf(22, 600)
	u := multipart.Upload{Bucket: s.Bucket, Key: "create only/put"}
	only := http.Header{"If-None-Match": {"*"}}
	if _, err := s.put(t, u, 0, first, s.digest(first), only); err != nil {
		t.Fatal(err)
	}
	_, err := s.put(t, u, 0, second, s.digest(second), only)
	wantRefusal(t, err, 412, "PreconditionFailed")
	s.is(t, u.Key, first)
}

func testCompleteCreatesOnly(t *testing.T, s Store) {
	if !s.Control.Traits().CreateOnly {
		return
	}
	first, second := bytesOf(23, 500), bytesOf(24, 600)
	complete := func(body []byte) (multipart.Upload, multipart.Info, error) {
		u := s.create(t, "create only/complete")
		c := s.completion([]multipart.Receipt{s.mustPut(t, u, 1, body)}, body)
		c.CreateOnly = true
		info, err := s.Control.Complete(t.Context(), u, c)
		return u, info, err
	}
	u, done, err := complete(first)
	if err != nil || done.ETag == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	u, _, err = complete(second)
	wantRefusal(t, err, 412, "PreconditionFailed")
	s.is(t, u.Key, first)
	// The refusal leaves the upload: it can be aborted, or completed without the condition.
	if parts, err := s.Control.List(t.Context(), u); err != nil || len(parts) != 1 {
		t.Errorf("%+v, %v", parts, err)
	}
	if err := s.Control.Abort(t.Context(), u); err != nil {
		t.Error(err)
	}
}

// testListUploads asks for the uploads of one key, which every store knows, as
// not every one knows prefixes.
func testListUploads(t *testing.T, s Store) {
	l, ok := s.Control.(multipart.UploadLister)
	if !ok {
		return
	}
	const key = "unfinished/one"
	ours := map[string]bool{s.create(t, key).ID: true, s.create(t, key).ID: true}
	other := s.create(t, "unfinished/two")
	listed, err := l.ListUploads(t.Context(), s.Bucket, key)
	if err != nil || len(listed) != 2 {
		t.Fatalf("%+v, %v", listed, err)
	}
	for _, u := range listed {
		age := time.Since(u.Initiated)
		if !ours[u.ID] || u.Key != key || u.Bucket != s.Bucket || age < -time.Minute || age > time.Minute {
			t.Errorf("%+v, begun %v ago", u, age)
		}
		delete(ours, u.ID)
		if err := s.Control.Abort(t.Context(), u.Upload); err != nil {
			t.Error(err)
		}
	}
	if listed, err := l.ListUploads(t.Context(), s.Bucket, key); err != nil || len(listed) != 0 {
		t.Errorf("after abort: %+v, %v", listed, err)
	}
	if listed, err := l.ListUploads(t.Context(), s.Bucket, other.Key); err != nil || len(listed) != 1 || listed[0].Upload != other {
		t.Errorf("%+v, %v", listed, err)
	}
}

func testReadRange(t *testing.T, s Store) {
	r, ok := s.Control.(multipart.RangeReader)
	if !ok {
		return
	}
	const key = "ranges"
	whole, _, done := s.upload(t, key, 31)
	size := int64(len(whole))
	for _, tc := range []struct{ offset, size int64 }{
		{0, 1}, {0, size}, {s.PartSize - 10, 20}, {size - 1, 1}, {size - 10, 1000}, {0, size + 1},
	} {
		got, err := r.ReadRange(t.Context(), s.Bucket, key, done.ETag, tc.offset, tc.size)
		if err != nil || !bytes.Equal(got, whole[tc.offset:min(tc.offset+tc.size, size)]) {
			t.Errorf("%d bytes from %d on: %d bytes, %v", tc.size, tc.offset, len(got), err)
		}
	}
	_, err := r.ReadRange(t.Context(), s.Bucket, key, "", size, 1)
	wantRefusal(t, err, 416)
	_, err = r.ReadRange(t.Context(), s.Bucket, key, etagOf(nil), 0, 1)
	wantRefusal(t, err, 412)
	_, err = r.ReadRange(t.Context(), s.Bucket, "nothing here", "", 0, 1)
	wantRefusal(t, err, 404, "NoSuchKey")
}
