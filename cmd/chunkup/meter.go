package main

import "time"

const (
	// rateWindow is how far back the rate looks.
	rateWindow = 5 * time.Second
	// sampleEvery is how far apart samples are kept, so that many small files leave few.
	sampleEvery = 20 * time.Millisecond
	// idleAfter is how long nothing has to move before it is said.
	idleAfter = 2 * time.Second
)

// meter turns a count of bytes into a rate, a time left, and how long nothing
// has moved. It has no clock: every method is told the time. It is for one
// goroutine at a time.
type meter struct {
	total   int64 // unknownTotal: nobody can say
	began   time.Time
	moved   time.Time // of the last byte
	done    int64
	samples []sample // of the window, oldest first; the first may be older
}

// unknownTotal is the total of what comes from a stream.
const unknownTotal = -1

type sample struct {
	at   time.Time
	done int64
}

// reading is what a meter shows at one moment.
type reading struct {
	done, total int64
	rate        float64       // bytes a second over the window
	elapsed     time.Duration // since the beginning
	idle        time.Duration // since the last byte
	known       bool          // total means something
	moving      bool          // rate means something, and eta if total does
	eta         time.Duration // until all is done, at this rate
}

func newMeter(now time.Time, total int64) *meter {
	return &meter{total: total, began: now, moved: now, samples: []sample{{at: now}}}
}

// add tells how many bytes are done. The number falls when an attempt fails,
// which is no movement.
func (m *meter) add(now time.Time, done int64) {
	if done > m.done {
		m.moved = now
	}
	m.done = done
	if last := len(m.samples) - 1; last > 0 && now.Sub(m.samples[last].at) < sampleEvery {
		m.samples[last].done = done
		return
	}
	m.samples = append(m.samples, sample{now, done})
	m.forget(now)
}

// skip tells of bytes that are done without having moved: an earlier run has sent
// them.
func (m *meter) skip(n int64) {
	m.done += n
	for i := range m.samples {
		m.samples[i].done += n
	}
}

// forget drops the samples that the window has left behind, but for the one at
// its edge.
func (m *meter) forget(now time.Time) {
	old := 0
	for old+1 < len(m.samples) && now.Sub(m.samples[old+1].at) >= rateWindow {
		old++
	}
	m.samples = m.samples[old:]
}

// view reads the meter.
func (m *meter) view(now time.Time) reading {
	r := reading{done: m.done, total: max(m.total, 0), elapsed: now.Sub(m.began), idle: now.Sub(m.moved)}
	// What a stream was expected to have is worth nothing once it has more.
	r.known = m.total != unknownTotal && m.done <= m.total
	m.forget(now)
	first := m.samples[0]
	if d := now.Sub(first.at); d > 0 && m.done > first.done {
		r.rate = float64(m.done-first.done) / d.Seconds()
	}
	if r.idle > idleAfter {
		r.rate = 0
	}
	left := max(m.total-m.done, 0)
	r.moving = r.idle <= idleAfter && (r.rate > 0 || r.known && left == 0)
	if r.moving && r.known && left > 0 {
		// A rate next to nothing must not become a time that cannot be counted.
		r.eta = time.Duration(min(float64(left)/r.rate, (1000*time.Hour).Seconds()) * float64(time.Second))
	}
	return r
}
