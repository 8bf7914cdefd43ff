package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// What may pass or be mended does not throw finished parts away.
func TestMendableIsKept(t *testing.T) {
	for name, f := range map[string]storetest.Fault{
		"captive portal": {Status: 302},
		"proxy login":    {Status: 407},
		"proxy's page":   {Status: 404},
		"quota (MinIO)":  {Status: 400, Code: "XMinioAdminBucketQuotaExceeded"},
		"token (AWS)":    {Status: 400, Code: "InvalidToken"},
		"token refresh":  {Status: 400, Code: "TokenRefreshRequired"},
		"payment":        {Status: 402},
		"bucket is away": {Status: 404, Code: "NoSuchBucket"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t)
				f.Op, f.Part, f.Delay, f.Times = wire.PutPart, 12, time.Second, 3
				k.Script(f)
				_, err := k.run(t, object)
				e, _ := errors.AsType[*multipart.Error](err)
				if e == nil || e.Journal == "" || k.Uploads() != 1 || len(k.journals(t)) != 1 {
					t.Errorf("11 of 12 parts were thrown away: %v", err)
				}
			})
		})
	}
}

// An outage while a lost part is sent again keeps the journal.
func TestRepairInAnOutage(t *testing.T) {
	for name, f := range map[string]storetest.Fault{
		"list": {Op: wire.List, Times: -1, Status: 500, Code: "InternalError"},
		"part": {Op: wire.PutPart, Part: 5, Skip: 1, Times: -1, Status: 500, Code: "InternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t)
				lose := &losing{Mem: k.Mem, part: 5}
				k.Script(f)
				_, err := k.uploader(t, lose, k.Mem).UploadFile(t.Context(), object, k.path)
				e, _ := errors.AsType[*multipart.Error](err)
				if e == nil || e.Journal == "" || k.Uploads() != 1 || len(k.journals(t)) != 1 {
					t.Errorf("the upload was dropped in an outage: uploads %d, journals %d, %v", k.Uploads(), len(k.journals(t)), err)
				}
			})
		})
	}
}

type losing struct {
	*storetest.Mem
	part int
}

func (l *losing) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if l.part != 0 {
		l.Lose(u.ID, l.part)
		l.part = 0
	}
	return l.Mem.Complete(ctx, u, c)
}

// A part that is sent again is not counted twice.
func TestRepairProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		lose := &losing{Mem: k.Mem, part: 5}
		_, err := k.uploader(t, lose, k.Mem).UploadFile(t.Context(), object, k.path)
		if err != nil {
			t.Fatal(err)
		}
		last := k.events[len(k.events)-1]
		if last.Done != last.Total {
			t.Errorf("done %d of %d", last.Done, last.Total)
		}
	})
}

// A 404 that is not NoSuchUpload does not make the upload a thing of the past.
func TestListNotFoundIsNotGone(t *testing.T) {
	for name, f := range map[string]storetest.Fault{
		"proxy's page, once":      {Op: wire.List, Times: 1, Status: 404},
		"no such bucket, for now": {Times: -1, Status: 404, Code: "NoSuchBucket"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t)
				k.interrupt(t)
				f.Until = time.Now().Add(time.Minute)
				k.Script(f)
				_, err := k.run(t, object)
				if len(k.journals(t)) == 0 && k.Uploads() != 0 {
					t.Errorf("11 parts are left at the store and no journal tells of them: %v", err)
				}
			})
		})
	}
}

// What is still to be aborted is aborted, also if the upload is gone or dropped by hand.
func TestLeftoversAreLost(t *testing.T) {
	for _, how := range []string{"gone", "abort"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t)
				k.interrupt(t)
				left, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
				r := k.journals(t)[0].Record
				r.Leftover = []string{left.ID}
				claim, _ := k.dir.Claim("http://mem", "bucket", "key")
				if err := errors.Join(claim.Save(r), claim.Release()); err != nil {
					t.Fatal(err)
				}
				up := multipart.Upload{Bucket: "bucket", Key: "key", ID: r.UploadID}
				if how == "gone" {
					k.Mem.Abort(t.Context(), up)
					if _, err := k.run(t, object); err != nil {
						t.Fatal(err)
					}
				} else if err := k.uploader(t, k.Mem, k.Mem).Abort(t.Context(), up); err != nil {
					t.Fatal(err)
				}
				if k.Uploads() != 0 && len(k.journals(t)) == 0 {
					t.Errorf("%d uploads are left, and the journal that named them is gone", k.Uploads())
				}
			})
		})
	}
}

