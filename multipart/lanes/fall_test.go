package lanes_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/lanes"
)

// A step of these tables ends the n lanes that have been taken for longest, or
// the last ones if n is negative, in one way, after which the limit is want.
type step struct {
	n    int
	o    lanes.Outcome
	want int
}

// slow stands for [lanes.Gate.SlowStart] in a table, want being the limit.
const slow = lanes.Outcome(255)

func TestFall(t *testing.T) {
	const ok, over, ignored = lanes.Success, lanes.Overload, lanes.Ignored
	for name, c := range map[string]struct {
		start int
		steps []step
	}{
		"an overload halves":                     {16, []step{{1, over, 8}}},
		"rounded down":                           {9, []step{{1, over, 4}}},
		"to no less than one":                    {1, []step{{1, over, 1}, {1, over, 1}}},
		"sixteen together halve once":            {16, []step{{16, over, 8}}},
		"those taken since halve again":          {16, []step{{16, over, 8}, {8, over, 4}, {4, over, 2}, {2, over, 1}, {1, over, 1}}},
		"what breaks changes nothing":            {8, []step{{40, ignored, 8}}},
		"old successes are no round":             {8, []step{{1, over, 4}, {7, ok, 4}, {3, ok, 4}, {1, ok, 5}}},
		"rounds add one, two, three":             {32, []step{{1, over, 16}, {31, ok, 16}, {16, ok, 17}, {17, ok, 19}, {19, ok, 22}, {22, ok, 26}, {26, ok, 31}, {31, ok, 32}, {100, ok, 32}}},
		"an overload begins the rounds anew":     {32, []step{{1, over, 16}, {31, ok, 16}, {16, ok, 17}, {17, ok, 19}, {1, over, 9}, {18, ok, 9}, {9, ok, 10}}},
		"what breaks does not end a round":       {8, []step{{1, over, 4}, {7, ok, 4}, {3, ok, 4}, {9, ignored, 4}, {1, ok, 5}}},
		"one throttle is no wall":                {16, []step{{1, over, 8}, {15, ok, 8}, {8, ok, 9}, {9, ok, 11}, {11, ok, 14}, {14, ok, 16}}},
		"half of them is none":                   {16, []step{{8, over, 8}, {8, ok, 8}, {8, ok, 9}, {9, ok, 11}, {11, ok, 14}, {14, ok, 16}}},
		"most of them is a wall":                 {16, []step{{9, over, 8}, {7, ok, 8}, {8, ok, 9}, {9, ok, 11}, {11, ok, 14}, {14, ok, 15}, {60, ok, 15}}},
		"one of one is no wall":                  {2, []step{{1, over, 1}, {1, ok, 1}, {1, over, 1}, {1, ok, 2}}},
		"two of two are":                         {2, []step{{2, over, 1}, {10, ok, 1}}},
		"overloads from before that are none":    {8, []step{{1, over, 4}, {7, ok, 4}, {4, ok, 5}, {0, slow, 1}, {5, over, 1}, {1, ok, 2}, {2, ok, 3}, {3, ok, 5}, {5, ok, 8}}},
		"nor those from before the last but one": {16, []step{{1, over, 8}, {8, ok, 8}, {-1, over, 4}, {7, over, 4}, {4, ok, 5}, {5, ok, 7}, {7, ok, 10}, {10, ok, 14}, {14, ok, 16}}},

		"slow start doubles to the half":               {32, []step{{0, slow, 1}, {32, ok, 1}, {1, ok, 2}, {1, ok, 4}, {1, ok, 8}, {1, ok, 16}, {1, ok, 16}}},
		"and climbs in rounds from there":              {8, []step{{0, slow, 1}, {8, ok, 1}, {1, ok, 2}, {1, ok, 4}, {3, ok, 4}, {1, ok, 5}, {5, ok, 7}, {7, ok, 8}}},
		"lanes from before neither double nor halve":   {8, []step{{0, slow, 1}, {2, ok, 1}, {4, over, 1}, {2, ignored, 1}, {1, ok, 2}}},
		"slow start within slow start":                 {32, []step{{0, slow, 1}, {32, ok, 1}, {1, ok, 2}, {1, ok, 4}, {0, slow, 1}, {4, ok, 1}, {1, ok, 2}, {1, ok, 4}, {1, ok, 8}, {1, ok, 16}, {1, ok, 16}}},
		"an overload ends it":                          {32, []step{{0, slow, 1}, {32, ok, 1}, {1, ok, 2}, {1, ok, 4}, {1, ok, 8}, {1, over, 4}, {7, ok, 4}, {3, ok, 4}, {1, ok, 5}}},
		"half of what it was, not of what it has been": {16, []step{{1, over, 8}, {15, ok, 8}, {0, slow, 1}, {8, ok, 1}, {1, ok, 2}, {1, ok, 4}, {1, ok, 4}, {3, ok, 5}}},
		"slow start of one lane":                       {1, []step{{0, slow, 1}, {5, ok, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lanes.Options{Start: c.start})
				for i, s := range c.steps {
					if s.o == slow {
						r.SlowStart()
					}
					r.end(s.n, s.o)
					if got := r.Limit(); got != s.want {
						t.Fatalf("step %d: limit %d, want %d", i, got, s.want)
					}
				}
			})
		})
	}
}

