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

// When what is there has become less, the limit falls to what it bears, and ten
// seconds after it is more again, so are the lanes.
func TestModelOverload(t *testing.T) {
	throttles := func(p *path) { p.accepts = 6 }
	for name, c := range map[string]struct {
		until int
		drop  func(*path)
	}{
		"6 accepted at once for 10 s":               {30, throttles},
		"6 accepted at once for 2 minutes":          {140, throttles},
		"a twentieth of the link and 5 s deadlines": {80, func(p *path) { p.total, p.deadline = 10*mb, 5*time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			w := simulate(t, wide, lanes.Options{}, c.until+20, wide.between(20, c.until, c.drop))
			for i, s := range w.seconds[c.until-5 : c.until] {
				if s.limit > 12 {
					t.Errorf("second %d: limit %d", c.until-5+i, s.limit)
				}
			}
			before, after := w.goodput(10, 20), w.goodput(c.until+10, c.until+20)
			if after < 0.85*before {
				t.Errorf("%.4g MB/s before and %.4g after", before/mb, after/mb)
			}
		})
	}
}

// A store that bears twelve at once is not asked for more all the time.
func TestModelLearnsTheWall(t *testing.T) {
	p := wide.with(func(p *path) { p.accepts = 12 })
	w := simulate(t, p, lanes.Options{}, 600, nil)
	if _, _, overloads := w.figures(); overloads > 60 || w.goodput(60, 600) < 100*mb {
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

// Throttles that have nothing to do with the number of lanes cost some of them,
// as AIMD must, but not all: with one in twenty there are about 1.2/√p = 5.
func TestModelThrottlesByChance(t *testing.T) {
	p := wide.with(func(p *path) { p.throttle = 0.05 })
	got := p.median(func(p path) float64 { return simulate(t, p, lanes.Options{}, 120, nil).goodput(0, 120) })
	if got < 40*mb {
		t.Errorf("%.4g MB/s", got/mb)
	}
}
