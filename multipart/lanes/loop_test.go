package lanes_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/lanes"
)

// simulate plays a path in a bubble of its own.
func simulate(t *testing.T, p path, o lanes.Options, seconds int, change func(second int, p *path)) *world {
	t.Helper()
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(p, o)
		w.play(t.Context(), seconds, change)
	})
	t.Log(w)
	return w
}

// seeds are as many as it takes for the one of the middle to be no matter of
// luck: in noise that is as large as the gain, a trial fails now and then although
// it should not, and is made again after half a minute.
const seeds = 9

// median plays what has chance in it from many seeds, and returns the figure of
// the middle.
func (p path) median(figure func(path) float64) float64 {
	if p.noise == 0 && p.reset == 0 && p.throttle == 0 {
		return figure(p)
	}
	var all []float64
	for p.seed = range seeds {
		all = append(all, figure(p))
	}
	slices.Sort(all)
	return all[seeds/2]
}

// between changes the path from one second until before another.
func (p path) between(from, to int, f func(*path)) func(int, *path) {
	return func(s int, now *path) {
		*now = p
		if from <= s && s < to {
			f(now)
		}
	}
}

// goodput is the mean from one second until before another, in bytes per second.
func (w *world) goodput(from, to int) float64 {
	sum := 0.0
	for _, s := range w.seconds[from:to] {
		sum += s.goodput
	}
	return sum / float64(to-from)
}

// done is how many parts arrived in a second.
func (w *world) done(from, to int) float64 {
	sum := 0.0
	for _, s := range w.seconds[from:to] {
		sum += float64(s.done)
	}
	return sum / float64(to-from)
}

// refused is the share of the attempts that were.
func (w *world) refused(from, to int) float64 {
	done, refused := 0.0, 0.0
	for _, s := range w.seconds[from:to] {
		done, refused = done+float64(s.done), refused+float64(s.overload)
	}
	return refused / (done + refused)
}

// most is the highest limit, changes is how often it changed, overloads how many
// attempts ended so.
func (w *world) figures() (most, changes, overloads int) {
	for i, s := range w.seconds {
		most = max(most, s.limit)
		overloads += s.overload
		if i > 0 && s.limit != w.seconds[i-1].limit {
			changes++
		}
	}
	return most, changes, overloads
}

// wide carries what 20 connections can.
var wide = path{total: 200 * mb, each: 10 * mb, part: 8 * mb, answer: 50 * time.Millisecond, tick: 50 * time.Millisecond}

func (p path) with(f func(*path)) path {
	f(&p)
	return p
}

// What any fixed number of lanes reaches is reached in ten seconds, but for a tenth.
func TestModelFindsTheBest(t *testing.T) {
	for name, p := range map[string]path{
		"20 connections' worth":         wide,
		"the same, unsteady":            wide.with(func(p *path) { p.noise = 0.2 }),
		"half of all attempts break":    wide.with(func(p *path) { p.reset = 0.5 }),
		"more than 64 connections fill": wide.with(func(p *path) { p.total = 1000 * mb }),
		"big parts, slow connections":   wide.with(func(p *path) { p.each, p.part = 2*mb, 25*mb }),
		"8 connections' worth":          wide.with(func(p *path) { p.total = 80 * mb }),
		"one connection's worth":        wide.with(func(p *path) { p.total = 10 * mb }),
	} {
		t.Run(name, func(t *testing.T) {
			share := p.median(func(p path) float64 {
				best := 0.0
				for _, n := range []int{4, 8, 16, 32, 64} {
					best = max(best, simulate(t, p, lanes.Options{Start: n, Max: n}, 20, nil).goodput(10, 20))
				}
				w := simulate(t, p, lanes.Options{}, 20, nil)
				if _, _, overloads := w.figures(); overloads > 0 || slices.ContainsFunc(w.seconds, func(s second) bool { return s.limit < 8 }) {
					t.Error("it shrank")
				}
				return w.goodput(10, 20) / best
			})
			if share < 0.9 {
				t.Errorf("%.3g of the best", share)
			}
		})
	}
}

