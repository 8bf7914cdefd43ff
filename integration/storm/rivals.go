package storm

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// restart is how long after an upload was aborted its caller begins it again, from
// the first part.
const restart = 10 * time.Second

// rival is a process of somebody else: two uploads at once, each with a fixed
// number of workers that take one part after the other. A part that fails for
// good aborts its upload.
type rival struct {
	w    *world
	pipe *pipe
	send func() time.Duration // deadline on a pipe; nil = none
	// part tries one part until it is done, or in vain.
	part func(ctx context.Context, try func() outcome) bool
}

func (r *rival) run(ctx context.Context) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				r.upload(ctx)
			}
		})
	}
	wg.Wait()
}

// upload is one upload, as feature/s3/manager of the AWS SDK does it: after the
// first part that fails for good nothing new is sent, what is on its way ends, and
// the upload is aborted.
func (r *rival) upload(ctx context.Context) {
	var next, finished atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range r.w.scene.Slots / 2 {
		wg.Go(func() {
			for !failed.Load() && ctx.Err() == nil && next.Add(1) <= int64(r.w.scene.Parts) {
				if !r.part(ctx, r.try) {
					failed.Store(true)
					return
				}
				finished.Add(1)
			}
		})
	}
	wg.Wait()
	switch {
	case ctx.Err() != nil:
	case failed.Load():
		r.w.record.aborted(int(finished.Load()))
		time.Sleep(restart)
	default:
		r.w.record.finished()
	}
}

// try makes one attempt.
func (r *rival) try() outcome {
	a := attempt{w: r.w, pipe: r.pipe, send: r.send}
	out := a.run()
	if out == done {
		r.w.record.done(r.w.now())
	}
	return out
}

func newRival(w *world) *rival {
	r := &rival{w: w}
	if w.scene.Uplink != nil {
		r.pipe = &pipe{w: w}
	}
	return r
}

// fixed gives a process one deadline for every part.
func (r *rival) fixed() *rival {
	if u := r.w.scene.Uplink; u != nil {
		r.send = func() time.Duration { return u.Fixed }
	}
	return r
}

// jittered retries so many times, 0 for ever, after a wait drawn uniformly below
// base·2ⁱ, at most limit.
func (w *world) jittered(tries int, base, limit time.Duration) func(context.Context, func() outcome) bool {
	return func(ctx context.Context, try func() outcome) bool {
		for i := 0; ctx.Err() == nil; i++ {
			if try() == done {
				return true
			}
			if i+1 == tries {
				return false
			}
			ceiling := min(float64(base)*math.Pow(2, float64(i)), float64(limit))
			time.Sleep(time.Duration(w.dice.float() * ceiling))
		}
		return false
	}
}

// Rivals are the retry policies of others.
func Rivals() []Policy {
	return []Policy{
		{"naive", naive},
		{"exponential", exponential},
		{"AWS SDK v2 + manager", sdk},
		{"minio-go", minio},
	}
}

// naive tries again within a second, for ever.
func naive(w *world) process {
	r := newRival(w).fixed()
	r.part = w.jittered(0, time.Second, time.Second)
	return r
}

// exponential backs off to 20 s, for ever.
func exponential(w *world) process {
	r := newRival(w).fixed()
	r.part = w.jittered(0, 500*time.Millisecond, 20*time.Second)
	return r
}

// minio is the retry of minio-go v7 (retry.go: MaxRetry 10, DefaultRetryUnit
// 200 ms, DefaultRetryCap 1 s, full jitter). It has no deadline on sending.
func minio(w *world) process {
	r := newRival(w)
	r.part = w.jittered(10, 200*time.Millisecond, time.Second)
	return r
}
