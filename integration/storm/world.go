package storm

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// world is one run of a scene: what all processes have in common.
type world struct {
	scene  Scene
	start  time.Time
	store  *store
	record *record
	dice   *dice
}

func newWorld(s Scene, seed uint64) *world {
	return &world{
		scene: s, start: time.Now(), store: &store{scene: s}, record: newRecord(s),
		dice: &dice{rand: rand.New(rand.NewPCG(seed, 1))},
	}
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// dice are random numbers in [0, 1) that are safe for concurrent use.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (d *dice) float() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.Float64()
}

// A Policy is a way to upload.
type Policy struct {
	Name  string
	start func(w *world) process
}

// process uploads without end, until ctx is over.
type process interface {
	run(ctx context.Context)
}

// gauge is what a process of chunkup shows of itself.
type gauge interface {
	gauges() (budget, lanes float64) // a share of the whole; a number
}

// Run plays the scene with processes that all follow one policy. It is meant for
// a bubble of testing/synctest: else it takes as long as it says.
func Run(ctx context.Context, s Scene, p Policy, seed uint64) *Trace {
	w := newWorld(s, seed)
	ctx, cancel := context.WithTimeout(ctx, s.over())
	defer cancel()
	var wg sync.WaitGroup
	var seen []gauge
	for range s.Clients {
		c := p.start(w)
		if g, ok := c.(gauge); ok {
			seen = append(seen, g)
		}
		wg.Go(func() {
			time.Sleep(time.Duration(w.dice.float() * float64(s.Window))) // they do not start as one
			c.run(ctx)
		})
	}
	wg.Go(func() { w.watch(ctx, seen) })
	wg.Wait()
	return w.record.trace()
}

// watch writes down once a step what the processes show.
func (w *world) watch(ctx context.Context, seen []gauge) {
	for len(seen) > 0 && ctx.Err() == nil {
		var budget, lanes float64
		for _, g := range seen {
			b, l := g.gauges()
			budget += b / float64(len(seen))
			lanes += l / float64(len(seen))
		}
		w.record.gauged(w.now(), budget, lanes)
		time.Sleep(w.scene.Step)
	}
}
