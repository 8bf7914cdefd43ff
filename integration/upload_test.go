package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/integration/tcpproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// Not one request more than the bytes need: parts + 2, or 1 for a single PUT.
func TestRequestsBySize(t *testing.T) {
	for _, tc := range []struct {
		size  int64
		parts int // of 5 MiB
	}{
		{0, 0}, {1, 1}, {5*mib - 1, 1}, {5 * mib, 1}, {5*mib + 1, 2}, {100 * mib, 20},
	} {
		t.Run(fmt.Sprint(tc.size), func(t *testing.T) {
			l := newLab(t, wire.Limits{})
			want := requests{creates: 1, parts: tc.parts, completes: 1}
			if tc.parts == 0 {
				want = requests{objects: 1}
			}
			res := l.uploaded(t, check.Pattern(tc.size), want)
			if res.Parts != tc.parts || res.Digest.IsZero() {
				t.Errorf("result %+v", res)
			}
		})
		t.Run(fmt.Sprint(tc.size, " by default"), func(t *testing.T) {
			l := newLab(t, wire.Limits{})
			l.options.PartSize, l.options.Threshold = 0, 0
			want := requests{objects: 1}
			if tc.size >= multipart.DefaultThreshold {
				want = requests{creates: 1, parts: 13, completes: 1} // of 8 MiB
			}
			l.uploaded(t, check.Pattern(tc.size), want)
		})
	}
}

func TestEveryThirdPartFailsOnce(t *testing.T) {
	l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Every: 3, Status: 503, Code: "SlowDown"})
	res := l.uploaded(t, check.Pattern(100*mib), requests{creates: 1, parts: 20 + 6, completes: 1})
	if res.Retries != 6 {
		t.Errorf("%d retries", res.Retries)
	}
}

func TestReset(t *testing.T) {
	l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, Reset: true, After: 3 * mib})
	l.uploaded(t, check.Pattern(20*mib), requests{creates: 1, parts: 4 + 1, completes: 1})
	anotherConnection(t, l.attempts(2))
}

// anotherConnection fails unless the second attempt came from another port.
func anotherConnection(t *testing.T, attempts []faultproxy.Request) {
	t.Helper()
	if len(attempts) != 2 || attempts[0].RemoteAddr == attempts[1].RemoteAddr {
		t.Errorf("attempts %+v, want two over different connections", attempts)
	}
}

// A connection that dies without a sound: no FIN, no RST, nothing.
func TestFrozenConnection(t *testing.T) {
	const stall = 2 * time.Second
	l := newLab(t, wire.Limits{Stall: stall}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 1, Stall: true, After: 1 * mib})
	l.options.PartSize = 32 * mib
	l.uploaded(t, check.Pattern(64*mib), requests{creates: 1, parts: 2 + 1, completes: 1})
	attempts := l.attempts(1)
	anotherConnection(t, attempts)
	if d := attempts[1].Start.Sub(attempts[0].Start); d > stall+time.Second {
		t.Errorf("noticed after %v, want at most %v", d, stall+time.Second)
	}
}

func TestRequestTimeout(t *testing.T) {
	l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 3, Status: 400, Code: "RequestTimeout",
		Message: "Your socket connection to the server was not read from or written to within the timeout period."})
	l.uploaded(t, check.Pattern(20*mib), requests{creates: 1, parts: 4 + 1, completes: 1})
}

// late hands out its first request when it has expired, and does not say so.
type late struct {
	presign.Provider
	first atomic.Bool
}

func (l *late) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	r, err := l.Provider.Presign(ctx, p)
	if l.first.CompareAndSwap(false, true) {
		r.NotAfter = time.Time{}
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
	}
	return r, err
}

