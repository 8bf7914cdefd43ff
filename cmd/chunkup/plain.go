package main

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// plain prints lines: results to one writer, everything else to another.
type plain struct {
	quiet, verbose bool

	mu     sync.Mutex
	out    *sink
	err    io.Writer
	failed map[attemptKey]multipart.Event // attempts whose wait is not known yet
	unsaid error                          // why jobs were not even begun
}

// attemptKey is one operation of one job.
type attemptKey struct {
	dest string
	op   wire.Operation
	part int
}

func newPlain(out, err io.Writer, o outputFlags) *plain {
	return &plain{quiet: o.quiet, verbose: o.verbose, out: &sink{to: out}, err: err,
		failed: map[attemptKey]multipart.Event{}}
}

func (p *plain) planned(j job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		fmt.Fprintf(p.out, "would upload %s → %s  %s\n", j.label(), show(j.dest), j.shape())
	}
}

func (p *plain) breaker(string, breaker.State, breaker.State) {}

func (p *plain) event(j job, e multipart.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Kind == multipart.Warned && !p.quiet {
		fmt.Fprintf(p.err, "chunkup: warning: %s: %s\n", j.label(), sentence(e.Err))
	}
	if !p.verbose {
		return
	}
	key := attemptKey{j.dest, e.Op, e.Part}
	switch e.Kind {
	case multipart.Attempted:
		p.tellRetry(key, 0) // it was tried again without a wait
		if e.Err != nil {
			p.failed[key] = e
		}
	case multipart.Waited:
		if e.Reason == "backoff" || e.Reason == "retry-after" {
			p.tellRetry(key, e.Wait)
		}
	}
}

// tellRetry prints the failed attempt after which there is another.
func (p *plain) tellRetry(key attemptKey, wait time.Duration) {
	e, ok := p.failed[key]
	if !ok {
		return
	}
	delete(p.failed, key)
	what := e.Op.String()
	if e.Part > 0 {
		what = fmt.Sprintf("%s %d", what, e.Part)
	}
	fmt.Fprintf(p.err, "retry: %s of %s: attempt %d failed (%v): %s; again in %v\n",
		what, show(key.dest), e.Attempt, e.Class, sentence(e.Err), wait.Round(time.Millisecond))
}

func (p *plain) warned(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		fmt.Fprintf(p.err, "chunkup: warning: %s\n", sentence(err))
	}
}

func (p *plain) stopping() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		fmt.Fprintln(p.err, "chunkup: interrupted: cleaning up; interrupt again to end at once")
	}
}

func (p *plain) result(o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.failed) > 0 && !o.unbegun { // what failed last was not tried again
		maps.DeleteFunc(p.failed, func(k attemptKey, _ multipart.Event) bool { return k.dest == o.job.dest })
	}
	if stop, ok := o.err.(*stopError); ok {
		p.unsaid = stop // said once for all jobs that had not begun
		return
	}
	if o.err != nil {
		text := "chunkup: " + sentence(o.err) + "\n"
		for _, line := range o.hints.lines() {
			text += line + "\n"
		}
		fmt.Fprint(p.err, text)
		return
	}
	if p.quiet {
		return
	}
	if o.result.Existing {
		fmt.Fprintf(p.out, "exists %s = %s  %s, nothing was sent\n  %s\n", o.job.label(), show(o.object()), formatSize(o.result.Size), proof(o))
		return
	}
	fmt.Fprintf(p.out, "uploaded %s → %s  %s\n  %s\n", o.job.label(), show(o.object()), figures(o.result), proof(o))
}

func (p *plain) close(t totals) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unsaid != nil {
		fmt.Fprintf(p.err, "chunkup: %s\n", sentence(p.unsaid))
	}
	if t.files == 0 && t.code == exitOK && !p.quiet {
		fmt.Fprintln(p.err, "chunkup: nothing to upload")
	}
	if p.out.err != nil {
		return fmt.Errorf("write standard output: %w", p.out.err)
	}
	return nil
}

// figures are how large an upload was and how it went.
func figures(r multipart.Result) string {
	text := cut(r.Size, chunker.Plan{Size: r.Size, PartSize: r.PartSize}, r.Parts == 0)
	text += ", " + roundElapsed(r.Elapsed).String()
	if r.Elapsed > 0 {
		text += ", " + formatRate(float64(r.Size)/r.Elapsed.Seconds())
	}
	if r.Resumed > 0 {
		text += fmt.Sprintf(", resumed: %d of %d parts were there", r.Resumed, r.Parts)
	}
	if r.Retries > 0 {
		text += fmt.Sprintf(", %d retries", r.Retries)
	}
	return text
}

// shape says how large a job is and in how many pieces it would go up.
func (j job) shape() string {
	first := "parts of " + formatSize(j.growth.First)
	switch {
	case j.unknown():
		return "in " + first + " at first"
	case j.stream:
		return formatSize(j.size) + " expected, in " + first
	}
	return cut(j.size, j.plan, j.whole)
}

// cut says how large an object is and in how many pieces it goes up.
func cut(size int64, plan chunker.Plan, whole bool) string {
	switch n := plan.Len(); {
	case whole:
		return formatSize(size) + " in one PUT"
	case n <= 1: // an empty one has one, too
		return formatSize(size) + " in 1 part"
	default:
		return fmt.Sprintf("%s in %d parts of %s", formatSize(size), n, formatSize(plan.PartSize))
	}
}

// proof is what the store said of the object.
func proof(o outcome) string {
	fields := []string{"etag " + o.result.ETag}
	if d := o.result.Digest; !d.IsZero() {
		fields = append(fields, d.Algorithm().String()+" "+d.Base64())
	}
	if o.result.VersionID != "" {
		fields = append(fields, "version "+o.result.VersionID)
	}
	if o.verified {
		fields = append(fields, "verified")
	}
	return strings.Join(fields, "  ")
}

// roundElapsed leaves what people want to read.
func roundElapsed(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
