package multipart_test

import (
	"context"
	"errors"
	"os"
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
			e, _ := errors.AsType[*multipart.Error](err)
			if !errors.Is(err, multipart.ErrUnknownOutcome) || e.Journal == "" || k.journals(t)[0].Record.State != journal.Completing {
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
