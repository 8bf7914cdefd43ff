package lanes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/lanes"
)

const mb = 1e6

// path is a link and the store behind it. The link is shared evenly among the
// parts under way.
type path struct {
	total    float64       // bytes per second of all connections together
	each     float64       // bytes per second of one
	noise    float64       // the total varies by this share of it, anew every fifth tick
	part     float64       // bytes of a part
	answer   time.Duration // from the last byte to the answer
	reset    float64       // share of the attempts that end somewhere with a reset
	throttle float64       // share of the attempts that are throttled for no reason of ours
	accepts  int           // attempts at once that the store does not throttle, 0 = all
	allows   float64       // attempts a second that the store does not throttle, a second's worth at once; 0 = all
	late     bool          // it throttles when it has the whole part
	deadline time.Duration // of an attempt, 0 = none
	tick     time.Duration // how fine time is
	seed     uint64        // of all chance
}

// world presses parts through a gate over a path, in fake time. It plays the same
// whenever it is played: all chance is in one goroutine and from a seed, and the
// parts, which wait in goroutines of their own, go in and come out in their order.
type world struct {
	path
	gate    *lanes.Gate
	rand    *rand.Rand
	parts   []*part
	seconds []second
	allowed float64 // attempts that the store would let in now

	mu      sync.Mutex
	granted []grant
}

type grant struct {
	part *part
	lane *lanes.Lane
}

// second is what was seen in one.
type second struct {
	limit    int     // at its end
	goodput  float64 // bytes
	overload int     // attempts that ended so
	done     int     // and so many parts arrived
}

// part is one attempt after another of one upload.
type part struct {
	index   int
	lane    *lanes.Lane // nil while waiting
	left    float64     // bytes to go
	stop    float64     // bytes to go at which it fails
	fails   lanes.Outcome
	since   time.Time // in the lane
	until   time.Time // waiting for the answer, or to come back
	pending bool      // at the gate
	retry   bool
}

// newWorld keeps as many parts pending as an upload of endless size would.
func newWorld(p path, o lanes.Options) *world {
	w := &world{path: p, gate: lanes.New(o), rand: rand.New(rand.NewPCG(1, p.seed))}
	for i := range 128 {
		w.parts = append(w.parts, &part{index: i})
	}
	return w
}

// play lets seconds pass. change, if any, may alter the path before each.
func (w *world) play(ctx context.Context, seconds int, change func(second int, p *path)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for s := range seconds {
		if change != nil {
			change(s, &w.path)
		}
		w.seconds = append(w.seconds, second{})
		scale := 1.0
		for i := range int(time.Second / w.tick) {
			if i%5 == 0 {
				scale = 1 + w.noise*(2*w.rand.Float64()-1)
			}
			w.allowed = min(w.allowed+w.allows*w.tick.Seconds(), max(w.allows, 1))
			w.press(ctx)
			w.carry(scale)
			time.Sleep(w.tick)
		}
		w.seconds[s].limit = w.gate.Limit()
	}
}

// press sends to the gate what has to go there, and begins what it let in.
func (w *world) press(ctx context.Context) {
	for _, p := range w.parts {
		if p.lane == nil && !p.pending && !time.Now().Before(p.until) {
			p.pending = true
			go func() {
				lane, err := w.gate.Acquire(ctx, p.retry)
				if err != nil {
					return
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				w.granted = append(w.granted, grant{p, lane})
			}()
			synctest.Wait() // it has its place in the queue
		}
	}
	synctest.Wait()
	slices.SortFunc(w.granted, func(a, b grant) int { return a.part.index - b.part.index })
	for _, g := range w.granted {
		w.begin(g.part, g.lane)
	}
	w.granted = nil
}

func (w *world) sending(p *part) bool { return p.lane != nil && p.left > p.stop }

func (w *world) begin(p *part, lane *lanes.Lane) {
	under := 0
	for _, q := range w.parts {
		if q != p && w.sending(q) {
			under++
		}
	}
	*p = part{index: p.index, lane: lane, left: w.part, fails: lanes.Success, since: time.Now()}
	switch {
	case w.accepts > 0 && under >= w.accepts, !w.isAllowed(), w.rand.Float64() < w.throttle:
		p.fails = lanes.Throttled
		if !w.late {
			p.stop = w.part
		}
	case w.rand.Float64() < w.reset:
		p.stop, p.fails = w.part*w.rand.Float64(), lanes.Ignored
	}
	p.until = time.Now().Add(w.answer)
}

// isAllowed asks a store that counts attempts.
func (w *world) isAllowed() bool {
	if w.allows == 0 {
		return true
	}
	if w.allowed < 1 {
		return false
	}
	w.allowed--
	return true
}

// carry moves a tick's worth of bytes and ends what has come to its end.
func (w *world) carry(scale float64) {
	n := 0.0
	for _, p := range w.parts {
		if w.sending(p) {
			n++
		}
	}
	share := min(w.each, scale*w.total/n) * w.tick.Seconds()
	now := &w.seconds[len(w.seconds)-1]
	for _, p := range w.parts {
		switch {
		case p.lane == nil:
		case w.sending(p):
			m := min(share, p.left-p.stop)
			p.left -= m
			now.goodput += m
			w.gate.Moved(int(m))
			p.until = time.Now().Add(w.answer)
			if w.deadline > 0 && time.Since(p.since) >= w.deadline {
				w.end(p, lanes.Overload)
			}
		case p.fails == lanes.Ignored || !time.Now().Before(p.until):
			w.end(p, p.fails)
		}
	}
}

func (w *world) end(p *part, o lanes.Outcome) {
	switch now := &w.seconds[len(w.seconds)-1]; o {
	case lanes.Overload, lanes.Throttled:
		now.overload++
	case lanes.Success:
		now.done++
	}
	p.lane.Release(o)
	*p = part{index: p.index, retry: o != lanes.Success}
	if p.retry {
		p.until = time.Now().Add(time.Duration(w.rand.Float64() * float64(500*time.Millisecond)))
	}
}

// String tells when the limit changed, and the goodput since the last time.
func (w *world) String() string {
	var b strings.Builder
	for i := 0; i < len(w.seconds); {
		j := i
		sum, over := 0.0, 0
		for ; j < len(w.seconds) && w.seconds[j].limit == w.seconds[i].limit; j++ {
			sum += w.seconds[j].goodput
			over += w.seconds[j].overload
		}
		fmt.Fprintf(&b, "%ds:%d(%.3g", i, w.seconds[i].limit, sum/mb/float64(j-i))
		if over > 0 {
			fmt.Fprintf(&b, " %d!", over)
		}
		b.WriteString(") ")
		i = j
	}
	return b.String()
}
