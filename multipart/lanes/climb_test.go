package lanes_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/lanes"
)

const mib = 1 << 20

// rig keeps a gate busy: all lanes are taken and somebody waits, unless told
// otherwise.
type rig struct {
	*lanes.Gate
	t     *testing.T
	lanes chan *lanes.Lane
	held  []*lanes.Lane
	quiet bool // nobody comes any more
}

func newRig(t *testing.T, o lanes.Options) *rig {
	r := &rig{Gate: lanes.New(o), t: t, lanes: make(chan *lanes.Lane, 1000)}
	r.fill()
	return r
}

// fill takes all lanes and leaves somebody waiting.
func (r *rig) fill() {
	for !r.quiet {
		go func() {
			if l, err := r.Acquire(r.t.Context(), false); err == nil {
				r.lanes <- l
			}
		}()
		synctest.Wait()
		before := len(r.held)
		r.collect()
		if len(r.held) == before {
			return
		}
	}
	r.collect()
}

func (r *rig) collect() {
	for len(r.lanes) > 0 {
		r.held = append(r.held, <-r.lanes)
	}
}

// end releases the n lanes that were taken first, or those that were taken last
// if n is negative, and others take their place.
func (r *rig) end(n int, o lanes.Outcome) {
	for range max(n, -n) {
		i := 0
		if n < 0 {
			i = len(r.held) - 1
		}
		l := r.held[i]
		r.held = slices.Delete(r.held, i, i+1)
		l.Release(o)
		synctest.Wait()
		r.collect()
		r.fill()
	}
}

// second lets a second pass in which so many MiB move, and returns the limit
// after it.
func (r *rig) second(m float64) int { return r.tenths(10, m) }

// tenths is so many tenths of such a second.
func (r *rig) tenths(n int, m float64) int {
	for range n {
		time.Sleep(100 * time.Millisecond)
		r.Moved(int(m * mib / 10))
	}
	synctest.Wait()
	r.collect()
	r.fill()
	return r.Limit()
}

// A second is a row: so much moved, such was the limit after it.
type row struct {
	mib  float64
	want int
}

func times(n int, r row) []row { return slices.Repeat([]row{r}, n) }

// brisk is what the rows are multiplied by where nobody shall be in haste: each
// lane then carries more than haste is for.
const brisk = 20

func TestClimb(t *testing.T) {
	for name, c := range map[string]struct {
		o    lanes.Options
		rows []row
	}{
		"doubles while that pays": {rows: []row{
			{80, 8}, {80, 16}, {150, 16}, {160, 32}, {300, 32}, {320, 64}, {600, 64}, {640, 64}, {640, 64}, {640, 64},
		}},
		"the windows to settle are not judged": {rows: []row{
			{1000, 8}, {80, 16}, {8 + 8, 16}, {160, 32},
		}},
		"a fifth of the linear gain is enough": {rows: []row{
			{100, 8}, {100, 16}, {100, 16}, {121, 32},
		}},
		"less is not": {rows: []row{
			{100, 8}, {100, 16}, {100, 16}, {119, 8},
		}},
		"falling goodput goes back": {rows: []row{
			{100, 8}, {100, 16}, {50, 16}, {50, 8},
		}},
		"the next trial is later and smaller": {rows: slices.Concat(
			[]row{{100, 8}, {100, 16}, {100, 16}, {100, 8}}, times(29, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {109, 8}}, times(59, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {111, 18}},
		)},
		"and later still, up to four minutes": {rows: slices.Concat(
			[]row{{100, 8}, {100, 16}, {100, 16}, {100, 8}}, times(29, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {100, 8}}, times(59, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {100, 8}}, times(119, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {100, 8}}, times(239, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {100, 8}}, times(239, row{100, 8}),
			[]row{{100, 12}},
		)},
		"a trial has to beat the best window": {rows: slices.Concat(
			[]row{{100, 8}, {100, 16}, {100, 16}, {100, 8}, {100, 8}, {130, 8}}, times(27, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {131, 8}},
		)},
		"of the time since the last one": {rows: slices.Concat(
			[]row{{100, 8}, {100, 16}, {100, 16}, {100, 8}}, times(29, row{50, 8}),
			[]row{{50, 12}, {50, 12}, {56, 18}},
		)},
		"a success makes the wait short again": {rows: slices.Concat(
			[]row{{100, 8}, {100, 16}, {100, 16}, {100, 8}}, times(29, row{100, 8}),
			[]row{{100, 12}, {100, 12}, {111, 18}, {111, 18}, {111, 12}}, times(29, row{111, 12}),
			[]row{{111, 18}},
		)},
		"half as much again ends the wait": {rows: []row{
			{100, 8}, {100, 16}, {100, 16}, {100, 8}, {100, 8}, {149, 8}, {151, 12}, {151, 12}, {180, 18},
		}},
		"never above Max": {o: lanes.Options{Max: 20}, rows: []row{
			{80, 8}, {80, 16}, {150, 16}, {160, 20}, {160, 20}, {200, 20}, {400, 20}, {800, 20},
		}},
		"from one": {o: lanes.Options{Start: 1}, rows: []row{
			{10, 1}, {10, 2}, {20, 2}, {20, 4}, {20, 4}, {20, 2},
		}},
		"from one, after a trial in vain": {o: lanes.Options{Start: 1}, rows: slices.Concat(
			[]row{{10, 1}, {10, 2}, {10, 2}, {10, 1}}, times(29, row{10, 1}), []row{{10, 2}},
		)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.o)
				for i, row := range c.rows {
					// A hair more, for what is lost in integers.
					if got := r.second(brisk * row.mib * 1.0001); got != row.want {
						t.Fatalf("second %d: limit %d, want %d", i, got, row.want)
					}
				}
			})
		})
	}
}

func TestWindowHoldsAMebibytePerLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		for i, want := range slices.Concat(slices.Repeat([]int{8}, 15), slices.Repeat([]int{16}, 32), []int{8}) {
			if got := r.second(1.0001); got != want {
				t.Fatalf("second %d: limit %d, want %d", i, got, want)
			}
		}
	})
}

// More lanes are of no use to those who do not use what there is.
func TestNoClimbWithoutDemand(t *testing.T) {
	t.Run("nobody waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := lanes.New(lanes.Options{})
			for range 8 {
				mustAcquire(t, g)
			}
			for range 10 {
				time.Sleep(time.Second)
				g.Moved(100 * mib)
			}
			if g.Limit() != 8 {
				t.Errorf("limit %d", g.Limit())
			}
		})
	})
	t.Run("lanes were free part of the time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lanes.Options{})
			r.second(brisk * 100) // settles
			r.quiet = true
			for r.Held() > 6 { // those who wait go in first
				r.end(1, lanes.Success)
			}
			time.Sleep(500 * time.Millisecond)
			r.quiet = false
			r.fill()
			if got := r.second(brisk * 100); got != 8 {
				t.Errorf("limit %d", got)
			}
			if got := r.second(brisk * 100); got != 16 {
				t.Errorf("limit %d after a busy window, want 16", got)
			}
		})
	})
	t.Run("a trial that nobody uses is undone, and not held against it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lanes.Options{})
			r.second(brisk * 100)
			if r.second(brisk*100) != 16 || r.second(brisk*200) != 16 {
				t.Fatalf("limit %d, want 16", r.Limit())
			}
			r.quiet = true
			r.end(10, lanes.Success)
			if got := r.second(brisk * 200); got != 8 {
				t.Errorf("limit %d", got)
			}
			r.quiet = false
			r.fill()
			r.second(brisk * 100)
			if got := r.second(brisk * 100); got != 16 {
				t.Errorf("limit %d when there is demand again, want 16", got)
			}
		})
	})
}

// An answer is worth a quarter of a mebibyte: where the parts are small, there is
// little else.
func TestAnswersFillWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		r.end(1, lanes.Overload) // no haste any more
		r.end(7+4+5+7+8, lanes.Success)
		for i, want := range []int{8, 8, 8, 8, 8, 8, 16} { // one window settles, one counts
			r.end(4, lanes.Success)
			r.end(4, lanes.Ignored)
			if got := r.second(1.0001); got != want {
				t.Fatalf("limit %d after %d s, want %d", got, i+1, want)
			}
		}
	})
}

// A slow link ends windows while parts are under way, not only at their ends.
func TestMovedEndsWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lanes.Options{})
		time.Sleep(2 * time.Second)
		r.Moved(16 * mib)
		time.Sleep(2 * time.Second)
		r.Moved(16 * mib)
		synctest.Wait()
		if r.Limit() != 16 || r.Held() != 9 {
			t.Errorf("%d held of %d, want 9 of 16: the one who waited and all before", r.Held(), r.Limit())
		}
	})
}

func ExampleGate() {
	g := lanes.New(lanes.Options{Max: 32}) // one for all uploads to an endpoint
	lane, err := g.Acquire(context.Background(), false)
	if err != nil {
		fmt.Println("cancelled while waiting:", err)
		return
	}
	g.Moved(1 << 16) // as the bytes of the part leave
	fmt.Println(g.Held(), "of", g.Limit())
	lane.Release(lanes.Overload) // the deadline was missed: it is too much for the link
	fmt.Println(g.Held(), "of", g.Limit())
	// Output:
	// 1 of 8
	// 0 of 4
}
