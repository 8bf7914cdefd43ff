package multipart_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Two uploads to one destination do not share a journal.
func TestResumeIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		claim, err := k.dir.Claim("http://mem", "bucket", "key")
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.run(t, object)
		if _, locked := errors.AsType[*journal.LockedError](err); !locked || len(k.Requests()) != 0 {
			t.Errorf("err = %v after %d requests", err, len(k.Requests()))
		}
		if err := claim.Remove(); err != nil {
			t.Fatal(err)
		}
		_, err = k.run(t, object)
		k.finished(t, err)
	})
}

// Nothing is sent if nothing can be written down; what cannot be written later is
// told, and the upload goes on.
func TestJournalCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		file := filepath.Join(t.TempDir(), "file")
		os.WriteFile(file, nil, 0o600)
		k.options.Journal = journal.Open(file)
		_, err := k.run(t, object)
		if err == nil || len(k.Requests()) != 0 {
			t.Errorf("err = %v after %d requests", err, len(k.Requests()))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		dir := filepath.Join(t.TempDir(), "journals")
		k.options.Journal = journal.Open(dir)
		once := true
		k.options.OnEvent = func(e multipart.Event) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.events = append(k.events, e)
			if e.Kind == multipart.Created && once {
				once = false
				os.RemoveAll(dir)
				os.WriteFile(dir, nil, 0o600)
			}
		}
		k.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: 2 * time.Second})
		_, err := k.uploader(t, k.Mem, k.Mem).UploadFile(t.Context(), object, k.path)
		if err != nil {
			t.Fatal(err)
		}
		k.stored(t, k.body)
		k.warned(t, "cannot be resumed")
	})
}

// An upload that vanishes under way is begun again, once.
func TestVanishedUploadIsBegunAgain(t *testing.T) {
	for _, again := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			k := newKept(t)
			k.Script(storetest.Fault{Op: wire.PutPart, Part: 7, Times: again, Status: 404, Code: "NoSuchUpload"})
			_, err := k.run(t, object)
			if again == 1 {
				k.finished(t, err)
				k.warned(t, "a new one is begun")
			} else if statusIn(err) != 404 {
				t.Errorf("err = %v", err)
			}
			k.wantRequests(t, wire.Create, 2)
		})
	}
}

// A cancel keeps the journal and returns at once, without a request more.
func TestCancelKeepsTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.endpointLanes(t, 2)
		k.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3500*time.Millisecond, cancel)
		start := time.Now()
		_, err := k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
		e, _ := errors.AsType[*multipart.Error](err)
		if !errors.Is(err, context.Canceled) || e == nil || e.Journal == "" || time.Since(start) > 3600*time.Millisecond {
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
		k.wantRequests(t, wire.Abort, 0)
		r, err := k.run(t, object)
		k.finished(t, err)
		if r.Resumed != 6 {
			t.Errorf("%d parts resumed, want 6", r.Resumed)
		}
	})
}

// What another run cannot mend is not kept.
func TestHopelessIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 3, Status: 400, Code: "InvalidArgument"})
		_, err := k.run(t, object)
		e, _ := errors.AsType[*multipart.Error](err)
		if e == nil || e.Journal != "" || len(k.journals(t)) != 0 {
			t.Errorf("err = %v, journals %+v", err, k.journals(t))
		}
		k.nothing(t)
	})
}

// An abort that does not work is written down, and made up for by the next run.
func TestFailedAbortIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 3, Delay: time.Second, Status: 400, Code: "InvalidArgument"},
			storetest.Fault{Op: wire.Abort, Times: 1, Status: 403, Code: "AccessDenied"})
		_, err := k.run(t, object)
		e, _ := errors.AsType[*multipart.Error](err)
		if e == nil || e.Abort == nil || k.journals(t)[0].Record.State != journal.Aborting || k.Uploads() != 1 {
			t.Fatalf("err = %v, journals %+v", err, k.journals(t))
		}
		r := k.journals(t)[0].Record
		left, err := k.List(t.Context(), multipart.Upload{Bucket: r.Bucket, Key: r.Key, ID: r.UploadID})
		if err != nil || len(r.Parts) != len(left) || len(left) == 0 {
			t.Errorf("%d parts are left at the store, %v, and %d in the journal", len(left), err, len(r.Parts))
		}
		_, err = k.run(t, object)
		k.finished(t, err)
	})
}

// Abort drops the upload and its journal.
func TestAbortUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		r := k.journals(t)[0].Record
		up := multipart.Upload{Bucket: r.Bucket, Key: r.Key, ID: r.UploadID}
		for range 2 { // one that is gone is a success
			if err := k.uploader(t, k.Mem, k.Mem).Abort(t.Context(), up); err != nil {
				t.Error(err)
			}
		}
		k.nothing(t)
		if len(k.journals(t)) != 0 {
			t.Errorf("journals %+v", k.journals(t))
		}
	})
}

