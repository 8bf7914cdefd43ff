package multipart_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Looking at a store is as patient as uploading to it.
func TestLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(100)
		l.options.Threshold = 64 * kib
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		up, _ := l.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		for _, op := range []wire.Operation{wire.ListUploads, wire.List, wire.Head, wire.ReadRange} {
			l.Script(storetest.Fault{Op: op, Times: 2, Status: 503, Code: "SlowDown", RetryAfter: "2"})
		}
		u := l.uploader(t, l.Mem, l.Mem)
		if list, err := u.Uploads(t.Context(), "bucket", "k"); err != nil || len(list) != 1 || list[0].ID != up.ID {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err := u.Parts(t.Context(), up); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		info, err := u.Head(t.Context(), object)
		if err != nil || info.Size != 100 {
			t.Errorf("%+v, %v", info, err)
		}
		if data, err := u.ReadRange(t.Context(), object, info.ETag, 10, 20); err != nil || !bytes.Equal(data, body[10:30]) {
			t.Errorf("%v, %v", data, err)
		}
		if _, err := u.ReadRange(t.Context(), object, `"another"`, 10, 20); statusIn(err) != 412 {
			t.Errorf("err = %v", err)
		}
	})
}

// A control plane that only uploads says so.
func TestLookingNeedsTheControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		u := l.uploader(t, struct{ multipart.Control }{l.Mem}, l.Mem)
		_, list := u.Uploads(t.Context(), "bucket", "")
		_, read := u.ReadRange(t.Context(), object, "", 0, 1)
		if !errors.Is(list, multipart.ErrUnsupported) || !errors.Is(read, multipart.ErrUnsupported) {
			t.Errorf("%v, %v", list, read)
		}
	})
}
