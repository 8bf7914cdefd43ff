package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
)

const (
	redrawEvery  = 100 * time.Millisecond
	defaultWidth = 80
	maxName      = 24 // characters of a file's name
)

// bar draws the progress of the whole run below what plain prints.
type bar struct {
	*plain
	progress *mpb.Progress
	bar      *mpb.Bar
	name     string // empty: that of so many files
	tally    *tally

	mu    sync.Mutex
	meter *meter
	done  map[string]int64 // by destination, of the jobs under way
	sum   int64            // of all
	ended int              // jobs
	state breaker.State
	wait  string // the last reason to wait, until something moves
}

func newBar(p *plain, e env, s *sources) *bar {
	total := totalOf(s)
	b := &bar{plain: p, name: barName(s), tally: &s.tally,
		meter: newMeter(time.Now(), total), done: map[string]int64{}}
	b.progress = mpb.New(append(outputOptions(e.stderr), mpb.WithRefreshRate(redrawEvery))...)
	// A total of zero keeps the bar from completing by itself.
	b.bar = b.progress.New(0, mpb.BarStyle(), mpb.BarFillerMiddleware(b.fill),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return b.left(time.Now()) })),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return b.right(time.Now()) })))
	b.bar.SetTotal(max(total, 0), false)
	// Lines on the bar's own terminal have to go above it.
	p.err = above{b.progress, e.stderr}
	if e.terminal(e.stdout) {
		p.out = &sink{to: above{b.progress, e.stdout}}
	}
	return b
}

// totalOf is how much all that is named has to send, if there is nothing else.
func totalOf(s *sources) int64 {
	if s.finds() || len(s.named) > 0 && s.named[0].unknown() {
		return unknownTotal
	}
	return s.tally.bytes.Load()
}

// above writes lines above the bar, or where they belong if there is no bar any
// more.
type above struct {
	bar     *mpb.Progress
	without io.Writer
}

// Write implements io.Writer.
func (a above) Write(b []byte) (int, error) {
	if n, err := a.bar.Write(b); err == nil {
		return n, nil
	}
	return a.without.Write(b)
}

// outputOptions let the library find the terminal's width, unless the terminal
// does not know it: then nothing would be drawn.
func outputOptions(w io.Writer) []mpb.ContainerOption {
	if f, ok := w.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return []mpb.ContainerOption{mpb.WithOutput(w)}
		}
	}
	return []mpb.ContainerOption{mpb.WithOutput(struct{ io.Writer }{w}), mpb.ForceTTY(), mpb.WithAutoRefresh(), mpb.WithWidth(defaultWidth)}
}

// barName is the name of the only file.
func barName(s *sources) string {
	if s.finds() || len(s.named) != 1 {
		return ""
	}
	name := []rune(show(filepath.Base(s.named[0].source)))
	if s.named[0].stream {
		name = []rune(s.named[0].label())
	}
	if len(name) > maxName {
		name = append([]rune("…"), name[len(name)-maxName+1:]...)
	}
	return string(name)
}

// title is what the bar is of. While files are still being found, there are more.
func (b *bar) title() string {
	if b.name != "" {
		return b.name
	}
	more := ""
	if !b.tally.whole.Load() {
		more = "+"
	}
	return fmt.Sprintf("%d / %d%s files", b.ended, b.tally.files.Load(), more)
}

func (b *bar) event(j job, e multipart.Event) {
	b.plain.event(j, e)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.Kind {
	case multipart.Waited:
		b.wait = e.Reason
	case multipart.Resumed:
		b.meter.skip(b.advance(j, e.Done))
	case multipart.Progressed:
		b.advance(j, e.Done)
		if b.sum > b.meter.done {
			b.wait = ""
		}
		b.meter.add(e.Time, b.sum)
	}
}

// advance notes how far a job is, and returns by how much that is further.
func (b *bar) advance(j job, done int64) int64 {
	more := done - b.done[j.dest]
	b.done[j.dest] = done
	b.sum += more
	return more
}

func (b *bar) result(o outcome) {
	b.mu.Lock()
	if !o.unbegun {
		delete(b.done, o.job.dest)
	}
	b.ended++
	b.mu.Unlock()
	b.plain.result(o)
}

func (b *bar) breaker(_ string, _, to breaker.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = to
}

// close takes the bar away, and leaves the terminal as it was.
func (b *bar) close(t totals) error {
	b.bar.Abort(true)
	b.progress.Wait()
	return b.plain.close(t)
}

// fill draws what the meter says. (Telling the library would mean to call it
// under the lock that it takes itself when it draws.)
func (b *bar) fill(base mpb.BarFiller) mpb.BarFiller {
	return mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		b.mu.Lock()
		known := b.view(time.Now()).known
		s.Current, s.Total = b.meter.done, b.meter.total
		b.mu.Unlock()
		if !known {
			return nil // half of nobody knows what
		}
		return base.Fill(w, s)
	})
}

// view reads the meter, which learns the total when all files have been found.
func (b *bar) view(now time.Time) reading {
	if b.name == "" && b.tally.whole.Load() {
		b.meter.total = b.tally.bytes.Load()
	}
	return b.meter.view(now)
}

// left is what stands before the bar.
func (b *bar) left(now time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.view(now)
	if !r.known {
		return fmt.Sprintf("%s  %s", b.title(), formatSize(r.done))
	}
	return fmt.Sprintf("%s  %s / %s  %3d%%", b.title(), formatSize(r.done), formatSize(r.total), percent(r.done, r.total))
}

// right is what stands behind it: while nothing moves, since when and why.
func (b *bar) right(now time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.view(now)
	elapsed := "elapsed " + r.elapsed.Round(time.Second).String()
	if r.idle > idleAfter {
		return fmt.Sprintf("  nothing moved for %v%s  %s", r.idle.Truncate(time.Second), b.why(r), elapsed)
	}
	if !r.moving {
		return "  " + elapsed
	}
	if !r.known {
		return fmt.Sprintf("  %s  %s", formatRate(r.rate), elapsed)
	}
	return fmt.Sprintf("  %s  %s  ETA %v", formatRate(r.rate), elapsed, r.eta.Round(time.Second))
}

// why is the reason that nothing moves, as far as it is known.
func (b *bar) why(r reading) string {
	switch {
	case b.state != breaker.Closed:
		return " (breaker " + b.state.String() + ")"
	case b.wait != "":
		return " (" + b.wait + ")"
	case r.known && r.done >= r.total:
		return " (all sent, waiting for the store)"
	}
	return ""
}

// percent is rounded down, so that 100 means all.
func percent(done, total int64) int64 {
	if total <= 0 {
		return 100
	}
	return int64(float64(done) / float64(total) * 100)
}
