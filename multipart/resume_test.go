package multipart_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// kept is a lab with a journal and a file of 12 parts.
type kept struct {
	*lab
	dir  *journal.Dir
	path string
	body []byte
	had  int // parts at the store after an interrupt
}

const partBytes = 64 * kib

func newKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{lab: newLab(t, nil), dir: journal.Open(t.TempDir()), body: randomBytes(12 * partBytes)}
	k.options.Journal = k.dir
	k.path = filepath.Join(t.TempDir(), "file")
	k.write(t)
	return k
}

func (k *kept) write(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(k.path, k.body, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (k *kept) run(t *testing.T, o multipart.Object) (multipart.Result, error) {
	t.Helper()
	k.mu.Lock()
	k.events = nil
	k.mu.Unlock()
	return k.uploader(t, k.Mem, k.Mem).UploadFile(t.Context(), o, k.path)
}

// interrupt lets an upload fail at its last part, with what may be mended.
func (k *kept) interrupt(t *testing.T) {
	t.Helper()
	k.Script(storetest.Fault{Op: wire.PutPart, Part: 12, Delay: time.Second, Status: 403, Code: "AccessDenied"})
	_, err := k.run(t, object)
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok || e.Journal == "" || statusIn(err) != 403 {
		t.Fatalf("err = %v", err)
	}
	if entries := k.journals(t); len(entries) != 1 || entries[0].Path != e.Journal || entries[0].Live || len(entries[0].Record.Parts) == 0 {
		t.Fatalf("journals %+v, the error says %q", entries, e.Journal)
	}
	r := k.journals(t)[0].Record
	parts, err := k.List(t.Context(), multipart.Upload{Bucket: r.Bucket, Key: r.Key, ID: r.UploadID})
	if k.had = len(parts); err != nil || k.had != 11 || len(r.Parts) != 11 {
		t.Fatalf("%d parts at the store, %d in the journal, %v", k.had, len(r.Parts), err)
	}
}

// endpointLanes gives the uploads an endpoint with so many lanes.
func (k *kept) endpointLanes(_ *testing.T, n int) {
	k.options.Endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: k.Client(), Lanes: n})
}

func (k *kept) journals(t *testing.T) []journal.Entry {
	t.Helper()
	entries, err := k.dir.List()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// finished fails unless the object is the file, and nothing is left anywhere.
func (k *kept) finished(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	k.stored(t, k.body)
	files, _ := filepath.Glob(filepath.Join(k.dir.Path(), "*"))
	if len(files) != 0 {
		t.Errorf("the folder of journals still has %q", files)
	}
}

func (k *kept) warned(t *testing.T, text string) {
	t.Helper()
	for _, e := range k.kinds(multipart.Warned) {
		if strings.Contains(e.Err.Error(), text) {
			return
		}
	}
	t.Errorf("no warning says %q: %v", text, k.kinds(multipart.Warned))
}

func statusIn(err error) int {
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		return e.Status
	}
	return 0
}

// The same call goes on where the last one ended.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		sent := k.Count(wire.PutPart)
		r, err := k.run(t, object)
		k.finished(t, err)
		if r.Resumed != k.had || k.Count(wire.PutPart)-sent != 12-k.had || r.Parts != 12 || r.Attempts != 12-k.had {
			t.Errorf("%d parts resumed, %d sent again: %+v", r.Resumed, k.Count(wire.PutPart)-sent, r)
		}
		if e := k.kinds(multipart.Resumed); len(e) != 1 || e[0].Parts != k.had || e[0].Done != int64(k.had)*partBytes || e[0].UploadID == "" {
			t.Errorf("events %+v", e)
		}
		k.wantRequests(t, wire.Create, 1)
		k.wantRequests(t, wire.Abort, 0)
	})
}

// Resume needs nothing but the record.
func TestResumeFromRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		r, err := k.uploader(t, k.Mem, k.Mem).Resume(t.Context(), k.journals(t)[0].Record)
		k.finished(t, err)
		if r.Resumed != k.had {
			t.Errorf("%+v", r)
		}
	})
}

