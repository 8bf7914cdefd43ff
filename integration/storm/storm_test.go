package storm

import (
	"flag"
	"math"
	"slices"
	"testing"
	"testing/synctest"
)

var update = flag.Bool("update", false, "write docs/resilience.md's tables and docs/resilience.svg; wants -tags full")

// bound is what chunkup must keep in a scene, besides aborting nothing. The zero
// value of a field asks for nothing.
type bound struct {
	amplification float64 // at most
	share         float64 // at least
	recovery      float64 // seconds, at most
}

// bounds are by scene.
var bounds = map[string]bound{
	"blackout":            {recovery: 35},
	"brownout to 30 %":    {recovery: 5},
	"fast reject at 30 %": {amplification: 2},
	"flaky path, p = 0.5": {share: 0.85},
	"slow shared uplink":  {share: 0.85, amplification: 1.5},
}

// chunkup keeps to its bounds in every scene.
func TestStorm(t *testing.T) {
	if *update && !full {
		t.Fatal("the figures of the documents come from -tags full")
	}
	scenes := Scenes(clients)
	results := make([][]Result, len(scenes))
	t.Run("scenes", func(t *testing.T) {
		for i, s := range scenes {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				results[i] = play(t, s)
				keeps(t, results[i][0])
				isHard(t, results[i])
			})
		}
	})
	if *update && !t.Failed() {
		write(t, slices.Concat(results...))
	}
}

// keeps holds chunkup to its bounds.
func keeps(t *testing.T, r Result) {
	f, want := r.Figures, bounds[r.Scene.Name]
	t.Logf("%+v", f)
	if want.amplification > 0 && f.Amplification > want.amplification {
		t.Errorf("amplification %.2f, want at most %v", f.Amplification, want.amplification)
	}
	if f.Share < want.share {
		t.Errorf("%.0f %% of the parts that were possible, want %.0f %%", 100*f.Share, 100*want.share)
	}
	if want.recovery > 0 && f.Recovery > want.recovery {
		t.Errorf("90 %% of goodput after %v s, want %v s", f.Recovery, want.recovery)
	}
	if f.Aborted > 0 {
		t.Errorf("%v uploads aborted", f.Aborted)
	}
	if r.Scene.Blackout {
		// In flight, the budget's capacity and what it earns, the breaker's probes.
		const probes = 8
		s := r.Scene
		most := float64(s.Clients) * (float64(2*s.Slots) + 0.5*s.During.Seconds() + probes)
		if f.Attempts > most {
			t.Errorf("%v attempts at a dead store, want at most %v", f.Attempts, most)
		}
	}
}

// isHard makes sure that the scene shows something: that others come to grief.
func isHard(t *testing.T, of []Result) {
	rivals := map[string]Figures{}
	for _, r := range of[1:] {
		rivals[r.Policy] = r.Figures
	}
	naive, sdk := rivals["naive"], rivals["AWS SDK v2 + manager"]
	s := of[0].Scene
	switch {
	case s.Uplink != nil:
		if naive.Share > 0.5 {
			t.Errorf("a fixed deadline gets %.0f %% done on a slow link", 100*naive.Share)
		}
		return
	case s.Sheds && naive.Amplification < 10:
		t.Errorf("naive retries amplify by %.1f only", naive.Amplification)
	case s.Capacity > 0 && !s.Sheds && !math.IsInf(naive.Recovery, 1):
		t.Errorf("naive retries recover in %v s", naive.Recovery)
	}
	if sdk.Aborted == 0 {
		t.Error("the SDK aborts nothing")
	}
}

// play runs all policies through a scene.
func play(t *testing.T, s Scene) []Result {
	var results []Result
	for i, p := range policies() {
		n := rivalSeeds
		if i == 0 {
			n = seeds
		}
		var figures []Figures
		var traces []*Trace
		for seed := range n {
			var trace *Trace
			synctest.Test(t, func(t *testing.T) { trace = Run(t.Context(), s, p, uint64(seed)) })
			figures, traces = append(figures, Measure(trace)), append(traces, trace)
		}
		results = append(results, Result{Scene: s, Policy: p.Name, Figures: Median(figures), Mean: Mean(traces)})
	}
	return results
}
