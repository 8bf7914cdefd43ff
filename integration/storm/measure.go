package storm

import (
	"math"
	"slices"
	"time"
)

// Figures sum up a run.
type Figures struct {
	Before        float64 // parts a second, in the half of Scene.Before that ends with the fault's beginning
	Attempts      float64 // begun in the fault
	Done          float64 // parts done in the fault
	Amplification float64 // Attempts ÷ Done; infinite if nothing was done
	Share         float64 // Done ÷ Scene.Possible; NaN if nothing is possible
	Recovery      float64 // seconds from the end of the fault to the first window with 90 % of Before; infinite if there is none
	After         float64 // goodput from then on to the end of the record, as a share of Before
	Aborted       float64 // uploads, in the whole run
	Wasted        float64 // parts of these, in the whole run
}

// Measure sums up a run.
func Measure(t *Trace) Figures {
	s := t.Scene
	f := Figures{
		Before:   t.sum(t.Done, s.begins()-s.Before/2, s.begins()) / (s.Before / 2).Seconds(),
		Attempts: t.sum(t.Attempts, s.begins(), s.ends()),
		Done:     t.sum(t.Done, s.begins(), s.ends()),
		Recovery: math.Inf(1),
		Aborted:  float64(t.Aborted), Wasted: float64(t.Wasted),
	}
	f.Amplification = f.Attempts / f.Done
	f.Share = f.Done / s.Possible()
	f.After = t.sum(t.Done, s.ends(), s.over()) / s.After.Seconds() / f.Before
	for from := s.ends(); from+s.Window <= s.over(); from += s.Step {
		if t.sum(t.Done, from, from+s.Window) >= 0.9*f.Before*s.Window.Seconds() {
			f.Recovery = (from - s.ends()).Seconds()
			break
		}
	}
	return f
}

// sum adds up a series from one time to another.
func (t *Trace) sum(series []float64, from, to time.Duration) float64 {
	var sum float64
	for _, v := range series[from/t.Scene.Step : to/t.Scene.Step] {
		sum += v
	}
	return sum
}

// Median takes the median of every figure.
func Median(runs []Figures) Figures {
	of := func(get func(Figures) float64) float64 {
		values := make([]float64, len(runs))
		for i, f := range runs {
			values[i] = get(f)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return Figures{
		Before:        of(func(f Figures) float64 { return f.Before }),
		Attempts:      of(func(f Figures) float64 { return f.Attempts }),
		Done:          of(func(f Figures) float64 { return f.Done }),
		Amplification: of(func(f Figures) float64 { return f.Amplification }),
		Share:         of(func(f Figures) float64 { return f.Share }),
		Recovery:      of(func(f Figures) float64 { return f.Recovery }),
		After:         of(func(f Figures) float64 { return f.After }),
		Aborted:       of(func(f Figures) float64 { return f.Aborted }),
		Wasted:        of(func(f Figures) float64 { return f.Wasted }),
	}
}

// Mean is the mean of the records of some runs of a scene.
func Mean(runs []*Trace) *Trace {
	mean := &Trace{Scene: runs[0].Scene}
	of := func(get func(*Trace) []float64) []float64 {
		out := make([]float64, len(get(runs[0])))
		for _, t := range runs {
			for i, v := range get(t)[:len(out)] {
				out[i] += v / float64(len(runs))
			}
		}
		return out
	}
	mean.Attempts = of(func(t *Trace) []float64 { return t.Attempts })
	mean.Done = of(func(t *Trace) []float64 { return t.Done })
	mean.Budget = of(func(t *Trace) []float64 { return t.Budget })
	mean.Lanes = of(func(t *Trace) []float64 { return t.Lanes })
	return mean
}
