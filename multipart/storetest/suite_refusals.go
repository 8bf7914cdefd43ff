package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

func testWrongDigest(t *testing.T, s Store) {
	u := s.create(t, "wrong digest")
	_, err := s.put(t, u, 1, bytesOf(5, 500), s.digest([]byte("other")), nil)
	wantRefusal(t, err, 400)
	e, _ := errors.AsType[*wire.StoreError](err)
	if c := wire.Classify(wire.Outcome{Op: wire.PutPart, Status: e.Status, Code: e.Code, Message: e.Message}); c != wire.Reread {
		t.Errorf("%v is %v, want reread", err, c)
	}
}

func testWrongWhole(t *testing.T, s Store) {
	if !s.Control.Traits().FullObject {
		return // such a store is told nothing of the whole
	}
	body := bytesOf(6, 500)
	u := s.create(t, "wrong whole")
	r := s.mustPut(t, u, 1, body)
	c := s.completion([]multipart.Receipt{r}, body)
	c.Digest = s.digest([]byte("other"))
	_, err := s.Control.Complete(t.Context(), u, c)
	wantRefusal(t, err, 400)
	if _, err := s.Control.Head(t.Context(), s.Bucket, u.Key); err == nil {
		t.Error("there is an object")
	}
}

func testWrongETag(t *testing.T, s Store) {
	body := bytesOf(7, 500)
	u := s.create(t, "wrong etag")
	r := s.mustPut(t, u, 1, body)
	r.ETag = `"` + strings.Repeat("0", 32) + `"`
	_, err := s.Control.Complete(t.Context(), u, s.completion([]multipart.Receipt{r}, body))
	wantRefusal(t, err, 400, "InvalidPart")
}

func testUnknownUpload(t *testing.T, s Store) {
	u := s.create(t, "gone")
	if err := s.Control.Abort(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	_, err := s.put(t, u, 1, bytesOf(8, 10), s.digest(bytesOf(8, 10)), nil)
	wantRefusal(t, err, 404, "NoSuchUpload")
	_, err = s.Control.List(t.Context(), u)
	wantRefusal(t, err, 404, "NoSuchUpload")
	_, err = s.Control.Complete(t.Context(), u, s.completion([]multipart.Receipt{{Number: 1, ETag: `"0"`, Digest: s.digest(nil)}}, nil))
	wantRefusal(t, err, 404, "NoSuchUpload")
}

func testAbort(t *testing.T, s Store) {
	u := s.create(t, "aborted")
	s.mustPut(t, u, 1, bytesOf(9, 500))
	for range 2 { // the second finds nothing, and that is a success
		if err := s.Control.Abort(t.Context(), u); err != nil {
			t.Error(err)
		}
	}
	_, err := s.Control.List(t.Context(), u)
	wantRefusal(t, err, 404, "NoSuchUpload")
}

func testNoObject(t *testing.T, s Store) {
	_, err := s.Control.Head(t.Context(), s.Bucket, "nothing here")
	wantRefusal(t, err, 404)
}
