package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

func (l *lab) uploadAs(t *testing.T, o multipart.Object, body []byte) (multipart.Result, error) {
	t.Helper()
	return l.uploader(t, l.Mem, l.Mem).Upload(t.Context(), o, chunker.NewReaderAt(bytes.NewReader(body), int64(len(body))))
}

// An upload that may only create an object replaces none: an equal one is a success
// that sends nothing.
func TestCreateOnly(t *testing.T) {
	o := object
	o.CreateOnly = true
	for _, size := range []int{100, 3 * 64 * kib} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(size)
			l.options.Threshold = 64 * kib
			if r, err := l.uploadAs(t, o, body); err != nil || r.Existing {
				t.Fatalf("%+v, %v", r, err)
			}
			l.stored(t, body)
			sent := len(l.Requests())
			if r, err := l.uploadAs(t, o, body); err != nil || !r.Existing || r.SentBytes != 0 || len(l.Requests()) != sent+1 {
				t.Errorf("%+v, %v", r, err)
			}
			if _, err := l.uploadAs(t, o, randomBytes(size+1)); !errors.Is(err, multipart.ErrExists) {
				t.Errorf("err = %v", err)
			}
			other := bytes.Clone(body)
			other[0] ^= 1
			if _, err := l.uploadAs(t, o, other); !errors.Is(err, multipart.ErrExists) {
				t.Errorf("err = %v", err)
			}
			l.stored(t, body)
		})
	}
}

// An object that appears while the upload runs is not replaced either.
func TestCreateOnlyLosesTheRace(t *testing.T) {
	o := object
	o.CreateOnly = true
	for _, size := range []int{100, 3 * 64 * kib} {
		for _, equal := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(size)
				l.options.Threshold = 64 * kib
				theirs := bytes.Clone(body)
				if !equal {
					theirs[0] ^= 1
				}
				digest, _ := chunker.Sum(bytes.NewReader(theirs), chunker.CRC64NVME)
				appears := &before{Mem: l.Mem, then: func() {
					l.Replace("key", storetest.Object{Body: theirs, ETag: `"theirs"`, Digest: digest, Header: http.Header{}})
				}}
				r, err := l.uploader(t, appears, l.Mem).Upload(t.Context(), o, chunker.NewReaderAt(bytes.NewReader(body), int64(size)))
				if equal && (err != nil || !r.Existing) || !equal && !errors.Is(err, multipart.ErrExists) {
					t.Errorf("equal %v: %+v, %v", equal, r, err)
				}
				l.stored(t, theirs)
			})
		}
	}
}

// before does something after the first look at the object.
type before struct {
	*storetest.Mem
	then func()
}

func (b *before) Head(ctx context.Context, bucket, key string) (multipart.Info, error) {
	info, err := b.Mem.Head(ctx, bucket, key)
	if b.then != nil {
		b.then()
		b.then = nil
	}
	return info, err
}

// A refusal to replace an object that this very upload has made, by an attempt whose
// answer was lost, is a success.
func TestCreateOnlyFindsItsOwn(t *testing.T) {
	o := object
	o.CreateOnly = true
	for _, size := range []int{100, 3 * 64 * kib} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(size)
			l.options.Threshold = 64 * kib
			l.Script(storetest.Fault{Op: wire.Complete, Apply: true, Reset: true}, storetest.Fault{Op: wire.PutObject, Apply: true, Reset: true})
			if r, err := l.uploadAs(t, o, body); err != nil || r.Existing {
				t.Errorf("%+v, %v", r, err)
			}
			l.stored(t, body)
		})
	}
}

// A store that is not known to refuse is not asked.
func TestCreateOnlyNeedsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newLab(t, nil), object
		traits := l.Traits()
		traits.CreateOnly = false
		l.SetTraits(traits)
		o.CreateOnly = true
		if _, err := l.uploadAs(t, o, randomBytes(10)); err == nil || len(l.Requests()) != 0 {
			t.Errorf("err = %v after %d requests", err, len(l.Requests()))
		}
	})
}

// Two uploads with one key make one object; others replace it.
func TestIdempotencyKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body, o := newLab(t, nil), randomBytes(3*64*kib), object
		o.IdempotencyKey = "order 17"
		first, err := l.uploadAs(t, o, body)
		if err != nil || first.Existing || first.Token == "" {
			t.Fatalf("%+v, %v", first, err)
		}
		again, err := l.uploadAs(t, o, body)
		if err != nil || !again.Existing || again.ETag != first.ETag || again.Digest != first.Digest || again.Token != first.Token {
			t.Errorf("%+v, %v", again, err)
		}
		if _, err := l.uploadAs(t, o, randomBytes(100)); !errors.Is(err, multipart.ErrExists) {
			t.Errorf("other bytes under the same key: %v", err)
		}
		stream, err := l.uploader(t, l.Mem, l.Mem).UploadStream(t.Context(), o, strings.NewReader("not read"), 0)
		if err != nil || !stream.Existing || stream.Size != int64(len(body)) {
			t.Errorf("%+v, %v", stream, err)
		}
		l.wantRequests(t, wire.Create, 1)
		o.IdempotencyKey = "order 18"
		body = randomBytes(100)
		if r, err := l.uploadAs(t, o, body); err != nil || r.Existing {
			t.Errorf("%+v, %v", r, err)
		}
		l.stored(t, body)
	})
}
