package integration

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// The upload that is resumed: so many of its parts are at the store.
const (
	pagedParts = 60
	pagedKept  = 40
	pageParts  = 7
)

// partListed is a part as the store lists it.
type partListed struct {
	PartNumber int
	ETag       string
	Size       int64
}

// listPage is a page of such a list.
type listPage struct {
	XMLName              xml.Name `xml:"ListPartsResult"`
	IsTruncated          bool
	NextPartNumberMarker int `xml:",omitempty"`
	Part                 []partListed
}

// lister answers with a page of the parts after the marker.
type lister func(all []partListed, after int) listPage

// pages is how S3 lists.
func pages(all []partListed, after int) listPage {
	var p listPage
	for _, part := range all {
		switch {
		case part.PartNumber <= after:
		case len(p.Part) < pageParts:
			p.Part = append(p.Part, part)
			p.NextPartNumberMarker = part.PartNumber
		default:
			p.IsTruncated = true
		}
	}
	return p
}

// https://github.com/s3tools/s3cmd/issues/346: an upload of more parts than the store
// lists at once was resumed with the first page of them, and the rest was sent again.
func TestR31ResumeFromPages(t *testing.T) {
	check.Leaks(t)
	const rest = pagedParts - pagedKept
	t.Run("a: pages of 7", func(t *testing.T) {
		l := newPagedLab(t, pages)
		l.resume(t, rest)
		if n := l.lists.Load(); n != 6 {
			t.Errorf("%d pages were asked for, want 6", n)
		}
	})
	t.Run("a: each begins with the last part of the one before", func(t *testing.T) {
		l := newPagedLab(t, func(all []partListed, after int) listPage { return pages(all, max(after-1, 0)) })
		l.resume(t, rest)
	})
	t.Run("b: always the first page", func(t *testing.T) {
		l := newPagedLab(t, func(all []partListed, _ int) listPage { return pages(all, 0) })
		l.resume(t, pagedParts-pageParts)
		if n := l.lists.Load(); n != 2 {
			t.Errorf("%d pages were asked for, want 2", n)
		}
	})
	t.Run("c: always everything", func(t *testing.T) {
		l := newPagedLab(t, func(all []partListed, _ int) listPage { return listPage{Part: all} })
		l.resume(t, rest)
	})
	t.Run("d: a part of another size", func(t *testing.T) {
		l := newPagedLab(t, func(all []partListed, after int) listPage {
			all[24].Size--
			return pages(all, after)
		})
		l.resume(t, rest+1)
		if n := len(l.store.Of(rawstore.PutPart, 25)); n != 2 {
			t.Errorf("part 25 was sent %d times", n)
		}
	})
	t.Run("e: may not list", func(t *testing.T) {
		l := newPagedLab(t, nil)
		l.resume(t, rest)
		l.warned(t, "does not let us list the parts")
	})
}

// pagedLab is a lab in which an upload was interrupted.
type pagedLab struct {
	*finishLab
	src   check.Source
	path  string
	sent  int // requests for parts until then
	lists atomic.Int64
}

// newPagedLab uploads so many parts of a file, and stops. The store, which nil lets
// refuse it, then lists its parts as l says.
func newPagedLab(t *testing.T, how lister) *pagedLab {
	t.Helper()
	l := &pagedLab{finishLab: newFinishLab(t), src: check.Random(t, pagedParts*smallPart)}
	l.path = check.TempFile(t, l.src)
	l.options.Journal = journal.Open(t.TempDir())
	l.between(t, func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		if r.Method == http.MethodGet && r.URL.Query().Has("uploadId") {
			l.list(t, how, w, r, store)
			return
		}
		store.ServeHTTP(w, r)
	})
	sign, end := l.provider, make(chan struct{})
	l.provider = presignUntil{sign, end}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := 0
	l.options.OnEvent = func(e multipart.Event) {
		if e.Kind == multipart.Attempted && e.Op == wire.PutPart && e.Class == wire.Done {
			if done++; done == pagedKept {
				cancel()
			}
		}
	}
	_, err := l.uploader(t).UploadFile(ctx, object, l.path)
	close(end)
	l.sent = l.count(rawstore.PutPart)
	if err == nil || done != pagedKept || l.sent != pagedKept {
		t.Fatalf("%d parts were done, %d sent, %v", done, l.sent, err)
	}
	l.options.OnEvent, l.provider = nil, sign
	return l
}

