package storm

import (
	"sync"
	"time"
)

// Trace is what happened in a run, by steps of the scene's length.
type Trace struct {
	Scene    Scene
	Attempts []float64 // that began
	Done     []float64 // parts that were answered with success
	Budget   []float64 // mean level, as a share of the capacity; nil if the policy has none
	Lanes    []float64 // mean limit
	Aborted  int       // uploads
	Wasted   int       // parts of these that had been done
	Finished int       // uploads
}

// record takes down a Trace. It is safe for concurrent use.
type record struct {
	mu sync.Mutex
	t  Trace
}

func newRecord(s Scene) *record {
	n := int(s.over() / s.Step)
	return &record{t: Trace{Scene: s, Attempts: make([]float64, n), Done: make([]float64, n)}}
}

func (r *record) add(series []float64, at time.Duration) {
	if i := int(at / r.t.Scene.Step); i < len(series) {
		r.mu.Lock()
		defer r.mu.Unlock()
		series[i]++
	}
}

func (r *record) attempted(at time.Duration) { r.add(r.t.Attempts, at) }
func (r *record) done(at time.Duration)      { r.add(r.t.Done, at) }

func (r *record) aborted(parts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Aborted++
	r.t.Wasted += parts
}

func (r *record) finished() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Finished++
}

func (r *record) gauged(at time.Duration, budget, lanes float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.t.Budget) < len(r.t.Done) {
		r.t.Budget = append(r.t.Budget, budget)
		r.t.Lanes = append(r.t.Lanes, lanes)
	}
}

func (r *record) trace() *Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &r.t
}
