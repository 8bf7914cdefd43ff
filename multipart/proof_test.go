package multipart_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// What the answer to Complete says of the object holds, also for who may write but not
// look: an ETag of other parts is no success.
func TestWrongETag(t *testing.T) {
	for name, faults := range map[string][]storetest.Fault{
		"may look":     nil,
		"may not look": {{Op: wire.Head, Times: -1, Status: 403, Code: "AccessDenied"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				tr := l.Traits()
				tr.Algorithm, tr.FullObject = chunker.MD5, false
				l.SetTraits(tr)
				l.EditInfo = func(op wire.Operation, i *multipart.Info) {
					i.Digest = chunker.Digest{}
					if op == wire.Complete {
						i.ETag = `"0123456789abcdef0123456789abcdef-3"`
					}
				}
				l.Script(faults...)
				_, err := l.upload(t.Context(), randomBytes(3*64*kib))
				if m, _ := errors.AsType[*multipart.MismatchError](err); m == nil || m.What != "ETag" {
					t.Errorf("the store named the ETag of another object: %v", err)
				}
			})
		})
	}
}

// A new upload that may only create is refused by an open breaker like any other.
func TestOpenBreakerCreateOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newLab(t, nil), object
		l.Script(storetest.Fault{Times: -1, Status: 500, Code: "InternalError"})
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		for i := range 10 {
			u := l.uploader(t, l.Mem, l.Mem)
			wg.Go(func() {
				u.Upload(t.Context(), multipart.Object{Bucket: "bucket", Key: string(rune('a' + i))}, l.source(64*kib))
			})
		}
		wg.Wait()
		if l.endpoint.Breaker() != breaker.Open {
			t.Fatal(l.endpoint.Breaker())
		}
		o.CreateOnly = true
		start := time.Now()
		_, err := l.uploadAs(t, o, randomBytes(100))
		_, open := errors.AsType[*breaker.OpenError](err)
		if d := time.Since(start); d > time.Second || !open {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

// An orphan and a leftover: the journal has room for both.
func TestOrphanAndLeftover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		left, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		k.putPart(t, left)
		claim, _ := k.dir.Claim("http://mem", "bucket", "key")
		err := claim.Save(journal.Record{State: journal.Aborting, Endpoint: "http://mem", Bucket: "bucket", Key: "key", UploadID: left.ID, Started: time.Now()})
		if err := errors.Join(err, claim.Release()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		k.Script(storetest.Fault{Op: wire.Create, Apply: true, Reset: true}, // an orphan
			storetest.Fault{Op: wire.Abort, Times: 2, Status: 403, Code: "AccessDenied"})
		if _, err := k.run(t, object); err != nil {
			t.Fatal(err)
		}
		_, err = k.run(t, object)
		if k.Uploads() != 0 && len(k.journals(t)) == 0 {
			t.Errorf("%d uploads are left, and no journal: %v", k.Uploads(), err)
		}
	})
}

// More than was expected: the total is then unknown, not too small.
func TestProgressBeyondTheHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(20*64*kib)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: 400 * time.Millisecond})
		if _, err := l.stream(t, bytes.NewReader(body), 64*kib); err != nil {
			t.Fatal(err)
		}
		for _, e := range l.kinds(multipart.Progressed) {
			if e.Total != 0 && e.Done > e.Total {
				t.Fatalf("%d of %d bytes", e.Done, e.Total)
			}
		}
	})
}
