package lanes_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/lanes"
)

// In these tables a row is a fifth of a second, in which bytes move at so many
// MiB a second.
func TestHaste(t *testing.T) {
	for name, rows := range map[string][]row{
		"doubles while that plainly pays": {
			{80, 8}, {80, 16}, {160, 16}, {160, 32}, {320, 32}, {320, 64}, {640, 64}, {640, 64},
		},
		"half of the linear gain is plain": {
			{100, 8}, {100, 16}, {100, 16}, {151, 32},
		},
		"with less the whole window decides": slices.Concat(
			[]row{{100, 8}, {100, 16}, {100, 16}}, times(8, row{149, 16}), []row{{149, 32}},
		),
		"new connections have the time that they need": slices.Concat(
			[]row{{100, 8}, {100, 16}}, times(7, row{100, 16}), []row{{200, 32}},
		),
		"what has come off is not judged by the window in which it was tried": {
			{100, 8}, {100, 16}, {200, 16}, {200, 32}, {200, 32}, {301, 64},
		},
		"none without a mebibyte per lane": slices.Concat(
			times(3, row{20, 8}), []row{{20, 16}}, times(3, row{20, 16}), []row{{20, 16}},
		),
		"none where each lane carries a lot": slices.Concat(
			times(9, row{500, 8}), []row{{500, 16}},
		),
		"none after a trial in vain": slices.Concat(
			[]row{{100, 8}, {100, 16}}, times(9, row{100, 16}), []row{{100, 8}}, times(149, row{100, 8}),
			[]row{{100, 12}}, times(9, row{200, 12}), []row{{200, 18}},
		),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lanes.Options{})
				for i, row := range rows {
					if got := r.tenths(2, row.mib*1.0001); got != row.want {
						t.Fatalf("row %d: limit %d, want %d", i, got, row.want)
					}
				}
			})
		})
	}
}

// Of small parts the answers say how many lanes there should be. A row is the time
// that each takes: so many limits after it and the next ones.
func TestHasteOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		want  []int
	}{
		"one for each lane settles, one counts": {50 * time.Millisecond, []int{8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 256}},
		"as it does where they are late":        {time.Second, []int{8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 256}},
		"a moment is no window":                 {10 * time.Millisecond, []int{8, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 32}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lanes.Options{Max: 256})
				for i, want := range c.want {
					time.Sleep(c.takes)
					r.end(len(r.held), lanes.Success)
					if got := r.Limit(); got != want {
						t.Fatalf("answer %d: limit %d, want %d", i, got, want)
					}
				}
			})
		})
	}
}

// A window in which lanes were free says nothing in haste either.
func TestNoHasteWithoutDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.tenths(2, 80)
		r.quiet = true
		r.end(4, lanes.Success)
		if got := r.tenths(2, 80); got != 8 {
			t.Errorf("limit %d", got)
		}
	})
}

// Nor is there any when the limit has fallen once: that bytes move does not say
// that they are answered.
func TestNoHasteAfterFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.end(1, lanes.Overload)
		r.end(7+4+5+7+8, lanes.Success)
		if got := r.tenths(9, 80); got != 8 {
			t.Errorf("limit %d after 0.9 s, want 8", got)
		}
		if got := r.tenths(11, 80); got != 16 {
			t.Errorf("limit %d after 2 s, want 16", got)
		}
	})
}

// Where the store does not keep up with what it takes in, haste was wrong: when the
// answers have shown that, the limit goes back to where it began, and patience
// takes over.
func TestHasteIsDoubted(t *testing.T) {
	for name, c := range map[string]struct {
		first float64
		mib   float64
		want  []int
	}{
		"no better than before":       {80, 80, []int{64, 8, 8, 8}},
		"a fifth of the linear gain":  {80, 187, []int{64, 64, 64, 64}},
		"somewhat less":               {80, 185, []int{64, 8, 8, 8}},
		"less than where haste began": {80, 40, []int{64, 8, 8, 8}},
		"that one was slow to begin":  {40, 185, []int{64, 8, 8, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lanes.Options{})
				for _, m := range []float64{c.first, c.first, 160, 160, 320, 320, 640, 640} {
					r.tenths(2, m*1.0001)
				}
				r.tenths(4, c.mib)
				r.end(63, lanes.Success)
				got := []int{r.tenths(20, c.mib)}
				r.end(1, lanes.Success)
				got = append(got, r.tenths(20, c.mib), r.second(c.mib), r.second(c.mib))
				if !slices.Equal(got, c.want) {
					t.Errorf("limits %v, want %v", got, c.want)
				}
			})
		})
	}
}
