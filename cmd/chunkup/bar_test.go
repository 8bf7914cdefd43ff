package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/cmd/chunkup/walk"
	"github.com/chunkup/chunkup/multipart"
)

// still is a bar that is not drawn, of one file of 1000 bytes, at noon.
func still() *bar {
	return &bar{plain: newPlain(io.Discard, io.Discard, outputFlags{}), name: "big",
		meter: newMeter(noon, 1000), done: map[string]int64{}}
}

func (b *bar) progressed(at time.Time, dest string, done int64) {
	b.event(job{dest: dest}, multipart.Event{Kind: multipart.Progressed, Time: at, Done: done})
}

func (b *bar) waited(at time.Time, reason string) {
	b.event(job{dest: "a"}, multipart.Event{Kind: multipart.Waited, Time: at, Reason: reason})
}

func TestBarText(t *testing.T) {
	for _, c := range []struct {
		name        string
		events      func(*bar)
		now         float64
		left, right string
	}{
		{"at first", func(*bar) {}, 1, "big  0 B / 1000 B    0%", "elapsed 1s"},
		{"moving", func(b *bar) { b.progressed(at(1), "a", 100); b.progressed(at(2), "a", 200) }, 2,
			"big  200 B / 1000 B   20%", "100 B/s  elapsed 2s  ETA 8s"},
		{"two files", func(b *bar) {
			b.progressed(at(1), "a", 100)
			b.progressed(at(1), "b", 200)
			b.progressed(at(2), "a", 400)
		}, 2,
			"big  600 B / 1000 B   60%", "300 B/s  elapsed 2s  ETA 1s"},
		{"stalled", func(b *bar) { b.progressed(at(1), "a", 100) }, 13.5, "big  100 B / 1000 B   10%", "nothing moved for 12s  elapsed 14s"},
		{"in backoff", func(b *bar) { b.progressed(at(1), "a", 100); b.waited(at(2), "backoff") }, 4,
			"big  100 B / 1000 B   10%", "nothing moved for 3s (backoff)  elapsed 4s"},
		{"moving again", func(b *bar) { b.waited(at(1), "backoff"); b.progressed(at(2), "a", 100) }, 5,
			"big  100 B / 1000 B   10%", "nothing moved for 3s  elapsed 5s"},
		{"told to wait", func(b *bar) { b.waited(at(2), "retry-after") }, 3, "big  0 B / 1000 B    0%", "nothing moved for 3s (retry-after)  elapsed 3s"},
		{"breaker open", func(b *bar) { b.waited(at(2), "backoff"); b.breaker("x", breaker.Closed, breaker.Open) }, 3,
			"big  0 B / 1000 B    0%", "nothing moved for 3s (breaker open)  elapsed 3s"},
		{"breaker closed again", func(b *bar) { b.breaker("x", breaker.HalfOpen, breaker.Closed) }, 3,
			"big  0 B / 1000 B    0%", "nothing moved for 3s  elapsed 3s"},
		{"last bytes", func(b *bar) { b.progressed(at(1), "a", 999) }, 1, "big  999 B / 1000 B   99%", "999 B/s  elapsed 1s  ETA 0s"},
		{"of nobody knows how much", func(b *bar) { b.meter.total = unknownTotal; b.progressed(at(1), "a", 100) }, 1,
			"big  100 B", "100 B/s  elapsed 1s"},
		{"of nobody knows how much, stalled", func(b *bar) { b.meter.total = unknownTotal; b.progressed(at(1), "a", 100) }, 6,
			"big  100 B", "nothing moved for 5s  elapsed 6s"},
		{"more than expected", func(b *bar) { b.progressed(at(1), "a", 1500) }, 1, "big  1.46 KiB", "1.5 kB/s  elapsed 1s"},
		{"resumed", func(b *bar) {
			b.event(job{dest: "a"}, multipart.Event{Kind: multipart.Resumed, Time: at(0), Done: 500})
			b.progressed(at(1), "a", 600)
		}, 1, "big  600 B / 1000 B   60%", "100 B/s  elapsed 1s  ETA 4s"},
		{"all sent", func(b *bar) { b.progressed(at(1), "a", 1000) }, 6, "big  1000 B / 1000 B  100%",
			"nothing moved for 5s (all sent, waiting for the store)  elapsed 6s"},
	} {
		b := still()
		c.events(b)
		if got := b.left(at(c.now)); got != c.left {
			t.Errorf("%s: %q, want %q", c.name, got, c.left)
		}
		if got := strings.TrimSpace(b.right(at(c.now))); got != c.right {
			t.Errorf("%s: %q, want %q", c.name, got, c.right)
		}
	}
}

