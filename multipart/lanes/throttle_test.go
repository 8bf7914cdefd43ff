package lanes_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/chunkup/chunkup/multipart/lanes"
)

// A throttle counts for as much as the lanes that were taken without one leave it.
func TestThrottled(t *testing.T) {
	const ok, over, ignored = lanes.Success, lanes.Throttled, lanes.Ignored
	for name, c := range map[string]struct {
		start int
		steps []step
	}{
		"one is chance":                       {16, []step{{1, over, 16}, {40, ok, 16}, {2, over, 16}, {40, ok, 16}, {1, over, 16}}},
		"one in thirteen is":                  {16, slices.Repeat([]step{{1, over, 16}, {12, ok, 16}}, 30)},
		"one in eight is not":                 {16, slices.Concat(slices.Repeat([]step{{1, over, 16}, {7, ok, 16}}, 10), []step{{1, over, 8}})},
		"so many in a row halve 16":           {16, []step{{4, over, 16}, {1, over, 8}}},
		"rounded down":                        {9, []step{{3, over, 9}, {1, over, 4}}},
		"of many lanes, more":                 {64, []step{{8, over, 64}, {1, over, 32}}},
		"of few, two":                         {4, []step{{1, over, 4}, {1, over, 2}}},
		"of three, the first":                 {3, []step{{1, over, 1}}},
		"to no less than one":                 {1, []step{{1, over, 1}, {1, over, 1}}},
		"those taken since are no excuse":     {16, []step{{2, over, 16}, {3, ok, 16}, {2, over, 16}, {1, over, 8}}},
		"lanes not used are no excuse":        {16, []step{{2, over, 16}, {40, ignored, 16}, {2, over, 16}, {1, over, 8}}},
		"one on the way back is chance":       {4, []step{{1, lanes.Overload, 2}, {3, ok, 2}, {2, ok, 3}, {1, over, 1}, {60, ok, 4}}},
		"sixteen together halve once":         {16, []step{{16, over, 8}}},
		"those taken since halve again":       {16, []step{{16, over, 8}, {4, over, 8}, {2, over, 8}, {1, over, 4}, {7, over, 4}, {1, over, 4}, {1, over, 2}, {3, over, 2}, {1, over, 1}}},
		"what breaks changes nothing":         {8, []step{{40, ignored, 8}}},
		"old successes are no round":          {8, []step{{3, over, 4}, {7, ok, 4}, {3, ok, 4}, {1, ok, 5}}},
		"rounds add one, two, three":          {32, []step{{7, over, 16}, {31, ok, 16}, {16, ok, 17}, {17, ok, 19}, {19, ok, 22}, {22, ok, 26}, {26, ok, 28}, {100, ok, 28}}},
		"one does not end a round":            {32, []step{{7, over, 16}, {31, ok, 16}, {15, ok, 16}, {1, over, 16}, {1, ok, 17}}},
		"a fall begins the rounds anew":       {32, []step{{7, over, 16}, {31, ok, 16}, {16, ok, 17}, {17, ok, 19}, {4, over, 19}, {1, over, 9}, {18, ok, 9}, {9, ok, 10}}},
		"what breaks does not end a round":    {8, []step{{3, over, 4}, {7, ok, 4}, {3, ok, 4}, {9, ignored, 4}, {1, ok, 5}}},
		"the way back ends an eighth below":   {16, []step{{5, over, 8}, {15, ok, 8}, {8, ok, 9}, {9, ok, 11}, {11, ok, 14}, {60, ok, 14}}},
		"or one":                              {4, []step{{2, over, 2}, {3, ok, 2}, {2, ok, 3}, {30, ok, 3}}},
		"and an eighth below what it got to":  {16, []step{{5, over, 8}, {15, ok, 8}, {8, ok, 9}, {9, ok, 11}, {3, over, 11}, {1, over, 5}, {10, ok, 5}, {5, ok, 6}, {6, ok, 8}, {8, ok, 10}, {60, ok, 10}}},
		"half of them is no wall":             {16, []step{{5, over, 8}, {15, ok, 8}, {4, over, 4}, {6, ok, 4}, {4, ok, 5}, {5, ok, 7}, {7, ok, 10}, {10, ok, 14}, {60, ok, 14}}},
		"a fall that goes on is no other way": {16, []step{{5, over, 8}, {15, ok, 8}, {3, over, 4}, {7, ok, 4}, {4, ok, 5}, {5, ok, 7}, {7, ok, 10}, {10, ok, 14}, {60, ok, 14}}},
		"most of them is a wall":              {16, []step{{5, over, 8}, {15, ok, 8}, {5, over, 4}, {5, ok, 4}, {4, ok, 5}, {5, ok, 7}, {60, ok, 7}}},
		"those from before that are none":     {8, []step{{3, over, 4}, {7, ok, 4}, {4, ok, 5}, {0, slow, 1}, {5, over, 1}, {1, ok, 2}, {2, ok, 3}, {3, ok, 5}, {5, ok, 7}}},

		"a fall ends it": {32, []step{{0, slow, 1}, {32, ok, 1}, {1, ok, 2}, {1, ok, 4}, {1, ok, 8}, {2, over, 8}, {1, over, 4}, {7, ok, 4}, {3, ok, 4}, {1, ok, 5}}},
		"half of what it was, not of what it has been": {16, []step{{5, over, 8}, {15, ok, 8}, {0, slow, 1}, {8, ok, 1}, {1, ok, 2}, {1, ok, 4}, {1, ok, 4}, {3, ok, 5}}},
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

// After a fall, only a trial leads beyond the level, when that has done without
// for four rounds.
func TestTrialAfterThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.end(3, lanes.Throttled)
		r.end(7, lanes.Success)
		r.end(4+5, lanes.Success)
		got := fmt.Sprint(r.Limit(), r.second(10), r.second(10), r.second(10))
		r.end(4*7-1, lanes.Success)
		got += fmt.Sprint(" ", r.second(10))
		r.end(1, lanes.Success)
		got += fmt.Sprint(" ", r.second(10), r.second(20), r.second(20))
		if want := "7 7 7 7 7 10 10 15"; got != want {
			t.Errorf("limits %s, want %s", got, want)
		}
	})
}