// After a fall, only a trial leads beyond the level from which it was.
func TestTrialAfterRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.second(brisk * 80)
		r.end(1, lanes.Overload)
		r.end(7, lanes.Success)
		r.end(4+5+7, lanes.Success)
		got := fmt.Sprint(r.Limit(), r.second(brisk*80), r.second(brisk*80), r.second(brisk*160), r.second(brisk*160))
		if want := "8 8 16 16 32"; got != want {
			t.Errorf("limits %s, want %s", got, want)
		}
	})
}

// An overload during a trial is the trial's failure: half of it, no more than
// the level it began from, and the pause.
func TestOverloadInTrial(t *testing.T) {
	for _, c := range []struct {
		name string
		fall func(r *rig)
	}{
		{"overload", func(r *rig) { r.end(1, lanes.Overload) }},
		{"slow start", func(r *rig) {
			r.SlowStart()
			r.end(16, lanes.Ignored)
			r.end(1+1+1, lanes.Success)
			if got := r.Limit(); got != 4 { // half of the level, not of the trial
				r.t.Errorf("limit %d, want 4", got)
			}
			r.end(3+5+7, lanes.Success)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lanes.Options{})
				r.second(brisk * 80)
				if got := r.second(brisk * 80); got != 16 {
					t.Fatalf("limit %d, want a trial of 16", got)
				}
				c.fall(r)
				if got := r.Limit(); got != 8 {
					t.Fatalf("limit %d, want 8", got)
				}
				began := time.Now()
				r.end(16+8, lanes.Success)
				for r.second(brisk*80) == 8 {
				}
				if took := time.Since(began); r.Limit() != 12 || took < 30*time.Second || took > 31*time.Second {
					t.Errorf("limit %d after %v, want 12 after 30 s", r.Limit(), took)
				}
			})
		})
	}
}

// What was taken before the last decrease may end much later, in a trial of
// today: that trial is still to be judged.
func TestLateOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.second(brisk * 80)
		late := r.held[0]
		r.held = r.held[1:]
		r.end(4, lanes.Overload) // with late, most of them
		r.end(3+4+5+7, lanes.Success)
		r.second(brisk * 80)
		if got := r.second(brisk * 80); got != 16 {
			t.Fatalf("limit %d, want a trial of 16", got)
		}
		late.Release(lanes.Overload)
		r.second(brisk * 80)
		if got := r.second(brisk * 80); got != 8 {
			t.Errorf("limit %d, want 8 after a trial in vain", got)
		}
	})
}

// A level to which an overload has led has to do some good before more is tried.
func TestNoTrialBeforeSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{Start: 1})
		r.end(3, lanes.Success)
		r.end(1, lanes.Overload)
		for range 100 {
			if got := r.second(10); got != 1 {
				t.Fatalf("limit %d", got)
			}
		}
		r.end(1, lanes.Success)
		if got := r.second(10); got != 2 {
			t.Errorf("limit %d after a success, want 2", got)
		}
	})
}

// The first window at a level to which the limit fell is not judged: more lanes
// are taken in it.
func TestFallSettles(t *testing.T) {
	for start := 1; start <= 2; start++ { // by an overload, by a wall
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lanes.Options{Start: start})
			r.end(start, lanes.Overload)
			r.end(1, lanes.Success)
			if a, b := r.second(brisk*10), r.second(brisk*10); a != 1 || b != 2 {
				t.Errorf("from %d: limit %d, then %d, want 1, then 2", start, a, b)
			}
		})
	}
}

// A wall in a trial is beyond the level, and does not move it.
func TestWallInTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		for range 34 {
			r.second(brisk * 80)
		}
		if r.second(brisk*80) != 12 {
			t.Fatalf("limit %d, want a trial of 12", r.Limit())
		}
		r.end(12, lanes.Overload)
		r.end(6+7+8, lanes.Success)
		if got := r.Limit(); got != 8 {
			t.Errorf("limit %d, want 8", got)
		}
	})
}