func TestBarName(t *testing.T) {
	for source, want := range map[string]string{
		"big": "big", "dir/big": "big", strings.Repeat("x", 20) + "-big.iso": "…" + strings.Repeat("x", 15) + "-big.iso", "a\nb": `"a\nb"`,
	} {
		if got := barName(&sources{named: []job{{source: source}}}); got != want {
			t.Errorf("the bar of %q is called %q, want %q", source, got, want)
		}
	}
	if got := barName(&sources{named: make([]job, 3)}); got != "" {
		t.Errorf("the bar of three files is called %q", got)
	}
}

// While files are being found, there is no telling how much there is.
func TestBarOfFolder(t *testing.T) {
	var s sources
	s.roots = []string{"dir"}
	b := still()
	b.name, b.tally, b.meter = barName(&s), &s.tally, newMeter(noon, totalOf(&s))
	for range 3 {
		s.tally.add(100)
	}
	b.progressed(at(1), "a", 100)
	b.result(outcome{job: job{dest: "a"}})
	b.progressed(at(1), "b", 50)
	for _, want := range []string{"1 / 3+ files  150 B", "1 / 4 files  150 B / 400 B   37%"} {
		if got := b.left(at(1)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		s.tally.add(100)
		s.tally.whole.Store(true)
	}
	if got := strings.TrimSpace(b.right(at(1))); got != "150 B/s  elapsed 1s  ETA 3s" && got != "150 B/s  elapsed 1s  ETA 2s" {
		t.Errorf("%q", got)
	}
}

// A source that is refused because its key is another's does not disturb that one.
func TestBarAfterRefusal(t *testing.T) {
	b := still()
	b.progressed(at(1), "a", 400)
	b.result(outcome{job: job{source: "second", dest: "a"}, err: io.ErrUnexpectedEOF, code: exitFailed, unbegun: true})
	b.progressed(at(2), "a", 500)
	if got, want := b.left(at(2)), "big  500 B / 1000 B   50%"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The bar is of as many files as have a result.
func TestBarCountsResults(t *testing.T) {
	s := &sources{}
	for _, err := range []error{nil, nil, &walk.Error{Path: "x", Err: io.EOF}, &walk.SkipError{Path: "x"}} {
		s.count(found{}, err, func(found, error) bool { return true })
	}
	b := still()
	b.name, b.tally = "", &s.tally
	run := &session{sources: s, printer: b}
	run.refuse(job{}, &walk.Error{Path: "x", Err: io.EOF})
	run.refuse(job{}, &walk.SkipError{Path: "x"})
	run.refuse(job{}, &alreadyError{})
	run.count(outcome{})
	s.tally.whole.Store(true)
	if got, want := b.title(), "2 / 2 files"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The bar is drawn on a terminal, unless told otherwise, and is gone at the end.
func TestWhenTheBarIsDrawn(t *testing.T) {
	isolate(t)
	const up = "\x1b[1A" // how the bar is drawn over
	for _, c := range []struct {
		args     []string
		term     string
		terminal bool
		want     bool
	}{
		{nil, "xterm", true, true},
		{nil, "", true, true},
		{nil, "xterm", false, false},
		{nil, "dumb", true, false},
		{[]string{"--no-progress"}, "xterm", true, false},
		{[]string{"--quiet"}, "xterm", true, false},
		{[]string{"--json"}, "xterm", true, false},
		{[]string{"--dry-run"}, "xterm", true, false},
	} {
		f := newFake(t)
		w := world{variables: map[string]string{"TERM": c.term}, terminal: c.terminal}
		r := w.run(t, append(f.args(file(t, "big", "x"), "s3://bucket/key"), c.args...)...).want(t, exitOK)
		if drawn := strings.Contains(r.stderr, up); drawn != c.want {
			t.Errorf("%v, TERM=%s, terminal %v: drawn %v: %q", c.args, c.term, c.terminal, drawn, r.stderr)
		}
		if left := lines(r.stderr); c.want && (len(left) != 1 || left[0] != "") {
			t.Errorf("this is left on the terminal: %q", left)
		}
		if strings.Contains(r.stdout, up) {
			t.Errorf("standard output %q", r.stdout)
		}
	}
}

// screen is a terminal that is written to. It understands what the bar needs: up
// by lines, and erase from here to the end.
type screen struct {
	mu   sync.Mutex
	all  strings.Builder
	drew chan struct{} // closed when the bar is there
	once sync.Once
}

func newScreen() *screen { return &screen{drew: make(chan struct{})} }

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(b, []byte("elapsed")) {
		s.once.Do(func() { close(s.drew) })
	}
	return s.all.Write(b)
}

// lines are what is to be seen at the end.
func lines(text string) []string {
	rows, row, column := [][]rune{nil}, 0, 0
	for _, piece := range regexp.MustCompile(`\x1b\[[0-9]*[A-Z]|.|\n`).FindAllString(text, -1) {
		var up int
		switch _, err := fmt.Sscanf(piece, "\x1b[%dA", &up); {
		case err == nil:
			row -= up
		case piece == "\x1b[J":
			rows = rows[:row+1]
			rows[row] = rows[row][:min(column, len(rows[row]))]
		case piece == "\r":
			column = 0
		case piece == "\n":
			column = 0
			if row++; row == len(rows) {
				rows = append(rows, nil)
			}
		default:
			for len(rows[row]) <= column {
				rows[row] = append(rows[row], ' ')
			}
			rows[row][column] = []rune(piece)[0]
			column++
		}
	}
	seen := make([]string, len(rows))
	for i, r := range rows {
		seen[i] = string(r)
	}
	return seen
}

// Lines for the terminal that the bar is on are printed above it, and the bar
// is gone at the end.
func TestLinesAboveTheBar(t *testing.T) {
	isolate(t)
	f, s := newFake(t), newScreen()
	f.on(func(w http.ResponseWriter, r *http.Request, op string) bool {
		if op == "put" {
			<-s.drew
		}
		return op == "put" && strings.HasSuffix(r.URL.Path, "/bad") && refuse(w, 404, "NoSuchBucket")
	})
	code := run(t.Context(), env{
		args:   f.args(file(t, "bad", "x"), file(t, "good", "x"), "s3://bucket/", "--workers", "1"),
		stdout: s, stderr: s,
		getenv: func(string) string { return "" }, terminal: func(io.Writer) bool { return true },
	})
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	want := []string{`^chunkup: put object of s3://bucket/bad: `, `^uploaded .*good → s3://bucket/good  1 B`, `^  etag "part"  md5 `, `^$`}
	got := lines(s.all.String())
	if len(got) != len(want) {
		t.Fatalf("the terminal shows %q", got)
	}
	for i := range want {
		if !regexp.MustCompile(want[i]).MatchString(got[i]) {
			t.Errorf("line %d of the terminal is %q, want %s", i+1, got[i], want[i])
		}
	}
	if all := s.all.String(); !regexp.MustCompile(` 50% \[=+>-+\]`).MatchString(all) {
		t.Errorf("the bar never shows one of two files: %q", all)
	}
}

// Who writes after the bar is gone writes to the terminal.
func TestAboveWithoutBar(t *testing.T) {
	var screen bytes.Buffer
	b := newBar(newPlain(&screen, &screen, outputFlags{}), env{stdout: &screen, stderr: &screen,
		terminal: func(io.Writer) bool { return true }}, &sources{})
	if err := b.close(totals{}); err != nil {
		t.Fatal(err)
	}
	screen.Reset()
	fmt.Fprintln(b.plain.err, "late")
	if screen.String() != "late\n" {
		t.Errorf("the terminal shows %q", screen.String())
	}
}
