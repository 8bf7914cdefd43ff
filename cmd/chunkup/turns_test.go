package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// admitted is how many files of so many parts get in at once.
func admitted(most, lanes, parts int) int {
	t := newTurns(most, func() int { return lanes })
	for n := 0; ; n++ {
		if t.mu.Lock(); !t.hasRoom() {
			return n
		}
		t.mu.Unlock()
		t.enter(parts)
	}
}

func TestTurns(t *testing.T) {
	for _, c := range []struct{ most, lanes, parts, want int }{
		{0, 8, 1, 16},     // one on each lane, and one waiting for it
		{0, 64, 1, 128},   // more lanes, more files
		{0, 128, 1, 192},  // with enough that wait
		{0, 1000, 1, 320}, // within bounds
		{0, 1, 1, 4},      // a store in trouble
		{0, 8, 3, 6},      // three parts each
		{0, 8, 64, 4},     // large files
		{1, 8, 1, 1},
		{20, 1, 64, 20},
		{300, 8, 1, 300},
	} {
		if got := admitted(c.most, c.lanes, c.parts); got != c.want {
			t.Errorf("--workers %d, %d lanes, %d parts each: %d files", c.most, c.lanes, c.parts, got)
		}
	}
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		args []string
		job  job
		want int
	}{
		{nil, job{size: 0}, 1},
		{nil, job{size: 16<<20 - 1}, 1},
		{nil, job{size: 40 << 20}, 3},
		{[]string{"--part-size", "5MiB"}, job{size: 40 << 20}, 9},
		{[]string{"--multipart-threshold", "100MiB"}, job{size: 40 << 20}, 1},
		{nil, job{stream: true}, mostFiles},
	} {
		f, _, err := parse(t, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.tuning.pieces(c.job); got != c.want {
			t.Errorf("%v, %d bytes: %d pieces, want %d", c.args, c.job.size, got, c.want)
		}
	}
}

// All jobs are done, as many at once as there are turns, and by few goroutines.
func TestCrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, done atomic.Int64
		c := newCrew(newTurns(3, nil), func(job) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			done.Add(1)
		}, func(job) int { return 1 })
		began := time.Now()
		for range 30 {
			c.give(job{})
		}
		c.wait()
		if took := time.Since(began); took != 10*time.Second || most.Load() != 3 || done.Load() != 30 {
			t.Errorf("%d jobs, %d at once, in %v", done.Load(), most.Load(), took)
		}
	})
}

// A file takes the place of one that has ended as soon as there are lanes for it.
func TestTurnsFollowTheLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lanes atomic.Int64
		lanes.Store(2)
		turns := newTurns(0, func() int { return int(lanes.Load()) })
		var in atomic.Int64
		go func() {
			for range 20 {
				turns.enter(1)
				in.Add(1)
			}
		}()
		for _, c := range []struct{ lanes, want int64 }{{2, 4}, {5, 10}, {5, 11}, {8, 17}} {
			lanes.Store(c.lanes)
			if c.want > 4 {
				turns.leave(1)
			}
			synctest.Wait()
			if got := in.Load(); got < c.want {
				t.Errorf("with %d lanes %d files were let in, want %d", c.lanes, got, c.want)
			}
		}
		lanes.Store(100)
		turns.leave(1)
	})
}
