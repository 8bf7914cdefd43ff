package storm

import (
	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
)

// Chunkup is this project: its real budget, breaker and lanes in the order of its
// engine.
func Chunkup() Policy {
	return Policy{"chunkup", func(w *world) process { return newEndpoint(w) }}
}

// Ablations are chunkup with one of the three left out: what the attempts end with
// is not told to it.
func Ablations() []Policy {
	return []Policy{
		{"chunkup without budget", func(w *world) process {
			e := newEndpoint(w)
			e.deaf(func(v *evidence) { v.budget = budget.Void })
			return e
		}},
		{"chunkup without breaker", func(w *world) process {
			e := newEndpoint(w)
			e.deaf(func(v *evidence) { v.breaker = breaker.Ignored })
			return e
		}},
		{"chunkup without lanes", func(w *world) process {
			e := newEndpoint(w)
			all := w.scene.Slots
			e.lanes = lanes.New(lanes.Options{Start: all, Max: all})
			e.breaker = breaker.New(breaker.Options{Rand: w.dice.float})
			e.deaf(func(v *evidence) { v.lanes = lanes.Ignored })
			return e
		}},
	}
}

// deaf keeps some of the evidence back.
func (e *endpoint) deaf(forget func(*evidence)) {
	e.counts = func(o outcome) evidence {
		v := evidenceOf(o)
		forget(&v)
		return v
	}
}

// Policies are all: chunkup first, then the rivals.
func Policies() []Policy { return append([]Policy{Chunkup()}, Rivals()...) }
