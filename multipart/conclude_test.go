package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// A store that would not list, for whatever reason, does not cost the earlier run's work.
func TestListRefusedOtherwise(t *testing.T) {
	for _, f := range []storetest.Fault{{Status: 405, Code: "MethodNotAllowed"}, {Status: 400, Code: "InvalidToken"}, {Status: 302}, {Status: 501, Code: "NotImplemented"}} {
		t.Run(f.Code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t)
				k.interrupt(t)
				f.Op, f.Times = wire.List, 2
				k.Script(f)
				_, err := k.run(t, object)
				if k.Uploads() != 1 {
					t.Errorf("the earlier run's upload was aborted: %v; warned %v", err, k.kinds(multipart.Warned))
				}
			})
		})
	}
}

// A drive that is away for a moment is not a source that changed.
func TestUnreadableIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		s := &unplugged{Source: chunker.NewReaderAt(bytes.NewReader(k.body), int64(len(k.body)))}
		_, err := k.uploader(t, k.Mem, k.Mem).Upload(t.Context(), object, s)
		e, _ := errors.AsType[*multipart.Error](err)
		if errors.Is(err, multipart.ErrSourceChanged) || e == nil || e.Journal == "" || k.Uploads() == 0 {
			t.Errorf("dropped: %v", err)
		}
	})
}

type unplugged struct{ chunker.Source }

func (u *unplugged) ReadAt(b []byte, off int64) (int, error) {
	if off >= 11*partBytes {
		time.Sleep(time.Second)
		return 0, &fs.PathError{Op: "read", Path: "f", Err: syscall.EIO}
	}
	return u.Source.ReadAt(b, off)
}

func (u *unplugged) Changed() error { return &fs.PathError{Op: "stat", Path: "f", Err: syscall.ESTALE} }

// A conflict with another call that makes the object asks for a new upload.
func TestConditionalConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, o := newKept(t), object
		o.CreateOnly = true
		k.Script(storetest.Fault{Op: wire.Complete, Status: 409, Code: "ConditionalRequestConflict"})
		_, err := k.run(t, o)
		if err != nil {
			t.Errorf("the class is Restart, and nothing was begun again: %v", err)
		}
	})
}

// Nobody is promised that a stream resumes.
func TestStreamJournalPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.Complete, Apply: true, Reset: true}, storetest.Fault{Op: wire.Head, Times: -1, Status: 403})
		_, err := k.stream(t, bytes.NewReader(k.body), 0)
		e, _ := errors.AsType[*multipart.Error](err)
		if e != nil && e.Journal != "" {
			t.Errorf("%v promises that the same call resumes: %s", err, e.Journal)
		}
	})
}

// That a Complete was sent is not forgotten by a run that resumes and dies before it
// sends its own: the first may be applied yet.
func TestCompletingIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.Complete, Stall: true})
		ctx, die := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, die)
		_, _ = k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
		k.Lose(k.journals(t)[0].Record.UploadID, 12)
		k.Script(storetest.Fault{Op: wire.PutPart, Stall: true})
		ctx, die = context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, die) // the parts are looked for 16 s
		_, _ = k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
		if len(k.kinds(multipart.Resumed)) != 1 {
			t.Error("it did not come to go on")
		}
		if s := k.journals(t)[0].Record.State; s != journal.Completing {
			t.Errorf("the journal says %q", s)
		}
	})
}

// What is told when the object is there already.
func TestWarnsOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, o := newKept(t), object
		o.IdempotencyKey = "k"
		ctx, die := context.WithCancel(t.Context())
		k.Script(storetest.Fault{Op: wire.Complete, Apply: true, Stall: true}, storetest.Fault{Op: wire.Head, Skip: 1, Times: 1, Stall: true})
		time.AfterFunc(time.Minute, die)
		k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, o, k.path)
		r, err := k.run(t, o)
		if err != nil || !r.Existing {
			t.Fatal(r, err)
		}
		for _, e := range k.kinds(multipart.Warned) {
			if strings.Contains(e.Err.Error(), "a new one begun") {
				t.Errorf("told: %q", e.Err)
			}
		}
	})
}

// A success does not wait long for leftovers that hang.
func TestSuccessWaitsForLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		r := k.journals(t)[0].Record
		for range 5 {
			left, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
			r.Leftover = append(r.Leftover, left.ID)
		}
		claim, _ := k.dir.Claim("http://mem", "bucket", "key")
		if err := errors.Join(claim.Save(r), claim.Release()); err != nil {
			t.Fatal(err)
		}
		k.Script(storetest.Fault{Op: wire.Abort, Times: -1, Stall: true})
		start := time.Now()
		if _, err := k.run(t, object); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 40*time.Second {
			t.Errorf("said after %v", d)
		}
	})
}

// A BadDigest of one part is no word on the others.
func TestBadDigestIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 12, Delay: time.Second, Times: 3, Status: 400, Code: "BadDigest"})
		_, err := k.run(t, object)
		e, _ := errors.AsType[*multipart.Error](err)
		if e == nil || e.Journal == "" || k.Uploads() != 1 {
			t.Errorf("11 of 12 parts were thrown away: %v", err)
		}
	})
}
