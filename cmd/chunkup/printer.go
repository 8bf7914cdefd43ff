package main

import (
	"errors"
	"io"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
)

// printer shows a run of cp. Its methods are called from many goroutines at
// once, the events of each job in order and before its result; close is last.
type printer interface {
	planned(j job) // in place of uploading it
	event(j job, e multipart.Event)
	breaker(endpoint string, from, to breaker.State)
	result(o outcome)
	warned(err error)     // about what is no job
	stopping()            // the uploads are being ended, because the user has interrupted
	close(t totals) error // with the first error of writing to standard output
}

// outcome is how a job ended.
type outcome struct {
	job      job
	result   multipart.Result
	err      error
	code     int
	verified bool // the store was asked about the object once more
	unbegun  bool // nothing was ever told of it; its destination can be another job's
	hints    hints
}

// uploadID is that of the upload in parts, whether it ended well or not.
func (o outcome) uploadID() string {
	if e, ok := errors.AsType[*multipart.Error](o.err); ok {
		return e.UploadID
	}
	return o.result.UploadID
}

// object is the address of what was made, or was to be made: a minting service may
// have chosen another key than the destination's.
func (o outcome) object() string {
	if e, ok := errors.AsType[*multipart.Error](o.err); ok && e.Object != "" {
		return e.Object
	}
	return o.job.addressOf(o.result.Object)
}

// totals are those of the whole run.
type totals struct {
	files, failed            int
	bytes, sentBytes         int64
	requests, retries, mints int
	budgetLeft               float64
	elapsed                  time.Duration
	code                     int
	refused                  bool // before anything was sent
}

func (t *totals) add(o outcome) {
	t.files++
	if o.err == nil {
		t.bytes += o.result.Size
	} else {
		t.failed++
	}
	t.sentBytes += o.result.SentBytes
	t.requests += o.result.Requests
	t.retries += o.result.Retries
	t.mints += o.result.Mints
	t.code = worst(t.code, o.code)
}

// newPrinter chooses how the run is shown.
func newPrinter(e env, o outputFlags, s *sources) printer {
	if o.json {
		return newJSONPrinter(e.stdout)
	}
	p := newPlain(e.stdout, e.stderr, o)
	if o.quiet || o.noProgress || o.dryRun || e.getenv("TERM") == "dumb" || !e.terminal(e.stderr) {
		return p
	}
	return newBar(p, e, s)
}

// sink is a writer that remembers its first error, so that many small writes
// need one check.
type sink struct {
	to  io.Writer
	err error
}

// Write implements io.Writer. After an error nothing is written any more.
func (t *sink) Write(b []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.to.Write(b)
	t.err = err
	return n, err
}
