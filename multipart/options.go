package multipart

import (
	"fmt"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
)

// DefaultThreshold is the size, in bytes, below which an object goes up in one
// PUT.
const DefaultThreshold = 16 << 20

// Options of an [Uploader]; nil and the zero value give the defaults.
type Options struct {
	// Endpoint is what the uploads share with others; its Client sends the
	// parts, so one with other deadlines, roots or dialers goes in there. nil
	// takes the bucket's from [DefaultEndpoints].
	Endpoint *Endpoint

	// PartSize in bytes. 0 chooses: 16 MiB, growing with the object.
	PartSize int64

	// Threshold is the size in bytes below which an object goes up in one PUT.
	// 0 = [DefaultThreshold]; negative = never, but for an empty object.
	Threshold int64

	// Backoff is the schedule of waits.
	Backoff Backoff

	// MaxAttempts is how often in a row an operation may fail with nothing
	// else of its upload succeeding in between; four times that is the limit
	// whatever happens. 0 = 5.
	MaxAttempts int

	// MaxElapsed is how long an operation may be in trouble with no byte of
	// the upload acknowledged. Waiting for a lane, for the end of others'
	// trouble, or because the store asked for it does not count. 0 = 3 min;
	// negative = for ever.
	MaxElapsed time.Duration

	// RetryAfterCap cuts a longer Retry-After. 0 = 60 s.
	RetryAfterCap time.Duration

	// WaitOpen makes a new upload wait at an open breaker. Otherwise it is
	// refused at once with *breaker.OpenError. Parts of a running upload
	// always wait.
	WaitOpen bool

	// Journal is where unfinished uploads are written down, so that another call,
	// after a crash even, goes on with them. nil keeps nothing: an upload that
	// fails is aborted at the store.
	Journal *journal.Dir

	// Memory bounds the buffers of all streams of the uploader together, in bytes.
	// 0 = [DefaultMemory]. Sources are read in place and need none.
	Memory int64

	// AbortTimeout bounds the clean-up after a failed upload. 0 =
	// [DefaultAbortTimeout].
	AbortTimeout time.Duration

	// OnEvent is told what happens, each upload's events in order and from one
	// goroutine, those of different uploads at the same time. A slow one holds
	// up nothing but the end of its upload.
	OnEvent func(Event)

	// Rand is the source of jitter, in [0, 1), safe for concurrent use. nil
	// uses math/rand/v2.
	Rand func() float64
}

func (o *Options) withDefaults() (Options, error) {
	var d Options
	if o != nil {
		d = *o
	}
	switch {
	case d.PartSize < 0:
		return d, fmt.Errorf("multipart: negative part size %d", d.PartSize)
	case d.Threshold > chunker.MaxPart:
		return d, fmt.Errorf("multipart: threshold of %d bytes: stores take at most %d in one PUT", d.Threshold, chunker.MaxPart)
	case d.Memory < 0:
		return d, fmt.Errorf("multipart: negative memory of %d bytes", d.Memory)
	case d.MaxAttempts < 0:
		return d, fmt.Errorf("multipart: negative number of attempts %d", d.MaxAttempts)
	}
	if d.Threshold == 0 {
		d.Threshold = DefaultThreshold
	}
	if d.MaxAttempts == 0 {
		d.MaxAttempts = 5
	}
	if d.MaxElapsed == 0 {
		d.MaxElapsed = 3 * time.Minute
	}
	if d.RetryAfterCap == 0 {
		d.RetryAfterCap = time.Minute
	}
	if d.Memory == 0 {
		d.Memory = DefaultMemory
	}
	if d.AbortTimeout <= 0 {
		d.AbortTimeout = DefaultAbortTimeout
	}
	if d.Rand == nil {
		d.Rand = random
	}
	return d, nil
}