// presignUntil signs no more parts than are to be at the store.
type presignUntil struct {
	presign.Provider
	end chan struct{}
}

func (p presignUntil) Presign(ctx context.Context, part presign.Part) (presign.Request, error) {
	if part.Number > pagedKept {
		<-p.end
	}
	return p.Provider.Presign(ctx, part)
}

// list answers with a page of what the store has.
func (l *pagedLab) list(t *testing.T, how lister, w http.ResponseWriter, r *http.Request, store http.Handler) {
	w.Header().Set("Content-Type", "application/xml")
	if l.lists.Add(1) > 2*pagedParts || how == nil { // or the list does not end
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
		return
	}
	var whole listPage
	if err := xml.Unmarshal(newHeldAnswer(store, r).body.Bytes(), &whole); err != nil {
		t.Error(err)
	}
	after, _ := strconv.Atoi(r.URL.Query().Get("part-number-marker"))
	body, err := xml.Marshal(how(whole.Part, after))
	if err != nil {
		t.Error(err)
	}
	_, _ = w.Write(body) // an error means that nobody listens any more
}

// resume fails the test unless the same call goes on, sends so many parts, and
// leaves nothing behind. It goes on with the same parts although it would choose
// others now.
func (l *pagedLab) resume(t *testing.T, parts int) {
	t.Helper()
	l.options.PartSize = 0
	res, err := l.uploader(t).UploadFile(t.Context(), object, l.path)
	logTrouble(t, l.events)
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, l.src)
	sent := l.count(rawstore.PutPart) - l.sent
	if sent != parts || res.Resumed != pagedParts-parts || res.Parts != pagedParts || l.count(rawstore.Create) != 1 {
		t.Errorf("%d parts were sent and %d resumed, want %d and %d: %+v", sent, res.Resumed, parts, pagedParts-parts, res)
	}
	if left, err := os.ReadDir(l.options.Journal.Path()); err != nil || len(left) != 0 {
		t.Errorf("in the folder of journals are %v, %v", fmt.Sprint(left), err)
	}
}

// R02 b, of an upload that is resumed: an earlier run made the object, of other bytes
// than the file has now, and the next one loses the answer to its Complete. The store
// names nothing but a token and a size.
func TestR02ResumedUploadDoesNotAdoptTheEarlierObject(t *testing.T) {
	check.Leaks(t)
	never := rawstore.Rule{Op: rawstore.Complete, Do: then(applied, rawstore.Freeze())}
	unheard := rawstore.Rule{Op: rawstore.Complete, From: 2, Do: then(ignored, rawstore.Reset())}
	l := newFinishLab(t, never, unheard, rawstore.Rule{Op: rawstore.Head, Do: []rawstore.Step{rawstore.Freeze()}})
	l.profile.Traits.OpaqueETag = true
	l.options.Journal = journal.Open(t.TempDir())
	path := check.TempFile(t, check.Random(t, scenarioParts*smallPart))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u := l.uploader(t)
	ended := make(chan error)
	go func() {
		_, err := u.UploadFile(ctx, object, path)
		ended <- err
	}()
	waitUntil(t, "Complete is sent", func() bool { return l.count(rawstore.Complete) == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, multipart.ErrUnknownOutcome) {
		t.Fatalf("err = %v", err)
	}
	src := check.Random(t, scenarioParts*smallPart)
	rewriteFile(t, path, src)
	_, err := l.uploader(t).UploadFile(t.Context(), object, path)
	logTrouble(t, l.events)
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, src)
}

// rewriteFile puts other bytes into a file.
func rewriteFile(t *testing.T, path string, src check.Source) {
	t.Helper()
	b := make([]byte, src.Size())
	_, err := src.ReadAt(b, 0)
	if err = errors.Join(err, os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
}
