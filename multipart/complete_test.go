package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Whatever happens to the answer of Complete, the upload ends well, with one
// object and no second upload.
func TestCompleteInDoubt(t *testing.T) {
	cases := map[string]struct {
		faults    []storetest.Fault
		completes int
	}{
		"applied, answer lost":       {[]storetest.Fault{{Op: wire.Complete, Apply: true, Reset: true}}, 1},
		"applied, 500":               {[]storetest.Fault{{Op: wire.Complete, Apply: true, Status: 500, Code: "InternalError"}}, 1},
		"applied, 504 of a proxy":    {[]storetest.Fault{{Op: wire.Complete, Apply: true, Status: 504}}, 1},
		"not applied, 500":           {[]storetest.Fault{{Op: wire.Complete, Status: 500, Code: "InternalError"}}, 2},
		"not applied, reset":         {[]storetest.Fault{{Op: wire.Complete, Reset: true}}, 2},
		"not applied, throttled":     {[]storetest.Fault{{Op: wire.Complete, Status: 429}}, 2},
		"refused, then not, 5 times": {[]storetest.Fault{{Op: wire.Complete, Status: 503, Times: 4}}, 5},
		"applied, head is flaky": {[]storetest.Fault{{Op: wire.Complete, Apply: true, Reset: true},
			{Op: wire.Head, Status: 500, Times: 3}}, 1},
		"not applied, list is flaky": {[]storetest.Fault{{Op: wire.Complete, Status: 502},
			{Op: wire.List, Status: 500, Times: 2}}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(3*64*kib)
				l.Script(tc.faults...)
				res, err := l.upload(t.Context(), body)
				if err != nil {
					t.Fatal(err)
				}
				l.stored(t, body)
				l.wantRequests(t, wire.Complete, tc.completes)
				l.wantRequests(t, wire.Create, 1)
				if o, _ := l.Object(object.Key); res.ETag != o.ETag || res.ETag == "" {
					t.Errorf("etag %q, the object has %q", res.ETag, o.ETag)
				}
			})
		})
	}
}

func TestCompleteOutcomeUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.Complete, Apply: true, Reset: true},
			storetest.Fault{Op: wire.Head, Status: 500, Times: -1})
		_, err := l.upload(t.Context(), randomBytes(64*kib))
		if !errors.Is(err, multipart.ErrUnknownOutcome) {
			t.Fatalf("err = %v", err)
		}
		l.wantRequests(t, wire.Complete, 1)
		l.wantRequests(t, wire.Abort, 0)
	})
}

// Credentials that may write but not look: one blind repeat, then unknown.
func TestCompleteMayNotLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.Complete, Status: 500, Times: -1},
			storetest.Fault{Op: wire.Head, Status: 403, Times: -1})
		_, err := l.upload(t.Context(), randomBytes(64*kib))
		if !errors.Is(err, multipart.ErrUnknownOutcome) {
			t.Fatalf("err = %v", err)
		}
		l.wantRequests(t, wire.Complete, 2)
	})
}

// Somebody else's object under the key is never taken for ours.
func TestCompleteDoesNotAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(64*kib)
		stranger := storetest.Object{Body: body, ETag: `"x"`, Header: http.Header{"X-Amz-Meta-Chunkup-Token": {"another"}}}
		l.Replace(object.Key, stranger)
		l.Script(storetest.Fault{Op: wire.Complete, Status: 500, Delay: time.Second})
		time.AfterFunc(500*time.Millisecond, l.Forget)
		_, err := l.upload(t.Context(), body)
		var e *multipart.Error
		if !errors.As(err, &e) || e.Op != wire.Complete || errors.Is(err, multipart.ErrUnknownOutcome) {
			t.Fatalf("err = %v", err)
		}
		if o, _ := l.Object(object.Key); o.ETag != stranger.ETag {
			t.Error("the stranger's object was replaced")
		}
	})
}

// lying is a store that says something else of the object than it holds.
type lying struct {
	*storetest.Mem
	lie func(*multipart.Info)
}

func (l lying) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	info, err := l.Mem.Complete(ctx, u, c)
	l.lie(&info)
	return info, err
}

func TestCompleteMismatch(t *testing.T) {
	other, _ := chunker.Sum(strings.NewReader("other bytes"), chunker.CRC64NVME)
	for what, lie := range map[string]func(*multipart.Info){
		"size":      func(i *multipart.Info) { i.Size = 7 },
		"crc64nvme": func(i *multipart.Info) { i.Digest = other },
	} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(64*kib)
			u, err := multipart.New(lying{l.Mem, lie}, l.Mem, &l.options)
			if err != nil {
				t.Fatal(err)
			}
			_, err = u.Upload(t.Context(), object, chunker.NewReaderAt(bytes.NewReader(body), int64(len(body))))
			var m *multipart.MismatchError
			if !errors.As(err, &m) || m.What != what {
				t.Fatalf("err = %v", err)
			}
		})
	}
}

// A success without an ETag is no success: the store is asked what it has.
func TestCompleteWithoutETag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(64*kib)
		u, err := multipart.New(lying{l.Mem, func(i *multipart.Info) { i.ETag = "" }}, l.Mem, &l.options)
		if err != nil {
			t.Fatal(err)
		}
		res, err := u.Upload(t.Context(), object, chunker.NewReaderAt(bytes.NewReader(body), int64(len(body))))
		if err != nil || res.ETag == "" {
			t.Fatalf("etag %q, err = %v", res.ETag, err)
		}
		l.stored(t, body)
		l.wantRequests(t, wire.Complete, 1)
		l.wantRequests(t, wire.Head, 1)
	})
}
