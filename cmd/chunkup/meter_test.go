package main

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// at is so many seconds after noon.
func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

func TestMeter(t *testing.T) {
	type step struct {
		at   float64
		done int64
	}
	steady := []step{{1, 100}, {2, 200}, {3, 300}, {4, 400}, {5, 500}, {6, 600}, {7, 700}, {8, 800}}
	for _, c := range []struct {
		name   string
		steps  []step
		now    float64
		rate   float64
		idle   time.Duration
		moving bool
		eta    time.Duration
	}{
		{"nothing yet", nil, 1, 0, time.Second, false, 0},
		{"nothing for too long", nil, 3, 0, 3 * time.Second, false, 0},
		{"from the beginning", steady[:2], 2, 100, 0, true, 8 * time.Second},
		{"a steady rate", steady, 8, 100, 0, true, 2 * time.Second},
		{"only the last five seconds count", []step{{1, 1000}, {2, 1000}, {3, 1000}, {10, 1010}}, 10, 10.0 / 7, 0, true, 0},
		{"slower and slower while nothing moves", steady, 10, 100 * 3.0 / 5, 2 * time.Second, true, time.Second * 200 / 60},
		{"idle", steady, 10.001, 0, 2001 * time.Millisecond, false, 0},
		{"a failed attempt is no movement", []step{{1, 500}, {2, 100}, {3, 100}}, 3.5, 100 / 3.5, 2500 * time.Millisecond, false, 0},
		{"sent again", []step{{1, 500}, {4, 100}, {5, 200}}, 5, 40, 0, true, 20 * time.Second},
		{"below where the window began", []step{{1, 500}, {7, 100}, {8, 150}}, 8, 0, 0, false, 0},
		{"all done", []step{{1, 1000}}, 1, 1000, 0, true, 0},
	} {
		m := newMeter(at(0), 1000)
		for _, s := range c.steps {
			m.add(at(s.at), s.done)
		}
		r := m.view(at(c.now))
		if c.idle > idleAfter {
			c.rate = 0
		}
		if math.Abs(r.rate-c.rate) > 1e-9 || r.idle != c.idle || r.moving != c.moving || (r.eta-c.eta).Abs() > time.Microsecond {
			t.Errorf("%s: rate %v, idle %v, moving %v, eta %v, want %v, %v, %v, %v",
				c.name, r.rate, r.idle, r.moving, r.eta, c.rate, c.idle, c.moving, c.eta)
		}
	}
}

// Of what comes from a stream there is a rate and no time left; what was expected
// of it counts until there is more.
func TestMeterOfStream(t *testing.T) {
	for _, c := range []struct {
		total, done int64
		known       bool
		eta         time.Duration
	}{{unknownTotal, 100, false, 0}, {1000, 100, true, 9 * time.Second}, {100, 100, true, 0}, {100, 200, false, 0}, {0, 0, true, 0}} {
		m := newMeter(at(0), c.total)
		m.add(at(1), c.done)
		r := m.view(at(1))
		if r.known != c.known || r.eta != c.eta || r.total != max(c.total, 0) || r.rate != float64(c.done) || !r.moving {
			t.Errorf("%d of %d: %+v", c.done, c.total, r)
		}
	}
}

// Bytes of an earlier run are done and have not moved.
func TestMeterSkips(t *testing.T) {
	m := newMeter(at(0), 1000)
	m.add(at(1), 100)
	m.skip(400)
	m.add(at(2), 600)
	if r := m.view(at(2)); r.done != 600 || r.rate != 100 || r.eta != 4*time.Second {
		t.Errorf("%+v", r)
	}
}

// Whatever happens, a meter shows nothing absurd and keeps few samples.
func TestMeterIsSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, 1<<50).Draw(t, "total")
		m := newMeter(noon, total)
		now := noon
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "later")))
			m.add(now, rapid.Int64Range(0, total).Draw(t, "done"))
			r := m.view(now)
			if r.rate < 0 || math.IsNaN(r.rate) || math.IsInf(r.rate, 0) || r.eta < 0 || r.idle < 0 || r.known && r.done > r.total {
				t.Fatalf("reading %+v", r)
			}
			if !r.moving && r.eta != 0 {
				t.Fatalf("a time left while nothing moves: %+v", r)
			}
			if len(m.samples) > 1 && now.Sub(m.samples[1].at) >= rateWindow {
				t.Fatalf("a sample of %v ago is kept", now.Sub(m.samples[1].at))
			}
		}
	})
}

// Of very many steps few samples are kept, and the rate is the same.
func TestMeterKeepsFewSamples(t *testing.T) {
	m := newMeter(at(0), 1_000_000)
	for i := range 10_000 {
		m.add(at(float64(i+1)/1000), int64(i+1))
	}
	if n := len(m.samples); n > int(rateWindow/sampleEvery)+2 {
		t.Errorf("%d samples", n)
	}
	if r := m.view(at(10)); math.Abs(r.rate-1000) > 10 {
		t.Errorf("rate %v", r.rate)
	}
}