// What is not the same any more is not mixed with what is: the object is always
// the file as it is now, and what is of no use is dropped.
func TestResumeAfterAChange(t *testing.T) {
	cases := map[string]struct {
		change  func(*testing.T, *kept)
		object  func(*multipart.Object)
		lost    int // parts that were there; -1: all
		warns   string
		creates int
	}{
		"one part was rewritten": {change: func(t *testing.T, k *kept) { k.body[2*partBytes] ^= 1; k.write(t) }, lost: 1, warns: "1 parts at the store", creates: 1},
		"all was rewritten": {change: func(t *testing.T, k *kept) { k.body = randomBytes(len(k.body)); flip(k.body); k.write(t) },
			lost: -1, warns: "parts at the store are not", creates: 1},
		"it was only touched": {change: func(t *testing.T, k *kept) { os.Chtimes(k.path, time.Now(), time.Now()) }, creates: 1},
		"it grew":             {change: func(t *testing.T, k *kept) { k.body = append(k.body, 1); k.write(t) }, lost: -1, warns: "the source has 786433 bytes and had 786432", creates: 2},
		"another file": {change: func(t *testing.T, k *kept) {
			os.Remove(k.path)
			k.path += "2"
			k.write(t)
		}, lost: -1, warns: "it was of another source", creates: 2},
		"another part size":   {change: func(t *testing.T, k *kept) { k.options.PartSize *= 2 }, lost: -1, warns: "its parts have 65536 bytes", creates: 2},
		"another type":        {object: func(o *multipart.Object) { o.Header = map[string][]string{"Content-Type": {"text/plain"}} }, lost: -1, warns: "other properties", creates: 2},
		"other metadata":      {object: func(o *multipart.Object) { o.Metadata = map[string]string{"a": "b"} }, lost: -1, warns: "other properties", creates: 2},
		"other checksums":     {change: func(t *testing.T, k *kept) { tr := k.Traits(); tr.Algorithm = chunker.CRC32C; k.SetTraits(tr) }, lost: -1, warns: "other checksums", creates: 2},
		"the upload is gone":  {change: func(t *testing.T, k *kept) { k.Forget() }, lost: -1, warns: "is gone at the store", creates: 2},
		"part of the journal": {change: func(t *testing.T, k *kept) { os.Truncate(k.journals(t)[0].Path, 100) }, lost: -1, warns: "journal", creates: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, o := newKept(t), object
				k.interrupt(t)
				if tc.change != nil {
					tc.change(t, k)
				}
				if tc.object != nil {
					tc.object(&o)
				}
				r, err := k.run(t, o)
				want := k.had - tc.lost
				if tc.lost < 0 {
					want = 0
				}
				if err != nil || r.Resumed != want {
					t.Errorf("%d parts resumed, want %d; %v", r.Resumed, want, err)
				}
				if tc.warns != "" {
					k.warned(t, tc.warns)
				}
				k.wantRequests(t, wire.Create, tc.creates)
				if name == "part of the journal" { // its upload id is lost: cleanup finds it
					return
				}
				k.finished(t, err)
			})
		})
	}
}

func flip(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
}

// A store that does not let us list leaves what the journal has.
func TestResumeWithoutList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		k.Script(storetest.Fault{Op: wire.List, Times: -1, Status: 403, Code: "AccessDenied"})
		r, err := k.run(t, object)
		k.finished(t, err)
		k.warned(t, "the journal has to do")
		if r.Resumed == 0 {
			t.Errorf("nothing was resumed: %+v", r)
		}
	})
}

// An upload whose Complete was applied when the process died is found again, and
// nothing is sent; if the file has changed since, it is uploaded again.
func TestResumeFindsTheObject(t *testing.T) {
	for _, changed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newKept(t)
			ctx, die := context.WithCancel(t.Context())
			k.Script(storetest.Fault{Op: wire.Complete, Apply: true, Stall: true}, storetest.Fault{Op: wire.Head, Times: 1, Stall: true})
			time.AfterFunc(time.Minute, die)
			_, err := k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
			if !errors.Is(err, multipart.ErrUnknownOutcome) || k.journals(t)[0].Record.State != journal.Completing {
				t.Fatalf("err = %v, journals %+v", err, k.journals(t))
			}
			sent := k.Count(wire.PutPart)
			if changed {
				k.body[0] ^= 1
				k.write(t)
			}
			r, err := k.run(t, object)
			k.finished(t, err)
			if changed != (k.Count(wire.PutPart) > sent) || r.Existing == changed {
				t.Errorf("changed %v: %d parts sent again, %+v", changed, k.Count(wire.PutPart)-sent, r)
			}
		})
	}
}

// A run that died before it learned the id of its upload has left one without parts,
// which the next run drops; one that has parts, or was begun at another time, is
// somebody else's.
func TestResumeDropsTheNameless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		old, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		time.Sleep(time.Hour)
		busy, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		claim, err := k.dir.Claim("http://mem", "bucket", "key")
		if err != nil {
			t.Fatal(err)
		}
		err = claim.Save(journal.Record{State: journal.Creating, Endpoint: "http://mem", Bucket: "bucket", Key: "key", Token: "t",
			Plan: chunker.Plan{Size: 12 * partBytes, PartSize: partBytes}, Started: time.Now(),
			Source: journal.Source{}})
		if err := errors.Join(err, claim.Release()); err != nil {
			t.Fatal(err)
		}
		nameless, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		k.putPart(t, busy)
		if _, err := k.run(t, object); err != nil {
			t.Fatal(err)
		}
		left, _ := k.ListUploads(t.Context(), "bucket", "key")
		if len(left) != 2 || left[0].ID != old.ID || left[1].ID != busy.ID {
			t.Errorf("left %+v, want %v and %v, not %v", left, old.ID, busy.ID, nameless.ID)
		}
	})
}

// putPart sends a part past the uploader.
func (k *kept) putPart(t *testing.T, u multipart.Upload) {
	t.Helper()
	p := presignPart(u)
	request, err := k.Presign(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Client().Do(t.Context(), wire.Request{Method: request.Method, URL: request.URL, Header: request.Header,
		Body: strings.NewReader("x"), Size: 1})
	if err != nil {
		t.Fatal(err)
	}
}

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
		k.Script(storetest.Fault{Op: wire.PutPart, Part: 3, Status: 400, Code: "InvalidArgument"},
			storetest.Fault{Op: wire.Abort, Times: 1, Status: 403, Code: "AccessDenied"})
		_, err := k.run(t, object)
		e, _ := errors.AsType[*multipart.Error](err)
		if e == nil || e.Abort == nil || k.journals(t)[0].Record.State != journal.Aborting || k.Uploads() != 1 {
			t.Fatalf("err = %v, journals %+v", err, k.journals(t))
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
