package storm

import (
	"sync/atomic"
	"time"
)

// pipe is the uplink of one process: those who send share it evenly.
type pipe struct {
	w       *world
	senders atomic.Int32
	moved   atomic.Int64 // bytes, of all parts
}

// share is what one of those who send gets, in bytes a second.
func (p *pipe) share() float64 {
	rate := p.w.scene.Uplink.Wide
	if p.w.scene.failing(p.w.now()) {
		rate = p.w.scene.Uplink.Thin
	}
	return rate / float64(p.senders.Load())
}

// pace is how long a sender goes on before it looks again how many there are.
const (
	shortestPace = 50 * time.Millisecond
	longestPace  = 10 * time.Second
)

// overPipe sends over the pipe. The store at its end answers at once.
func (a *attempt) overPipe() outcome {
	a.pipe.senders.Add(1)
	defer a.pipe.senders.Add(-1)
	start, left := time.Now(), float64(a.w.scene.Part)
	deadline := time.Duration(1<<63 - 1)
	if a.send != nil {
		deadline = a.send()
	}
	for left > 0 {
		share := a.pipe.share()
		whole := time.Duration(left / share * float64(time.Second))
		step := min(max(whole/pieces, shortestPace), longestPace, max(deadline-time.Since(start), 0))
		time.Sleep(step)
		// Others may have come meanwhile, or gone: the pipe carries no more than it can.
		bytes := min(min(share, a.pipe.share())*step.Seconds(), left)
		left -= bytes
		a.pipe.moved.Add(int64(bytes))
		if a.moved != nil {
			a.moved(int(bytes))
		}
		if left < 1 {
			break
		}
		if time.Since(start) >= deadline {
			if deadline = a.send(); time.Since(start) >= deadline {
				return slow
			}
		}
	}
	return done
}