// An earlier run's work is not given up because the store does not answer now.
func TestResumeKeepsTheJournalInAnOutage(t *testing.T) {
	down := func(op wire.Operation) storetest.Fault {
		return storetest.Fault{Op: op, Times: 5, Status: 500, Code: "InternalError"}
	}
	cases := map[string]struct {
		object func(*multipart.Object)
		fault  storetest.Fault
	}{
		"list":            {nil, down(wire.List)},
		"head, exclusive": {func(o *multipart.Object) { o.CreateOnly = true }, down(wire.Head)},
		"head, by key":    {func(o *multipart.Object) { o.IdempotencyKey = "k" }, down(wire.Head)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, o := newKept(t), object
				if tc.object != nil {
					tc.object(&o)
				}
				k.Script(storetest.Fault{Op: wire.PutPart, Part: 12, Delay: time.Second, Status: 403})
				if _, err := k.run(t, o); statusIn(err) != 403 {
					t.Fatal(err)
				}
				k.Script(tc.fault)
				_, err := k.run(t, o)
				e, _ := errors.AsType[*multipart.Error](err)
				if e == nil || e.Journal == "" || len(k.journals(t)) != 1 || k.Uploads() != 1 {
					t.Fatalf("err = %v, journals %+v", err, k.journals(t))
				}
				r, err := k.run(t, o)
				k.finished(t, err)
				if r.Resumed != 11 {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// Nor is what it left, of an upload that does not go on, forgotten before it is dropped.
func TestOutageKeepsWhatIsToBeDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, o := newKept(t), object
		k.interrupt(t)
		k.options.PartSize *= 2 // stale
		o.CreateOnly = true
		k.Script(storetest.Fault{Op: wire.Head, Times: 5, Status: 500, Code: "InternalError"})
		_, err := k.run(t, o)
		if statusIn(err) != 500 || len(k.journals(t)) != 1 || k.Uploads() != 1 {
			t.Fatalf("err = %v, journals %+v", err, k.journals(t))
		}
		_, err = k.run(t, o)
		k.finished(t, err)
	})
}

// An upload that was begun under another idempotency key is not this one.
func TestResumeUnderAnotherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, o := newKept(t), object
		k.interrupt(t)
		o.IdempotencyKey = "k"
		r, err := k.run(t, o)
		k.finished(t, err)
		k.warned(t, "another idempotency key")
		if r.Resumed != 0 || r.Existing {
			t.Errorf("%+v", r)
		}
	})
}

// A part that was cut off may arrive after the abort, and make the upload anew at one
// store: the abort is done again a little later.
func TestLatePartIsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.options.Journal = nil
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 7, Times: -1, Delay: 400 * time.Millisecond, Reset: true, After: 1000},
			storetest.Fault{Op: wire.PutPart, Part: 3, Delay: time.Second, Status: 400, Code: "InvalidArgument"})
		if _, err := k.run(t, object); statusIn(err) != 400 {
			t.Errorf("err = %v", err)
		}
		k.wantRequests(t, wire.Abort, 2)
		k.nothing(t)
	})
}

// Which upload may be the nameless one is told by one clock: the store's, as far as it
// says what that is.
func TestIsNameless(t *testing.T) {
	began := time.Now()
	r := journal.Record{State: journal.Creating, Bucket: "bucket", Key: "key", Started: began}
	upload := multipart.Upload{Bucket: "bucket", Key: "key", ID: "id"}
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		for after, want := range map[time.Duration]bool{-10 * time.Second: false, -time.Second: true, 0: true, 4 * time.Minute: true, 6 * time.Minute: false} {
			u := multipart.Unfinished{Upload: upload, Initiated: began.Add(ahead + after), Listed: time.Now().Add(ahead)}
			if got := multipart.IsNameless(u, r); got != want {
				t.Errorf("begun %v after, the store's clock %v ahead: %v", after, ahead, got)
			}
		}
	}
	u := multipart.Unfinished{Upload: upload, Initiated: began}
	for name, change := range map[string]func(*multipart.Unfinished, *journal.Record){
		"another key":    func(u *multipart.Unfinished, _ *journal.Record) { u.Key = "key2" },
		"another bucket": func(u *multipart.Unfinished, _ *journal.Record) { u.Bucket = "b" },
		"an id is known": func(_ *multipart.Unfinished, r *journal.Record) { r.State, r.UploadID = journal.Uploading, "x" },
	} {
		u, r := u, r
		change(&u, &r)
		if multipart.IsNameless(u, r) {
			t.Error(name)
		}
	}
}

// A live journal protects its own upload, and no other of the same key.
func TestAbortBesidesALiveUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		r := k.journals(t)[0].Record
		old, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		claim, err := k.dir.Claim("http://mem", "bucket", "key")
		if err != nil {
			t.Fatal(err)
		}
		u := k.uploader(t, k.Mem, k.Mem)
		err = u.Abort(t.Context(), multipart.Upload{Bucket: "bucket", Key: "key", ID: r.UploadID})
		if _, locked := errors.AsType[*journal.LockedError](err); !locked {
			t.Errorf("the live one: %v", err)
		}
		if err := u.Abort(t.Context(), old); err != nil || k.Uploads() != 1 {
			t.Errorf("the old one: %v, %d are left", err, k.Uploads())
		}
		if err := claim.Release(); err != nil {
			t.Error(err)
		}
	})
}
