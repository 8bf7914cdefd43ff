package integration

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// stopLab is an upload of 12 parts, four at a time, that its caller ends at 40 %.
type stopLab struct {
	*finishLab
	src  check.Source
	dir  *journal.Dir // nil: nothing is kept
	stop atomic.Pointer[func()]

	ended time.Time // when the caller ended it
}

// slow makes a part take a while, so that some are under way whenever the upload ends.
var slow = rawstore.Rule{Op: rawstore.PutPart, Count: -1, Do: []rawstore.Step{
	rawstore.Welcome(), rawstore.Read(4 * mib), rawstore.Wait(200 * time.Millisecond), rawstore.ReadAll(), rawstore.Reply()}}

// expiring is a context whose deadline is when the channel is closed.
type expiring struct {
	context.Context
	over chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.over }

func (e expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// newStopLab puts one up. A stream with a journal is aborted when it ends, for
// nobody can read it again, and what does not work is kept; a file without one is
// aborted, too.
func newStopLab(t *testing.T, keep bool, rules ...rawstore.Rule) *stopLab {
	t.Helper()
	l := &stopLab{finishLab: newFinishLab(t, append(rules, slow)...), src: check.Pattern(96 * mib)}
	l.options.PartSize = 8 * mib
	if keep {
		l.dir = journal.Open(t.TempDir())
		l.options.Journal = l.dir
	}
	done := 0
	l.options.OnEvent = func(e multipart.Event) {
		if e.Kind == multipart.Attempted && e.Op == wire.PutPart && e.Err == nil {
			if done++; done == 5 { // of 12
				if f := l.stop.Load(); f != nil {
					l.ended = time.Now()
					(*f)()
				}
			}
		}
	}
	return l
}

// send uploads under a context.
func (l *stopLab) send(ctx context.Context, t *testing.T) (multipart.Result, error) {
	t.Helper()
	u := l.uploader(t)
	logTrouble(t, l.events)
	if l.dir != nil {
		return u.UploadStream(ctx, object, io.NewSectionReader(l.src, 0, l.src.Size()), l.src.Size())
	}
	return u.Upload(ctx, object, source{l.src})
}

// cancelled uploads until the caller cancels, or its deadline is there, and returns the
// error.
func (l *stopLab) cancelled(t *testing.T, deadline bool) *multipart.Error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cause, f := context.Canceled, func() { cancel() }
	if deadline {
		late := expiring{t.Context(), make(chan struct{})}
		ctx, cause, f = late, context.DeadlineExceeded, func() { close(late.over) }
	}
	l.stop.Store(&f)
	_, err := l.send(ctx, t)
	l.stop.Store(nil)
	return l.failed(t, err, cause)
}

// failed fails the test unless the upload ended by the caller's wish, says so first,
// and leaves nothing under way.
func (l *stopLab) failed(t *testing.T, err, cause error) *multipart.Error {
	t.Helper()
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok || !errors.Is(err, cause) {
		t.Fatalf("err = %v, want %v", err, cause)
	}
	sent := len(l.store.Requests())
	check.Absent(t, l.store.Client(), "bucket", "key")
	if now := len(l.store.Requests()); now != sent+1 {
		t.Errorf("%d requests after the upload had returned", now-sent-1)
	}
	return e
}

// gone fails the test unless nothing is left, at the store or in the journal.
func (l *stopLab) gone(t *testing.T, e *multipart.Error) {
	t.Helper()
	check.NoUploads(t, l.store.Client(), "bucket", "key")
	if e.Abort != nil {
		t.Errorf("the abort failed: %v", e.Abort)
	}
	l.keeps(t, "")
}

// keeps fails the test unless the journal has that upload to be aborted, and none if
// the id is empty.
func (l *stopLab) keeps(t *testing.T, id string) {
	t.Helper()
	if l.dir == nil {
		return
	}
	list, err := l.dir.List()
	switch {
	case err != nil, id == "" && len(list) != 0, id != "" && len(list) != 1:
		t.Fatalf("journals %+v, %v", list, err)
	case id != "" && (list[0].Live || list[0].Record.State != journal.Aborting || list[0].Record.UploadID != id):
		t.Errorf("journal %+v, want upload %s to be aborted", list[0], id)
	}
}

// madeUpFor fails the test unless the next run drops what the failed one has left.
func (l *stopLab) madeUpFor(t *testing.T) {
	t.Helper()
	if l.dir == nil {
		return
	}
	if _, err := l.send(t.Context(), t); err != nil {
		t.Fatal(err)
	}
	l.holds(t, l.src)
	l.keeps(t, "")
}

// refusesAbort is what an upload without the permission meets, while it holds.
func refusesAbort(holds *atomic.Bool) rawstore.Rule {
	return rawstore.Rule{Op: rawstore.Abort, Count: -1, Match: func(*http.Request) bool { return holds.Load() },
		Do: []rawstore.Step{rawstore.Refuse(403, "AccessDenied", "you may not abort")}}
}

