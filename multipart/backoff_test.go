package multipart

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffCeilings(t *testing.T) {
	s := newSchedule(Backoff{Jitter: NoJitter}, random)
	var got []int64
	for range 7 {
		got = append(got, s.next().Milliseconds())
	}
	if want := []int64{500, 1000, 2000, 4000, 8000, 15000, 15000}; !slices.Equal(got, want) {
		t.Errorf("ceilings %v, want %v", got, want)
	}
	s.reset()
	if d := s.next(); d != 500*time.Millisecond {
		t.Errorf("%v after a reset", d)
	}
}

func TestJitter(t *testing.T) {
	zero := func() float64 { return 0 }
	full := newSchedule(Backoff{}, zero)
	for range 10 {
		if d := full.next(); d != 0 {
			t.Errorf("full jitter with random 0: %v", d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		n := rapid.IntRange(1, 12).Draw(t, "attempt")
		equal := newSchedule(Backoff{Jitter: EqualJitter}, func() float64 { return r })
		full := newSchedule(Backoff{}, func() float64 { return r })
		ceilings := newSchedule(Backoff{Jitter: NoJitter}, nil)
		for range n - 1 {
			equal.next()
			full.next()
			ceilings.next()
		}
		ceiling := ceilings.next()
		if d := equal.next(); d < ceiling/2 || d > ceiling {
			t.Fatalf("equal jitter at attempt %d: %v, want in [%v, %v]", n, d, ceiling/2, ceiling)
		}
		if d := full.next(); d < 0 || d > ceiling {
			t.Fatalf("full jitter at attempt %d: %v, want at most %v", n, d, ceiling)
		}
	})
	third := newSchedule(Backoff{Jitter: EqualJitter}, zero)
	third.next()
	third.next()
	if d := third.next(); d != time.Second {
		t.Errorf("equal jitter at attempt 3 with random 0: %v, want 1 s", d)
	}
}

func TestBaseAboveCap(t *testing.T) {
	s := newSchedule(Backoff{Base: time.Minute, Cap: time.Second, Jitter: NoJitter}, nil)
	if d := s.next(); d != time.Second {
		t.Errorf("%v, want the cap", d)
	}
}