// The error names no journal that cannot resume.
func TestJournalThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		dir := filepath.Join(t.TempDir(), "journals")
		k.options.Journal = journal.Open(dir)
		c := &after{Mem: k.Mem, created: func() {
			os.RemoveAll(dir)
			os.WriteFile(dir, nil, 0o600)
		}}
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 12, Delay: time.Second, Status: 403, Code: "AccessDenied"})
		_, err := k.uploader(t, c, k.Mem).UploadFile(t.Context(), object, k.path)
		e, _ := errors.AsType[*multipart.Error](err)
		if e == nil {
			t.Fatal(err)
		}
		if _, no := os.Stat(e.Journal); e.Journal != "" && no != nil {
			t.Errorf("the error promises %s: %v; uploads left: %d", e.Journal, no, k.Uploads())
		}
	})
}

type after struct {
	*storetest.Mem
	created func()
}

func (a *after) Create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	u, err := a.Mem.Create(ctx, i)
	a.created()
	return u, err
}

// A stream that may only create does not take what somebody made meanwhile, with the
// same idempotency key and other bytes, for its own.
func TestStreamAdoptsOtherBytes(t *testing.T) {
	o := object
	o.CreateOnly, o.IdempotencyKey = true, "k"
	for _, size := range []int{100, 3 * 64 * kib} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(size)
				l.options.Threshold = 64 * kib
				first, err := l.uploader(t, l.Mem, l.Mem).Upload(t.Context(), multipart.Object{Bucket: "bucket", Key: "other", IdempotencyKey: "k"}, chunker.NewReaderAt(bytes.NewReader(body), 1))
				if err != nil {
					t.Fatal(err)
				}
				theirs := []byte("other bytes")
				digest, _ := chunker.Sum(bytes.NewReader(theirs), chunker.CRC64NVME)
				appears := &before{Mem: l.Mem, then: func() {
					l.Replace("key", storetest.Object{Body: theirs, ETag: `"theirs"`, Digest: digest,
						Header: http.Header{"X-Amz-Meta-Chunkup-Token": {first.Token}}})
				}}
				r, err := l.uploader(t, appears, l.Mem).UploadStream(t.Context(), o, bytes.NewReader(body), 0)
				if err == nil {
					t.Errorf("success for %d bytes, and the store has %q (Size %d)", size, theirs, r.Size)
				}
			})
		})
	}
}

// An upload is not resumed at another store.
func TestResumeElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		r := k.journals(t)[0].Record
		other := newLab(t, nil)
		tr := other.Traits()
		tr.Endpoint = "http://other"
		other.SetTraits(tr)
		other.options.Journal = k.dir
		if _, err := other.uploader(t, other.Mem, other.Mem).Resume(t.Context(), r); err == nil {
			_, there := other.Object("key")
			t.Errorf("resumed an upload to %s at %s: %v", r.Endpoint, tr.Endpoint, there)
		}
	})
}

// What is left of an earlier upload has none of the parts of the one that was made.
func TestLeftoverHasNoParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 3, Status: 400, Code: "InvalidArgument"},
			storetest.Fault{Op: wire.Abort, Times: -1, Status: 403, Code: "AccessDenied"})
		if _, err := k.run(t, object); statusIn(err) != 400 {
			t.Fatal(err)
		}
		left := k.journals(t)[0].Record.UploadID
		if _, err := k.run(t, object); err != nil {
			t.Fatal(err)
		}
		if r := k.journals(t)[0].Record; r.UploadID != left || r.State != journal.Aborting || len(r.Parts) != 0 {
			t.Errorf("the journal has %d parts of %s, %s", len(r.Parts), r.UploadID, r.State)
		}
	})
}

// A run that goes on with parts of another size than it would choose itself writes down
// that they have this size.
func TestResumedPlanIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		k.options.PartSize = 0
		k.interrupt(t)
		if got := k.journals(t)[0].Record.Plan.PartSize; got != partBytes {
			t.Errorf("the journal says parts of %d bytes", got)
		}
		if warned := k.kinds(multipart.Warned); len(warned) != 0 {
			t.Error(warned[0].Err)
		}
		r, err := k.run(t, object)
		k.finished(t, err)
		if r.Resumed != 11 {
			t.Errorf("%d parts resumed, want 11", r.Resumed)
		}
	})
}