// After a cancel the parts stayed in the bucket and cost money, because the abort was
// sent on the context that was over (R25,
// https://github.com/aws/aws-sdk-go-v2/issues/3341). It has one of its own, is tried
// again, and again until no part is left; what does not work is said, and kept where
// there is a journal.
func TestR25CancelAborts(t *testing.T) {
	check.Leaks(t)
	late := rawstore.Rule{Op: rawstore.Abort, Do: []rawstore.Step{rawstore.Wait(500 * time.Millisecond), rawstore.Reply()}}
	cases := []struct {
		name     string
		rules    []rawstore.Rule
		aborts   int // at least
		deadline bool
	}{
		{name: "a: the abort takes half a second", rules: []rawstore.Rule{late}, aborts: 1},
		{name: "b: a deadline", rules: []rawstore.Rule{late}, aborts: 1, deadline: true},
		{name: "c: it works at the third try", rules: []rawstore.Rule{
			{Op: rawstore.Abort, Do: []rawstore.Step{rawstore.Refuse(503, "SlowDown", "reduce your rate")}},
			{Op: rawstore.Abort, From: 2, Do: []rawstore.Step{rawstore.Reset()}}}, aborts: 3},
		// The store says that all is gone, and still lists what arrived meanwhile.
		{name: "d: parts land after the abort", rules: []rawstore.Rule{
			{Op: rawstore.Abort, Count: 2, Do: []rawstore.Step{rawstore.Answer(204, nil, "")}}}, aborts: 3},
	}
	for _, tc := range cases {
		for _, keep := range []bool{false, true} {
			t.Run(tc.name+map[bool]string{true: ", a stream with a journal", false: ""}[keep], func(t *testing.T) {
				t.Parallel()
				l := newStopLab(t, keep, tc.rules...)
				e := l.cancelled(t, tc.deadline)
				if e.Done == 0 || e.Done >= 12 {
					t.Errorf("%d of 12 parts were done when it ended", e.Done)
				}
				l.gone(t, e)
				if n := l.count(rawstore.Abort); n < tc.aborts {
					t.Errorf("ABORT was sent %d times, want at least %d", n, tc.aborts)
				}
			})
		}
	}
}

// An abort that is refused does not hide why the upload ended, and tells the id
// (R25, https://github.com/aws/aws-sdk-go-v2/issues/3341).
func TestR25RefusedAbort(t *testing.T) {
	check.Leaks(t)
	for _, keep := range []bool{false, true} {
		t.Run(map[bool]string{true: "a stream with a journal", false: "e"}[keep], func(t *testing.T) {
			t.Parallel()
			var refuses atomic.Bool
			refuses.Store(true)
			l := newStopLab(t, keep, refusesAbort(&refuses))
			e := l.cancelled(t, false)
			text := e.Error()
			cause, abort := strings.Index(text, context.Canceled.Error()), strings.Index(text, "AccessDenied")
			if e.Abort == nil || cause < 0 || abort < cause || !strings.Contains(text, e.UploadID) || e.UploadID == "" {
				t.Errorf("%q does not say why it ended, why it could not be aborted, and which, in this order", text)
			}
			l.keeps(t, e.UploadID)
			refuses.Store(false)
			l.madeUpFor(t)
		})
	}
}

// With the network gone the clean-up ends in time, and the id is kept (R25,
// https://github.com/aws/aws-sdk-go-v2/issues/3341). The times are a third of the
// real ones: 30 s for the abort, 35 s in all; with a journal it is 3 s.
func TestR25AbortIntoABlackHole(t *testing.T) {
	check.Leaks(t)
	for _, keep := range []bool{false, true} {
		t.Run(map[bool]string{true: "a stream with a journal", false: "f"}[keep], func(t *testing.T) {
			t.Parallel()
			var dark atomic.Bool
			l := newStopLab(t, keep, rawstore.Rule{Count: -1, Match: func(*http.Request) bool { return dark.Load() },
				Do: []rawstore.Step{rawstore.Freeze()}})
			l.options.AbortTimeout = multipart.DefaultAbortTimeout / 3
			limit := 35 * time.Second / 3
			if keep {
				limit = 5 * time.Second
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := func() {
				dark.Store(true)
				cancel()
			}
			l.stop.Store(&f)
			_, err := l.send(ctx, t)
			took := time.Since(l.ended)
			l.stop.Store(nil)
			dark.Store(false)
			e := l.failed(t, err, context.Canceled)
			t.Logf("returned %v after the cancel", took.Round(time.Millisecond))
			if took > limit || e.Abort == nil || e.UploadID == "" || !strings.Contains(e.Error(), e.UploadID) {
				t.Errorf("returned %v after the cancel with %q", took, e)
			}
			l.keeps(t, e.UploadID)
			l.madeUpFor(t)
		})
	}
}

// Parts that are there, or land, after the first and the second abort use up the rounds:
// the third finds nothing, and that is a success (R25, https://github.com/aws/aws-sdk-go-v2/issues/3341).
func TestR25LastRoundFindsNothing(t *testing.T) {
	check.Leaks(t)
	l := newStopLab(t, false,
		rawstore.Rule{Op: rawstore.Abort, Count: 2, Do: []rawstore.Step{rawstore.Answer(204, nil, "")}},
		rawstore.Rule{Op: rawstore.PutPart, Part: 5, Do: []rawstore.Step{rawstore.Welcome(), rawstore.ReadAll(), rawstore.Wait(time.Second), rawstore.Refuse(400, "InvalidArgument", "no")}},
		rawstore.Rule{Op: rawstore.PutPart, Part: 12, Do: []rawstore.Step{rawstore.Welcome(), rawstore.Read(4 * mib), rawstore.Freeze()}}) // on its way until then
	_, err := l.send(t.Context(), t)
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok {
		t.Fatal(err)
	}
	l.gone(t, e)
}
