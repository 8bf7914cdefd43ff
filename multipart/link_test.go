package multipart

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

const minRate = 200_000

func TestFloor(t *testing.T) {
	var l link
	if got := l.floor(minRate, 8); got != 25_000 {
		t.Errorf("unlearned: %v", got)
	}
	l.missed(5_000, 40_000, 8)
	if got := l.floor(minRate, 8); got != 2_500 {
		t.Errorf("8 lanes on 40 kB/s: %v", got)
	}
	if got := l.floor(minRate, 1); got != 2_500 {
		t.Errorf("alone it counts on no more than one had: %v", got)
	}
	if got := l.floor(10_000, 8); got != 1_250 {
		t.Errorf("below a lower minimum: %v", got)
	}
	if got := l.stall(15 * time.Second); got != 52428800*time.Microsecond {
		t.Errorf("stall bound at 5 kB/s: %v", got)
	}
	if got := l.stall(2 * time.Second); got != 8*time.Second {
		t.Errorf("stall bound of 2 s at 5 kB/s: %v", got)
	}
	l.missed(20_000, 80_000, 4)
	if l.whole != 40_000 || l.each != 5_000 {
		t.Errorf("a faster miss has raised what was known: %v, %v", l.whole, l.each)
	}
}

// Nothing is learned from one that is worse than the others, or that trickles.
func TestSickConnection(t *testing.T) {
	var l link
	l.missed(1_000, 40_000, 8)
	l.missed(499, 499, 1)
	l.missed(499, 4_000, 8)
	l.missed(1_000, 1_000, 8) // so many cannot have been there
	if l.whole != 0 || l.each != 0 {
		t.Errorf("learned %v, %v", l.whole, l.each)
	}
	if got := l.stall(15 * time.Second); got != 15*time.Second {
		t.Errorf("stall bound %v", got)
	}
}

// What was learned is forgotten when the link is good again.
func TestLinkRecovers(t *testing.T) {
	var l link
	l.done(1e6, 8, minRate) // nothing is known: nothing changes
	l.missed(5_000, 40_000, 8)
	l.done(20_000, 8, minRate)
	if l.whole != 40_000 {
		t.Errorf("a slower part has changed what was known to %v", l.whole)
	}
	for range 20 {
		l.done(4e6, 8, minRate)
	}
	if l.whole != 0 || l.each != 0 || l.floor(minRate, 8) != 25_000 {
		t.Errorf("still known: %v, %v", l.whole, l.each)
	}
}

// Eight parts run out together: one of them dies and teaches the others.
func TestOnlyOneDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l link
		var ways []*passage
		for range 8 {
			p := &passage{link: &l, limits: wire.Limits{}.WithDefaults(), size: 8 << 20, stretch: 1, inFlight: func() int { return 8 }}
			if d := p.deadline(0); d.Round(time.Second) != 351*time.Second {
				t.Fatalf("deadline %v", d)
			}
			ways = append(ways, p)
		}
		time.Sleep(351 * time.Second)
		dead := 0
		for _, p := range ways {
			p.moved(5_000 * 351)
		}
		for _, p := range ways {
			if p.deadline(351*time.Second) <= 351*time.Second {
				dead++
			} else if d := p.deadline(351 * time.Second); d < 8<<20/5_000*time.Second {
				t.Errorf("the others get %v", d)
			}
		}
		if dead != 1 {
			t.Errorf("%d parts die, want 1", dead)
		}
		ways[0].stretch = 2
		if d := ways[0].bound(); d < 2*8<<20/5_000*time.Second {
			t.Errorf("the one that died gets %v", d)
		}
	})
}

// A deadline grows with the parts that have come to share the link.
func TestDeadlineGrowsWithCompany(t *testing.T) {
	n := 1
	p := &passage{link: &link{}, limits: wire.Limits{}.WithDefaults(), size: 2_000_000, stretch: 1, inFlight: func() int { return n }}
	alone := p.deadline(0)
	n = 4
	shared := p.deadline(alone)
	n = 2
	if later := p.deadline(alone); alone != 25*time.Second || shared != 55*time.Second || later != shared {
		t.Errorf("alone %v, among four %v, later %v", alone, shared, later)
	}
}

func TestDeadlineDoesNotOverflow(t *testing.T) {
	p := &passage{link: &link{}, limits: wire.Limits{MinRate: 1}.WithDefaults(), size: 1 << 62, stretch: longestStretch, inFlight: func() int { return 64 }}
	if d := p.deadline(0); d <= 0 {
		t.Errorf("deadline %v", d)
	}
}
