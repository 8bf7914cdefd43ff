package main

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart"
)

// An interrupt ends the search as well: within a second, and never as a success.
func TestInterruptOfFolder(t *testing.T) {
	isolate(t)
	var paths []string
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("f%04d", i))
	}
	root := tree(t, paths...)
	f := newFake(t)
	reached := f.hang(t, "put")
	ctx, cancel := context.WithCancelCause(t.Context())
	var ended time.Time
	go func() {
		<-reached
		ended = time.Now()
		cancel(errInterrupted)
	}()
	r := world{ctx: ctx}.run(t, f.args(append(small, root, "s3://bucket/", "--workers", "2", "--json")...)...).want(t, exitInterrupted)
	if took := time.Since(ended); took > 3*time.Second {
		t.Errorf("it took %v to end", took)
	}
	lines := jsonLines(t, r.stdout)
	last := lines[len(lines)-1]
	if n := last["files"].(float64); n == 0 || n > 500 || last["failed"] != n || last["exit"] != 130. {
		t.Errorf("the summary is %v", last)
	}
	if !slices.ContainsFunc(lines, func(l map[string]any) bool { return l["type"] == "result" && l["source"] == root && l["exit"] == 130. }) {
		t.Error("no result says that the folder is not there as a whole")
	}
}

// A list from somebody who types holds up no interrupt.
func TestInterruptOfList(t *testing.T) {
	isolate(t)
	read, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	f := newFake(t)
	f.on(func(http.ResponseWriter, *http.Request, string) bool { cancel(errInterrupted); return false })
	fmt.Fprintln(written, file(t, "a", "x"))
	world{ctx: ctx, stdin: read}.run(t, f.args("--files-from", "-", "s3://bucket/", "--provider", "minio")...).want(t, exitInterrupted)
}

func numbers(n int, then error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if then != nil {
			yield(0, then)
		}
	}
}

func TestAhead(t *testing.T) {
	var got []int
	var failed error
	for v, err := range ahead(t.Context(), numbers(100, os.ErrClosed), 7) {
		if failed = err; err == nil {
			got = append(got, v)
		}
	}
	if len(got) != 100 || !slices.IsSorted(got) || failed != os.ErrClosed {
		t.Errorf("%v, %v", got, failed)
	}
	produced := make(chan int, 100)
	counted := func(yield func(int, error) bool) {
		defer close(produced)
		for v, err := range numbers(100, nil) {
			produced <- v
			if !yield(v, err) {
				return
			}
		}
	}
	for range ahead(t.Context(), counted, 7) {
		for range 9 { // the one that is here, those that are ahead, and the next
			<-produced
		}
		break
	}
	for range produced { // it ends with the loop
	}
}

// The end of the context is told, whether it has ended the sequence or that still waits.
func TestAheadEnds(t *testing.T) {
	for range 20 { // both may be seen first
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			one := func(yield func(int, error) bool) {
				yield(1, nil)
				cancel(errInterrupted)
			}
			var last error
			for _, err := range ahead(ctx, one, 3) {
				last = err
				synctest.Wait()
			}
			if last != error(errInterrupted) {
				t.Fatal(last)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	waits := func(func(int, error) bool) { <-t.Context().Done() }
	time.AfterFunc(time.Millisecond, func() { cancel(errInterrupted) })
	for _, err := range ahead(ctx, waits, 3) {
		if err != error(errInterrupted) {
			t.Error(err)
		}
	}
}

// Whoever searches says nothing of the end of the context: that is said once, for all.
func TestFindEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	s := sources{roots: []string{tree(t, "a"), tree(t, "b")}, list: strings.NewReader("c")}
	for f, err := range s.find(ctx) {
		t.Errorf("%v, %v", f, err)
	}
	if s.tally.whole.Load() {
		t.Error("all was found")
	}
}

// Of a job that has ended nothing is kept, or memory would grow with their number.
func TestNothingStays(t *testing.T) {
	p, json, b := newPlain(discard{}, discard{}, outputFlags{verbose: true}), newJSONPrinter(discard{}), still()
	for i := range 100 {
		j := job{dest: fmt.Sprint("s3://bucket/", i), size: 10}
		for _, out := range []printer{p, json, b} {
			out.event(j, multipart.Event{Kind: multipart.Planned, Time: noon})
			out.event(j, multipart.Event{Kind: multipart.Attempted, Time: noon, Err: os.ErrClosed})
			out.event(j, multipart.Event{Kind: multipart.Progressed, Time: noon, Done: 10})
			out.result(outcome{job: j})
		}
	}
	if len(p.failed)+len(json.meters)+len(b.done) != 0 {
		t.Errorf("kept: %d, %d, %d", len(p.failed), len(json.meters), len(b.done))
	}
	if b.sum != 1000 || b.ended != 100 {
		t.Errorf("%d bytes of %d jobs are done", b.sum, b.ended)
	}
	c := claims{named: map[string]claim{}}
	for i := range 100 {
		if err := c.take(job{dest: fmt.Sprint(i)}, ""); err != nil || len(c.seen)+len(c.named) != 0 {
			t.Fatalf("%v, kept: %d", err, len(c.seen)+len(c.named))
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
