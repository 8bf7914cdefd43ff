package multipart_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// What a store says of an object proves the bytes, or that they are others, or
// nothing at all; the size alone proves only that they differ.
func TestVerify(t *testing.T) {
	traits := map[string]func(*multipart.Traits){
		"whole":     func(*multipart.Traits) {},
		"composite": func(tr *multipart.Traits) { tr.Algorithm, tr.FullObject = chunker.CRC32C, false },
		"sha256":    func(tr *multipart.Traits) { tr.Algorithm, tr.FullObject = chunker.SHA256, false },
		"etag":      func(tr *multipart.Traits) { tr.Algorithm, tr.FullObject = chunker.MD5, false },
	}
	for name, change := range traits {
		for _, size := range []int{0, 1000, 64 * kib, 5*64*kib + 1} {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(size)
				tr := l.Traits()
				change(&tr)
				l.SetTraits(tr)
				l.options.Threshold = 64 * kib
				if _, err := l.upload(t.Context(), body); err != nil {
					t.Fatal(err)
				}
				u := l.uploader(t, l.Mem, l.Mem)
				check := func(b []byte) error {
					return u.Verify(t.Context(), object, chunker.NewReaderAt(bytes.NewReader(b), int64(len(b))))
				}
				if err := check(body); err != nil {
					t.Errorf("%s, %d bytes: %v", name, size, err)
				}
				_, longer := errors.AsType[*multipart.MismatchError](check(append(bytes.Clone(body), 0)))
				if !longer {
					t.Errorf("%s, %d bytes: one more is not seen", name, size)
				}
				if size == 0 {
					return
				}
				body[size-1] ^= 1
				err := check(body)
				_, differs := errors.AsType[*multipart.MismatchError](err)
				byParts := name != "whole" && size >= 64*kib // how large they were may be otherwise
				if differs == byParts || byParts && !errors.Is(err, multipart.ErrUnproven) {
					t.Errorf("%s, %d bytes, one flipped: %v", name, size, err)
				}
			})
		}
	}
}

// An ETag that only looks like an MD5 proves nothing.
func TestVerifyOpaqueETag(t *testing.T) {
	for _, by := range []string{"the store", "the object"} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(1000)
			tr := l.Traits()
			tr.Algorithm, tr.FullObject = chunker.MD5, false
			tr.OpaqueETag = by == "the store"
			l.SetTraits(tr)
			l.EditInfo = func(_ wire.Operation, info *multipart.Info) { info.OpaqueETag = by == "the object" }
			l.options.Threshold = 64 * kib
			if _, err := l.upload(t.Context(), body); err != nil {
				t.Fatal(err)
			}
			err := l.uploader(t, l.Mem, l.Mem).Verify(t.Context(), object, chunker.NewReaderAt(bytes.NewReader(body), 1000))
			if !errors.Is(err, multipart.ErrUnproven) {
				t.Errorf("%s: err = %v", by, err)
			}
		})
	}
}

func TestVerifyNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		err := l.uploader(t, l.Mem, l.Mem).Verify(t.Context(), object, l.source(10))
		if statusIn(err) != 404 {
			t.Errorf("err = %v", err)
		}
	})
}
