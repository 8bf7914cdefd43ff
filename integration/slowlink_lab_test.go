package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/integration/tcpproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// slowLink is an upload over a link that is too thin for its lanes.
type slowLink struct {
	perSecond int // bytes
	lanes     int
	parts     int
	partSize  int64
	limits    wire.Limits
	most      time.Duration // that it may take
}

// insideNamespace is set in the environment of a test that runs in a network
// namespace of its own.
const insideNamespace = "CHUNKUP_TEST_NAMESPACE"

// run sends the upload over a link that the kernel shapes, with packets of a
// real size, in a network namespace of its own; where that is not allowed, over
// a proxy.
func (s slowLink) run(t *testing.T) {
	if os.Getenv(insideNamespace) != "" {
		s.overKernel(t)
		return
	}
	out, err := inNamespace(t, s.most+time.Minute)
	switch {
	case errors.Is(err, errNoNamespace):
		t.Logf("%v: over a proxy", err)
		s.overProxy(t)
	case err != nil:
		t.Fatalf("in a network namespace: %v\n%s", err, out)
	default:
		t.Logf("in a network namespace:\n%s", out)
	}
}

// shape makes the loopback of this namespace a link with an ordinary packet size
// and a queue as modems have it.
func shape(perSecond int) string {
	return fmt.Sprintf("ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate %dbit burst 3000 limit 64k", 8*perSecond)
}

const unshape = "tc qdisc del dev lo root"

// errNoNamespace means that this machine or user has no namespace to offer, or
// no tools to shape a link.
var errNoNamespace = errors.New("no network namespace with a shaped link")

// inNamespace runs the test again in a network namespace.
func inNamespace(t *testing.T, most time.Duration) (out []byte, err error) {
	try := exec.CommandContext(t.Context(), "sh", "-c", shape(1<<20))
	if !isolate(try) {
		return nil, errNoNamespace
	}
	if out, err := try.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %v: %s", errNoNamespace, err, bytes.TrimSpace(out))
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.count=1",
		"-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.timeout="+most.String())
	again.Env = append(os.Environ(), insideNamespace+"=1")
	isolate(again)
	return again.CombinedOutput()
}

func (s slowLink) overKernel(t *testing.T) {
	command := func(line string) {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	command(shape(s.perSecond))
	check.Leaks(t)
	l := newRawLab(t, s.limits, rawstore.Options{})
	s.finishes(t, l, func() { command(unshape) })
}

func (s slowLink) overProxy(t *testing.T) {
	check.Leaks(t)
	l := newRawLab(t, s.limits, rawstore.Options{})
	network := tcpproxy.Start(t, l.store.URL())
	network.Link(tcpproxy.Upstream, s.perSecond/1000)
	l.at(t, network.URL(), s.limits)
	s.finishes(t, l, func() {})
}

// finishes uploads, and looks at what it took after the link is free again.
func (s slowLink) finishes(t *testing.T, l *rawLab, free func()) {
	l.options.PartSize = s.partSize
	l.endpoint.Lanes = s.lanes
	src := check.Pattern(int64(s.parts) * s.partSize)
	ctx, cancel := context.WithTimeout(t.Context(), s.most)
	defer cancel()
	res, err := l.upload(ctx, t, src)
	free()
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, src)
	logAttempts(t, l.events)
	missed, least := 0, s.lanes
	for _, e := range l.events {
		if e.Phase == wire.PhaseSend {
			missed++
		}
		if e.Kind == multipart.Progressed {
			least = min(least, e.Lanes)
		}
	}
	ratio := float64(res.SentBytes) / float64(src.Size())
	ideal := time.Duration(float64(src.Size()) / float64(s.perSecond) * float64(time.Second))
	t.Logf("%d bytes in %v (at the link's rate %v), %d attempts, %d missed deadlines, %.2f times the bytes, %d lanes at the least",
		src.Size(), res.Elapsed.Round(time.Millisecond), ideal.Round(time.Millisecond), res.Attempts, missed, ratio, least)
	if missed == 0 || missed >= s.lanes {
		t.Errorf("%d deadlines were missed: none if the link was not slow, and %d if nobody learned from the first", missed, s.lanes)
	}
	if ratio > 1.8 {
		t.Errorf("sent %.2f times the bytes, want at most 1.8", ratio)
	}
	breakerStayedClosed(t, l.used, l.events)
}
