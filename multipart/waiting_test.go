package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// The upload that lost the race and cannot be aborted stays in the journal.
func TestYieldForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, o := newKept(t), object
		o.CreateOnly = true
		digest, _ := chunker.Sum(bytes.NewReader(k.body), chunker.CRC64NVME)
		appears := &before{Mem: k.Mem, then: func() {
			k.Replace("key", storetest.Object{Body: k.body, ETag: `"theirs"`, Digest: digest, Header: http.Header{}})
		}}
		k.Script(storetest.Fault{Op: wire.Abort, Times: -1, Status: 403, Code: "AccessDenied"})
		_, err := k.uploader(t, appears, k.Mem).UploadFile(t.Context(), o, k.path)
		if err != nil {
			t.Fatal(err)
		}
		if k.Uploads() == 1 && len(k.journals(t)) == 0 {
			t.Error("12 parts are left at the store and no journal tells of them")
		}
	})
}

func (k *kept) creating(t *testing.T) {
	t.Helper()
	claim, err := k.dir.Claim("http://mem", "bucket", "key")
	if err != nil {
		t.Fatal(err)
	}
	err = claim.Save(journal.Record{State: journal.Creating, Endpoint: "http://mem", Bucket: "bucket", Key: "key", Token: "t",
		Plan: chunker.Plan{Size: 12 * partBytes, PartSize: partBytes}, Started: time.Now()})
	if err := errors.Join(err, claim.Release()); err != nil {
		t.Fatal(err)
	}
}

// Somebody else's upload, begun minutes after ours died and still sending its first
// part, is spared.
func TestNamelessStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.creating(t)
		time.Sleep(10 * time.Minute)
		theirs, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		if _, err := k.run(t, object); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Mem.List(t.Context(), theirs); err != nil {
			t.Errorf("a stranger's upload was aborted: %v", err)
		}
	})
}

// A listing that failed does not end the search for the nameless upload.
func TestNamelessIsLookedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.creating(t)
		k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		time.Sleep(time.Hour)
		k.Script(storetest.Fault{Op: wire.ListUploads, Times: -1, Until: time.Now().Add(time.Minute), Status: 503, Code: "SlowDown"})
		for range 2 {
			if _, err := k.run(t, object); err != nil {
				t.Fatal(err)
			}
			if k.Uploads() != 0 && len(k.journals(t)) == 0 {
				t.Error("the upload without a name is left, and nobody will look for it")
			}
			time.Sleep(time.Hour) // when it was begun is still known then
		}
		if k.Uploads() != 0 || len(k.journals(t)) != 0 {
			t.Errorf("%d uploads are left, journals %+v", k.Uploads(), k.journals(t))
		}
	})
}

// A cancel while an earlier run's leftovers are dropped is heard.
func TestCancelWhileDropping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		k.options.PartSize *= 2 // stale
		k.Script(storetest.Fault{Op: wire.Abort, Times: -1, Stall: true})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("returned %v after it began, cancelled after 1s: %v", d, err)
		}
	})
}

// A cancelled stream with a journal is not held up by a store that is gone.
func TestCancelledStreamReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		pr, pw := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			pw.Write(randomBytes(3 * 64 * kib))
			time.Sleep(time.Minute)
			k.Script(storetest.Fault{Op: wire.Abort, Times: -1, Stall: true})
			cancel()
		}()
		start := time.Now()
		_, err := k.uploader(t, k.Mem, k.Mem).UploadStream(ctx, object, pr, 0)
		if d := time.Since(start) - time.Minute; d > 3*time.Second {
			t.Errorf("returned %v after the cancel: %v", d, err)
		}
		pw.Close()
	})
}

// An open breaker refuses a new upload at once, leftovers or not.
func TestOpenBreakerAndLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		k.options.PartSize *= 2 // stale
		time.Sleep(time.Minute)
		for range 10 {
			func() { defer func() { recover() }(); k.endpoint.Fail() }()
		}
		k.Script(storetest.Fault{Times: -1, Status: 500, Code: "InternalError"})
		start := time.Now()
		_, err := k.run(t, object)
		t.Logf("breaker %v", k.endpoint.Breaker())
		if d := time.Since(start); d > time.Second {
			t.Errorf("refused after %v: %v", d, err)
		}
	})
}

// A cancel while parts are hashed for a resume is heard.
func TestCancelWhileHashing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.options.PartSize = 4 << 20
		body := randomBytes(12 << 20)
		slow := &slowSource{Source: chunker.NewReaderAt(bytes.NewReader(body), int64(len(body)))}
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 3, Delay: time.Second, Status: 403, Code: "AccessDenied"})
		if _, err := k.uploader(t, k.Mem, k.Mem).Upload(t.Context(), object, slow); statusIn(err) != 403 {
			t.Fatal(err)
		}
		slow.on.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		start := time.Now()
		_, err := k.uploader(t, k.Mem, k.Mem).Upload(ctx, object, slow)
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("returned after %v, cancelled after 0.5s: %v", d, err)
		}
	})
}

type slowSource struct {
	chunker.Source
	on atomic.Bool
}

func (s *slowSource) ReadAt(b []byte, off int64) (int, error) {
	if s.on.Load() {
		time.Sleep(time.Second) // 256 KiB a second: a network drive
	}
	return s.Source.ReadAt(b, off)
}

// The digest of the whole is not the composite one.
func TestMadeBeforeComposite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		tr := k.Traits()
		tr.FullObject = false
		k.SetTraits(tr)
		ctx, die := context.WithCancel(t.Context())
		k.Script(storetest.Fault{Op: wire.Complete, Apply: true, Stall: true}, storetest.Fault{Op: wire.Head, Times: 1, Stall: true})
		time.AfterFunc(time.Minute, die)
		k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
		r, err := k.run(t, object)
		want, _ := chunker.Sum(bytes.NewReader(k.body), chunker.CRC64NVME)
		if err != nil || !r.Existing || !r.Digest.IsZero() && r.Digest != want {
			t.Errorf("Digest of the whole %v, it is %v (%v, %v)", r.Digest, want, r.Existing, err)
		}
	})
}

// Nothing of a vanished upload was resumed.
func TestResumedThenGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 12, Status: 404, Code: "NoSuchUpload"})
		r, err := k.run(t, object)
		k.finished(t, err)
		if r.Resumed != 0 {
			t.Errorf("%d parts resumed, and %d of %d were sent", r.Resumed, r.Attempts, r.Parts)
		}
	})
}

// A success without an id has perhaps begun an upload.
func TestBareCreateIsAnOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		_, err := k.uploader(t, &bareCreate{k.Mem}, k.Mem).UploadFile(t.Context(), object, k.path)
		e, _ := errors.AsType[*multipart.Error](err)
		if e == nil || !e.Orphan || len(k.journals(t)) == 0 {
			t.Errorf("%d uploads are left, orphan %v, %d journals", k.Uploads(), e != nil && e.Orphan, len(k.journals(t)))
		}
	})
}

type bareCreate struct{ *storetest.Mem }

func (b *bareCreate) Create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	_, err := b.Mem.Create(ctx, i)
	return multipart.Upload{}, err
}