// Where more lanes bring nothing, there are few, and trials are rare: at 2 s,
// then after 30 s, 1 min, 2 min, and every 4 min, each up and back again.
func TestModelStaysWhereItIsFlat(t *testing.T) {
	for name, c := range map[string]struct {
		p       path
		seconds int
		changes int
	}{
		"8 connections' worth": {wide.with(func(p *path) { p.total = 80 * mb }), 600, 10},
		"the same, unsteady":   {wide.with(func(p *path) { p.total, p.each, p.noise = 80*mb, 20*mb, 0.3 }), 600, 10},
		"a home's 1 MB/s":      {wide.with(func(p *path) { p.total, p.noise, p.tick = 1*mb, 0.3, 100*time.Millisecond }), 600, 10},
		"a thin 40 kB/s":       {wide.with(func(p *path) { p.total, p.noise, p.tick = 0.04*mb, 0.5, time.Second }), 3600, 10},
	} {
		t.Run(name, func(t *testing.T) {
			bad := c.p.median(func(p path) float64 {
				w := simulate(t, p, lanes.Options{}, c.seconds, nil)
				if best := p.total; w.goodput(0, c.seconds) < 0.9*best {
					t.Errorf("%.4g MB/s", w.goodput(0, c.seconds)/mb)
				}
				if most, changes, _ := w.figures(); most > 16 || changes > c.changes {
					t.Logf("up to %d lanes and %d changes", most, changes)
					return 1
				}
				return 0
			})
			if bad > 0 {
				t.Errorf("more often than not, more than 16 lanes or %d changes", c.changes)
			}
		})
	}
}

// When what is there has become less, the limit falls to what it bears. When it is
// more again, so are the lanes, after ten seconds; after a minute if that has
// been so for so long that they were tried less and less often.
func TestModelOverload(t *testing.T) {
	throttles := func(p *path) { p.accepts = 6 }
	for name, c := range map[string]struct {
		until int
		later int
		drop  func(*path)
	}{
		"6 accepted at once for 10 s":               {30, 10, throttles},
		"6 accepted at once for 2 minutes":          {140, 60, throttles},
		"a twentieth of the link and 5 s deadlines": {80, 10, func(p *path) { p.total, p.deadline = 10*mb, 5*time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			w := simulate(t, wide, lanes.Options{}, c.until+c.later+10, wide.between(20, c.until, c.drop))
			for i, s := range w.seconds[c.until-5 : c.until] {
				if s.limit > 12 {
					t.Errorf("second %d: limit %d", c.until-5+i, s.limit)
				}
			}
			before, after := w.goodput(10, 20), w.goodput(c.until+c.later, c.until+c.later+10)
			if after < 0.85*before {
				t.Errorf("%.4g MB/s before and %.4g after", before/mb, after/mb)
			}
		})
	}
}

// A store that bears twelve at once is not asked for more all the time: of 8,400
// attempts, one in fifty is refused at the most.
func TestModelLearnsTheWall(t *testing.T) {
	p := wide.with(func(p *path) { p.accepts = 12 })
	w := simulate(t, p, lanes.Options{}, 600, nil)
	if _, _, overloads := w.figures(); overloads > 150 || w.goodput(60, 600) < 110*mb {
		t.Errorf("%d overloads, %.4g MB/s", overloads, w.goodput(60, 600)/mb)
	}
}

// On a thin link too many lanes make all of them miss their deadlines: that must
// not come again and again.
func TestModelThinLinkWithDeadlines(t *testing.T) {
	p := wide.with(func(p *path) {
		p.total, p.part, p.deadline, p.tick = 0.04*mb, 5*mb, 450*time.Second, time.Second
	})
	const hour = 3600
	w := simulate(t, p, lanes.Options{}, 6*hour, nil)
	_, _, all := w.figures()
	w.seconds = w.seconds[2*hour:]
	if _, _, late := w.figures(); all > 50 || late > 0 {
		t.Errorf("%d parts missed their deadlines, %d of them after the first two hours", all, late)
	}
}

