package integration

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
)

// https://github.com/restic/restic/issues/4193: a connection that broke without a
// word froze a backup for a quarter of an hour, longer than anybody retried.
func TestR05FrozenConnection(t *testing.T) {
	const stall = 2 * time.Second
	t.Run("in the middle of a part", func(t *testing.T) {
		frozen(t, wire.Limits{Stall: stall}, stall, 32*mib,
			faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, Stall: true, After: 6 * mib})
	})
	// All its bytes are gone, so that only the wait for the answer can tell.
	t.Run("after the last byte of the last part", func(t *testing.T) {
		const answer = 3 * time.Second
		frozen(t, wire.Limits{Stall: stall, Answer: answer}, answer, 26*mib,
			faultproxy.Rule{Op: faultproxy.PutPart, Part: 4, Stall: true, After: 2 * mib})
	})
	// TLS says goodbye before it closes, and has no room for it here.
	t.Run("over TLS", func(t *testing.T) {
		check.Leaks(t)
		l := newRawLab(t, wire.Limits{Stall: stall}, rawstore.Options{TLS: true, ReadBuffer: 64 * kib, Rules: []rawstore.Rule{
			{Op: rawstore.PutPart, Part: 2, Do: []rawstore.Step{rawstore.Read(6 * mib), rawstore.Freeze()}},
		}})
		l.endpoint.Lanes = 4
		l.uploaded(t, check.Pattern(16*mib))
		seen := l.store.Of(rawstore.PutPart, 2)
		if len(seen) != 2 || seen[0].RemoteAddr == seen[1].RemoteAddr {
			t.Fatalf("part 2 was sent so: %+v", seen)
		}
		noticed(t, seen[1].Start.Sub(seen[0].Last), stall)
		if !l.dialed.closed(seen[0].RemoteAddr) {
			t.Error("the frozen connection is still open")
		}
	})
}

// noticed fails the test unless it took as long as it should to find out, and
// hardly longer.
func noticed(t *testing.T, after, bound time.Duration) {
	t.Helper()
	t.Logf("again after %v", after.Round(time.Millisecond))
	if after < bound || after > bound+time.Second {
		t.Errorf("again after %v, want %v and a second at most", after, bound)
	}
}

// frozen uploads twice to MinIO, and the second time meets the rule, which
// freezes one connection. That must be noticed within the bound.
func frozen(t *testing.T, limits wire.Limits, bound time.Duration, size int64, rule faultproxy.Rule) {
	l := newLab(t, limits)
	l.proxy.Limit(1 << 30) // makes its buffers small, so that they do not swallow the rest
	l.options.PartSize, l.endpoint.Lanes = 8*mib, 4
	var conns dialed
	l.wire = wire.NewClient(wire.Options{Limits: limits, Dial: conns.dial})
	t.Cleanup(l.wire.CloseIdle)
	profile, _ := s3store.ByName("minio")
	l.client = s3store.NewClient(aws.Config{Credentials: l.server.Client().Options().Credentials}, profile, l.proxy.URL(), l.wire)

	src := check.Pattern(size)
	well := l.uploaded(t, src, requests{creates: 1, parts: 4, completes: 1})
	l.proxy.Reset()
	l.proxy.Add(rule)
	ill := l.uploaded(t, src, requests{creates: 1, parts: 4 + 1, completes: 1})
	attempts := l.attempts(rule.Part)
	anotherConnection(t, attempts)
	noticed(t, attempts[1].Start.Sub(attempts[0].Start), bound)
	if !conns.closed(attempts[0].RemoteAddr) {
		t.Error("the frozen connection is still open")
	}
	if most := well.Elapsed + 2*bound; ill.Elapsed > most {
		t.Errorf("took %v, want at most %v", ill.Elapsed, most)
	}
	breakerStayedClosed(t, l.used, l.events)
}

// https://github.com/rclone/rclone/issues/9841: the upload of one part trickled
// on for 16 hours, because every small write pushed the only bound forward.
func TestR26Trickle(t *testing.T) {
	check.Leaks(t)
	const stall = 2 * time.Second
	trickle := func(t *testing.T, parts int, drip rawstore.Step, limits wire.Limits) multipart.Event {
		l := newRawLab(t, limits, rawstore.Options{Rules: []rawstore.Rule{
			{Op: rawstore.PutPart, Part: 2, Do: []rawstore.Step{rawstore.Welcome(), drip, rawstore.Reply()}}}})
		l.endpoint.Lanes = 4
		l.uploaded(t, check.Pattern(int64(parts)*8*mib))
		if n := len(l.store.Of(rawstore.PutPart, 0)); n != parts+1 {
			t.Errorf("%d requests for %d parts", n, parts)
		}
		breakerStayedClosed(t, l.used, l.events)
		first := tries(l.events, 2)[0]
		t.Logf("cut after %v: %v", first.Elapsed.Round(time.Millisecond), first.Err)
		return first
	}
	together(t, map[string]func(*testing.T){
		// A byte now and then: the window never opens, and no byte is acknowledged.
		"a byte at a time": func(t *testing.T) {
			first := trickle(t, 2, rawstore.Drip(1, 150*time.Millisecond), wire.Limits{Stall: stall})
			if first.Phase != wire.PhaseStall || first.Elapsed > stall+time.Second {
				t.Errorf("cut after %v in phase %v, want a stall of %v", first.Elapsed, first.Phase, stall)
			}
		},
		// Enough for a sign of life twice a second: the part's deadline ends it.
		"always a sign of life": func(t *testing.T) {
			limits := wire.Limits{Stall: stall, MinRate: 16 * mib, Overhead: time.Second}
			first := trickle(t, 4, rawstore.Drip(16*kib, 100*time.Millisecond), limits)
			bound := limits.Send(8*mib, 4)
			if first.Phase != wire.PhaseSend || first.Elapsed > bound+time.Second {
				t.Errorf("cut after %v in phase %v, want a send deadline of %v", first.Elapsed, first.Phase, bound)
			}
		},
	})
}