// URLs that live for 2 s on a link where a part takes 6 s. The store checks the
// expiry when the request arrives, so only the one that came late is refused.
func TestShortLivedRequests(t *testing.T) {
	l := newLab(t, wire.Limits{})
	l.proxy.Limit(5 * mib / 6)
	l.provider = &late{Provider: s3presign.New(l.client, 2*time.Second)}
	l.endpoint.Lanes = 1
	l.options.MaxAttempts = 1
	res := l.uploaded(t, check.Pattern(6*mib), requests{creates: 1, parts: 2 + 1, completes: 1})
	if b := l.used.Budget(); b.Requests != b.CapacityRequests || b.Bytes != b.CapacityBytes {
		t.Errorf("budget %+v", b)
	}
	if res.Mints != 3 || res.Elapsed < 6*time.Second {
		t.Errorf("%d mints in %v", res.Mints, res.Elapsed)
	}
}

// The store is away for 5 s in the middle of the upload.
func TestRefusedForAWhile(t *testing.T) {
	l := newLab(t, wire.Limits{})
	network := tcpproxy.Start(t, l.proxy.URL())
	network.Bandwidth(tcpproxy.Upstream, 4000)
	l.at(t, network.URL(), wire.Limits{})
	l.endpoint.Lanes = 4
	go func() {
		select {
		case <-time.After(2 * time.Second):
		case <-t.Context().Done():
			return
		}
		network.Down()
		select {
		case <-time.After(5 * time.Second):
		case <-t.Context().Done():
		}
		network.Up()
	}()
	src := check.Pattern(60 * mib)
	res, err := l.upload(t, src)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, l.server.Client(), l.bucket, "key", src, src.Size())
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
	if res.Retries == 0 || res.Elapsed < 5*time.Second {
		t.Errorf("%d retries in %v: was the store away at all?", res.Retries, res.Elapsed)
	}
	// What reached the store: the parts, and those that were cut when it went.
	if got := l.requests(); got.parts > 12+4 || got.creates != 1 || got.completes != 1 {
		t.Errorf("requests %v", got)
	}
}

func TestErrorInsideSuccess(t *testing.T) {
	l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.Complete, Status: 200,
		Body: "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"})
	l.uploaded(t, check.Pattern(10*mib), requests{creates: 1, parts: 2, completes: 2, heads: 1, lists: 1})
}

// The answer to Complete is lost after it was applied: the token in the object's
// metadata proves that it is ours.
func TestCompleteAnswerLost(t *testing.T) {
	l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.Complete, Apply: true, Reset: true})
	l.uploaded(t, check.Pattern(10*mib), requests{creates: 1, parts: 2, completes: 1, heads: 1})
}

// An upload that cannot go on leaves nothing behind.
func TestRefusedPartAborts(t *testing.T) {
	l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 3, Status: http.StatusForbidden, Code: "AccessDenied", Message: "no"})
	_, err := l.upload(t, check.Pattern(20*mib))
	var e *multipart.Error
	if !errors.As(err, &e) || e.Part != 3 || e.Abort != nil {
		t.Fatalf("err = %v", err)
	}
	check.Absent(t, l.server.Client(), l.bucket, "key")
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
}

// In one process five uploads to a closed port fail; the sixth is not even
// tried.
func TestClosedPort(t *testing.T) {
	l := newLab(t, wire.Limits{})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.at(t, "http://"+closed.Addr().String(), wire.Limits{})
	closed.Close()
	l.endpoint.Client, l.options.MaxAttempts = l.wire, 1
	l.endpoint.Breaker.Cooldown = time.Minute
	endpoint := multipart.NewEndpoint(l.endpoint)
	for range 5 {
		if _, err := l.uploadAt(t, endpoint, check.Pattern(1)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("err = %v", err)
		}
	}
	fastest := time.Hour
	for range 5 { // a shared machine may be slow once, not five times
		start := time.Now()
		if _, err = l.uploadAt(t, endpoint, check.Pattern(1)); !errors.Is(err, breaker.ErrOpen) {
			t.Fatalf("err = %v", err)
		}
		fastest = min(fastest, time.Since(start))
	}
	if fastest > time.Millisecond {
		t.Errorf("refused after %v", fastest)
	}
}
