package multipart_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// thin is a connection over a link that others share.
type thin struct {
	net.Conn
	link *rate.Limiter
}

func (c thin) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		m := min(len(p), c.link.Burst())
		time.Sleep(c.link.ReserveN(time.Now(), m).Delay())
		m, err = c.Conn.Write(p[:m])
		n, p = n+m, p[m:]
	}
	return n, err
}

// over sends the lab's parts over a link of so many bytes a second, which all
// connections share or each has for itself.
func (l *lab) over(perSecond int, shared bool, o multipart.EndpointOptions) (close func()) {
	newLink := func() *rate.Limiter { return rate.NewLimiter(rate.Limit(perSecond), max(perSecond/4, 1000)) }
	link := newLink()
	client := wire.NewClient(wire.Options{Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
		c, err := l.Dial(ctx, n, a)
		if !shared {
			return thin{c, newLink()}, err
		}
		return thin{c, link}, err
	}})
	o.Client = client
	l.endpoint = multipart.NewEndpoint(o)
	l.options.Endpoint = l.endpoint
	return func() {
		client.CloseIdle()
		time.Sleep(24 * time.Hour) // writes under way come to their end
	}
}

// finishes uploads over a slow link and says what is wrong with how it went.
func finishes(t *testing.T, perSecond, partSize, parts, lanes int, shared bool) (complaint string) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(parts*partSize)
		l.options.PartSize, l.options.Rand = int64(partSize), nil
		defer l.over(perSecond, shared, multipart.EndpointOptions{Lanes: lanes})()
		res, err := l.upload(t.Context(), body)
		switch {
		case err != nil:
			complaint = err.Error()
		case len(l.kinds(multipart.BreakerChanged)) > 0:
			complaint = "the breaker opened"
		case res.SentBytes > int64(2*len(body)+2*partSize):
			complaint = fmt.Sprintf("%d bytes were sent for %d", res.SentBytes, len(body))
		}
		l.stored(t, body)
	})
	return complaint
}

// At any constant rate of at least 1 kB/s a connection an upload ends well, and
// the breaker does not take a slow link for a dead store.
func TestSlowLinkFinishes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shared := rapid.Bool().Draw(rt, "shared")
		lanes := rapid.IntRange(1, 16).Draw(rt, "lanes")
		perSecond := rapid.IntRange(1_000, 40_000).Draw(rt, "per second")
		if shared {
			perSecond *= lanes
		}
		partSize := rapid.IntRange(16*kib, 256*kib).Draw(rt, "part size")
		parts := rapid.IntRange(1, 8).Draw(rt, "parts")
		if complaint := finishes(t, perSecond, partSize, parts, lanes, shared); complaint != "" {
			rt.Error(complaint)
		}
	})
}

// Eight parts of 2 MiB over 40 kB/s, as on a train.
func TestTrain(t *testing.T) {
	if complaint := finishes(t, 40_000, 2<<20, 8, 8, true); complaint != "" {
		t.Error(complaint)
	}
}

// One connection trickles while the others are well: it is cut at its deadline,
// and the second time at twice that, not after days.
func TestTrickleIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(1<<20)
		l.options.PartSize = 1 << 20
		slow := 2
		// A trickle of 100 B/s shows life only every 80 s here, where there is no
		// kernel that counts.
		limits := wire.Limits{Stall: 2 * time.Minute, Overhead: 2 * time.Minute}
		client := wire.NewClient(wire.Options{Limits: limits, Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
			c, err := l.Dial(ctx, n, a)
			if slow--; slow >= 0 {
				return thin{c, rate.NewLimiter(100, 100)}, err
			}
			return c, err
		}})
		l.endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: client})
		l.options.Endpoint = l.endpoint
		start := time.Now()
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		// 1 MiB at 200 kB/s + 120 s = 125 s, then 250 s, and the waits.
		if d := time.Since(start); d < 375*time.Second || d > 380*time.Second {
			t.Errorf("took %v", d)
		}
		l.stored(t, body)
		client.CloseIdle()
		time.Sleep(24 * time.Hour)
	})
}

// A missed deadline halves the lanes.
func TestMissedDeadlineHalvesTheLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(10<<20)
		l.options.PartSize = 1 << 20
		defer l.over(40_000, true, multipart.EndpointOptions{})()
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		least := multipart.MaxLanes
		for _, e := range l.kinds(multipart.Progressed) {
			least = min(least, e.Lanes)
		}
		if least != multipart.DefaultLanes/2 {
			t.Errorf("there were %d lanes at the least, want half of %d", least, multipart.DefaultLanes)
		}
		if s := l.endpoint.Breaker(); s != breaker.Closed {
			t.Errorf("the breaker is %v", s)
		}
	})
}

// The bound on the bandwidth holds for all uploads together, and is no slowness:
// no deadline of an attempt counts the time.
func TestBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(8<<20)
		l.options.PartSize = 8 << 20
		l.endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: l.Client(), Bandwidth: 64 * kib})
		l.options.Endpoint = l.endpoint
		start := time.Now()
		res, err := l.upload(t.Context(), body)
		if err != nil || res.Retries != 0 {
			t.Fatalf("%d retries, %v", res.Retries, err)
		}
		if d := time.Since(start).Round(time.Second); d != 128*time.Second {
			t.Errorf("8 MiB at 64 KiB/s took %v", d)
		}
	})
}

func TestBandwidthEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.PartSize = 8 << 20
		l.endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: l.Client(), Bandwidth: 1})
		l.options.Endpoint = l.endpoint
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := l.upload(ctx, randomBytes(16<<20))
		if err == nil || time.Since(start) > 11*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		// The second has its first byte to wait for: the store hears of it before.
		if n := l.Count(wire.PutPart); n != 2 {
			t.Errorf("%d requests", n)
		}
		l.wantFullBudget(t)
		time.Sleep(time.Minute) // the server notices
	})
}