// A trial that is refused goes back to the level, and the next one is made when
// that has done without for four rounds, then eight, at most 64.
func TestThrottleInTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.second(brisk * 80)
		if got := r.second(brisk * 80); got != 16 {
			t.Fatalf("limit %d, want a trial of 16", got)
		}
		for _, rounds := range []int{4, 8, 16, 32, 64, 64} {
			trial := r.Limit()
			r.end(4, lanes.Throttled)
			if got := r.Limit(); got != trial {
				t.Fatalf("limit %d after 4 of %d, want %d", got, trial, trial)
			}
			r.end(1, lanes.Throttled)
			if got := r.Limit(); got != 8 {
				t.Fatalf("limit %d, want 8", got)
			}
			r.end(trial-1, lanes.Success) // taken before
			r.end(8*rounds-1, lanes.Success)
			if a, b, c := r.second(80), r.second(80), r.second(80); a != 8 || b != 8 || c != 8 {
				t.Fatalf("limits %d, %d, %d before %d rounds are over, want 8", a, b, c, rounds)
			}
			r.end(1, lanes.Success)
			if got := r.second(80); got != 12 {
				t.Fatalf("limit %d after %d rounds, want a trial of 12", got, rounds)
			}
		}
	})
}

// One that comes off makes the rounds few again.
func TestQuietIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.end(3, lanes.Throttled)
		r.end(7+4+5+4*7, lanes.Success)
		r.second(10)
		if got := r.second(10); got != 10 {
			t.Fatalf("limit %d, want a trial of 10", got)
		}
		r.second(20)
		if got := r.second(20); got != 15 {
			t.Fatalf("limit %d, want 10 to stay and a trial of 15", got)
		}
		r.end(5, lanes.Throttled)
		r.end(14+10*4, lanes.Success)
		r.second(20)
		if got := r.second(20); got != 15 {
			t.Errorf("limit %d after four rounds, want a trial of 15", got)
		}
	})
}

// What was taken before the last decrease may end much later, in a trial of
// today: that trial is still to be judged.
func TestLateThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		late := r.held[0]
		r.held = r.held[1:]
		r.end(4, lanes.Throttled) // with late, most of them
		r.end(5+4+5+4*7, lanes.Success)
		r.second(10)
		if got := r.second(10); got != 10 {
			t.Fatalf("limit %d, want a trial of 10", got)
		}
		late.Release(lanes.Throttled)
		r.second(10)
		if got := r.second(10); got != 7 {
			t.Errorf("limit %d, want 7 after a trial in vain", got)
		}
	})
}

// A level to which a throttle has led has to do some good before more is tried.
func TestNoTrialBeforeQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{Start: 1})
		r.end(3, lanes.Success)
		r.end(1, lanes.Throttled)
		r.end(3, lanes.Success)
		for range 100 {
			if got := r.second(10); got != 1 {
				t.Fatalf("limit %d", got)
			}
		}
		r.end(1, lanes.Success)
		if got := r.second(10); got != 2 {
			t.Errorf("limit %d after four successes, want 2", got)
		}
	})
}

// A store may refuse a part that it has read: those bytes have moved and done no
// good.
func TestRefusedIsNoGoodput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.second(brisk * 80)
		if r.second(brisk*80) != 16 || r.second(brisk*160) != 16 {
			t.Fatalf("limit %d, want a trial of 16", r.Limit())
		}
		r.end(1, lanes.Throttled)
		r.end(1, lanes.Success)
		if got := r.second(brisk * 160); got != 8 {
			t.Errorf("limit %d, want 8 when half of what moved was refused", got)
		}
	})
}