// Throttles that have nothing to do with the number of lanes cost none of them.
func TestModelThrottlesByChance(t *testing.T) {
	for name, late := range map[string]bool{"at once": false, "after the whole part": true} {
		t.Run(name, func(t *testing.T) {
			p := wide.with(func(p *path) { p.total, p.throttle, p.late = 1000*mb, 0.05, late })
			got := p.median(func(p path) float64 { return simulate(t, p, lanes.Options{}, 120, nil).done(5, 120) })
			if got < 60 {
				t.Errorf("%.3g parts a second, of 71 that go without a throttle", got)
			}
		})
	}
}

// A store that counts is asked for what it allows, and for little more.
func TestModelFindsTheRate(t *testing.T) {
	for name, c := range map[string]struct {
		allows float64 // a second
		part   float64
		late   bool
	}{
		"20 a second":                       {20, 8 * mb, false},
		"20 a second, after the whole part": {20, 8 * mb, true},
		"5 a second":                        {5, 8 * mb, false},
		"40 a second, of 1 MB each":         {40, 1 * mb, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := wide.with(func(p *path) { p.total, p.allows, p.part, p.late = 1000*mb, c.allows, c.part, c.late })
			w := simulate(t, p, lanes.Options{}, 300, nil)
			if got := w.done(60, 300); got < 0.9*c.allows {
				t.Errorf("%.3g parts a second", got)
			}
			if got := w.refused(60, 300); got > 0.05 {
				t.Errorf("%.3g of the attempts refused", got)
			}
			if got := w.refused(0, 30); got > 0.2 {
				t.Errorf("%.3g of the first attempts refused", got)
			}
		})
	}
}

// When a store refuses nearly a third, whatever is asked of it, it is asked for less:
// within five seconds for half as much, after a minute for next to nothing.
func TestModelThirdRefused(t *testing.T) {
	p := wide.with(func(p *path) { p.total = 1000 * mb })
	got := p.with(func(p *path) { p.throttle = 0.3 }).median(func(q path) float64 {
		p.seed = q.seed
		w := simulate(t, p, lanes.Options{}, 90, p.between(20, 90, func(p *path) { p.throttle = 0.3 }))
		if before, after := w.seconds[19].limit, w.seconds[24].limit; before != 64 || after > 32 {
			t.Errorf("%d lanes before and %d after five seconds", before, after)
		}
		return float64(w.seconds[80].limit)
	})
	if got > 4 {
		t.Errorf("%v lanes after a minute", got)
	}
}

// Small files have no bytes to be measured by, and need lanes all the more: while
// one waits for its answer, nothing moves.
func TestModelSmallFiles(t *testing.T) {
	small := path{total: 1000 * mb, each: 20 * mb, part: 4096, answer: 50 * time.Millisecond, tick: 10 * time.Millisecond}
	w := simulate(t, small, lanes.Options{}, 6, nil)
	if got := w.seconds[3].limit; got != 64 {
		t.Errorf("%d lanes after 4 s: %v", got, w)
	}
	if got := w.done(4, 6); got < 900 { // 64 in 60 ms and a little
		t.Errorf("%v files a second", got)
	}
}

// A gibibyte is too short for patience: the lanes that it needs are there in a
// second.
func TestModelHaste(t *testing.T) {
	for name, c := range map[string]struct {
		p    path
		want float64 // seconds
	}{
		"20 connections' worth":   {wide, 6.2},
		"the same, unsteady":      {wide.with(func(p *path) { p.noise = 0.2 }), 6.4},
		"answers 80 ms late":      {wide.with(func(p *path) { p.total, p.each, p.answer = 1000*mb, 20*mb, 80*time.Millisecond }), 2.2},
		"one in twenty throttled": {wide.with(func(p *path) { p.throttle = 0.05 }), 7},
		"what two processors can send": {wide.with(func(p *path) {
			p.total, p.each, p.answer, p.tick = 1000*mb, 500*mb, 2*time.Millisecond, 10*time.Millisecond
		}), 1.4},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.p.median(func(p path) float64 {
				w := simulate(t, p, lanes.Options{}, 15, nil)
				left := float64(1 << 30)
				for i, s := range w.seconds {
					if s.goodput >= left {
						return float64(i) + left/s.goodput
					}
					left -= s.goodput
				}
				return 15
			})
			if got > c.want {
				t.Errorf("%.3g s, want %.3g s", got, c.want)
			}
		})
	}
}
