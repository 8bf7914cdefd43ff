package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// R01, https://github.com/aws/aws-sdk-go-v2/issues/3413: while a store fails 100 %,
// the retry bucket empties, every call then fails at once, and the program loops
// hot. Here an outage of Δ seconds is met with the parts in flight, the budget and
// half a request a second, and the store's own error is what is reported.
func TestR01(t *testing.T) {
	const retries = 20
	outage := faultproxy.Rule{Op: faultproxy.PutPart, Count: -1, Status: 503, Code: "SlowDown",
		Message: "Please reduce your request rate.", After: 64 * kib}
	src := check.Pattern(64 * 5 * mib)

	t.Run("an outage of 6 s", func(t *testing.T) {
		outage.For = 6 * time.Second
		l := newLab(t, wire.Limits{}, outage)
		l.endpoint.Lanes, l.endpoint.Budget = 32, budget.Options{Retries: retries}
		_, err := l.upload(t, src)
		l.succeeds(t, src, err)
		l.metGently(t, retries)
		if n := len(l.parts()); n > 130 {
			t.Errorf("%d requests for 64 parts", n)
		}
	})

	t.Run("one that does not end", func(t *testing.T) {
		outage.For = 0
		l := newLab(t, wire.Limits{}, outage)
		l.endpoint.Lanes, l.endpoint.Budget = 32, budget.Options{Retries: retries}
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		start := time.Now()
		_, err := l.uploadTelling(ctx, t, src, func(multipart.Event) {})
		took := time.Since(start)
		e := l.givesUp(t, err, wire.PutPart, "503 SlowDown", "request id FAULT", "of 20 retries left in the budget")
		root, refused := errors.AsType[*wire.StoreError](err)
		if !errors.Is(err, context.DeadlineExceeded) || !refused || root.Code != "SlowDown" {
			t.Errorf("err = %v", err)
		}
		l.metGently(t, retries)
		t.Logf("after %v: %v", took.Round(time.Millisecond), e)
		if took < 8*time.Second || took > 10*time.Second {
			t.Errorf("it took %v to end after 8 s", took)
		}
	})
}

// metGently fails the test if an outage, in which parts were answered 503, was met
// with more requests than the budget allows, or with too many in any second once
// it has lasted for 2 s.
func (l *lab) metGently(t *testing.T, retries int) {
	t.Helper()
	var failed []faultproxy.Request
	for _, r := range l.parts() {
		if r.Status == 503 {
			failed = append(failed, r)
		}
	}
	// Those that were in flight may be slow to arrive.
	first := failed[min(multipart.DefaultLanes, len(failed))-1].Start
	lasted, probes := l.trouble()
	allowed := float64(multipart.DefaultLanes+retries+probes) + 0.5*lasted.Seconds()
	most := 0 // in any second, after the first two
	for i, from := range failed {
		n := 0
		for _, r := range failed[i:] {
			if r.Start.Sub(from.Start) < time.Second {
				n++
			}
		}
		if from.Start.Sub(first) >= 2*time.Second {
			most = max(most, n)
		}
	}
	t.Logf("%d refused in %v with %d probes (at most %.1f allowed), at most %d in a second after 2 s; %d requests for parts",
		len(failed), lasted.Round(time.Millisecond), probes, allowed, most, len(l.parts()))
	if float64(len(failed)) > allowed {
		t.Errorf("%d requests were refused, want at most %.1f", len(failed), allowed)
	}
	if most > 5 {
		t.Errorf("%d requests in one second", most)
	}
}

// trouble is how long nothing succeeded after a part had first failed, and how
// often the breaker sent a probe.
func (l *lab) trouble() (lasted time.Duration, probes int) {
	var from, to time.Time
	for _, e := range l.events {
		part := e.Kind == multipart.Attempted && e.Op == wire.PutPart
		switch {
		case e.Kind == multipart.BreakerChanged && e.To == breaker.HalfOpen:
			probes++
		case part && e.Err != nil && from.IsZero():
			from = e.Time
		case part && e.Class == wire.Done && to.IsZero():
			to = e.Time
		}
	}
	if to.IsZero() {
		to = l.events[len(l.events)-1].Time
	}
	return to.Sub(from), probes
}

// R10, https://github.com/Chocobozzz/PeerTube/issues/6415: B2 answers 503 until one
// asks another of its pods, which a kept connection prevents. Here a connection
// that has answered 503 carries nothing more, and "slow down" does not use up the
// attempts.
func TestR10(t *testing.T) {
	l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Conns: 5, Count: -1, Status: 503,
		Code: "ServiceUnavailable", Message: "no tomes available"})
	l.endpoint.Lanes = 2
	l.options.MaxAttempts = 10
	l.options.MaxElapsed = 30 * time.Second
	src := check.Pattern(6 * 5 * mib)
	res, err := l.upload(t, src)

	refused := map[int64]bool{} // connections
	attempts := map[int]int{}
	for _, r := range l.proxy.Requests() {
		if refused[r.Conn] {
			t.Errorf("%v %d came on connection %d, which had answered 503", r.Op, r.Part, r.Conn)
		}
		refused[r.Conn] = refused[r.Conn] || r.Status == 503
		attempts[r.Part]++
	}
	if len(refused) < 6 {
		t.Errorf("%d connections, want the 5 bad ones and a good one", len(refused))
	}
	for part, n := range attempts {
		if part > 0 && n > 10 {
			t.Errorf("%d attempts at part %d", n, part)
		}
	}
	t.Logf("%d connections, %d retries in %v, attempts at each part %v", len(refused), res.Retries, res.Elapsed, attempts)
	l.succeeds(t, src, err)
}
