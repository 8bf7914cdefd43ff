package integration

import (
	"testing"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/integration/tcpproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// outage is a time in which the store is away, in the middle of a large upload.
type outage struct {
	size   int64
	begin  func(*outageLab)
	end    func(*outageLab)
	limits wire.Limits
}

// outageLab is a lab whose network can be harmed, too.
type outageLab struct {
	*lab
	network *tcpproxy.Proxy
}

const (
	outageLasts = 20 * time.Second
	outageLanes = 8

	// recovery is how long after the outage an upload may still take.
	recovery = 35 * time.Second
)

// The store answers 503 to everybody at once, and what was under way is cut.
func TestOutageRefused(t *testing.T) {
	outage{
		size: 1 << 30,
		begin: func(l *outageLab) {
			l.proxy.Add(faultproxy.Rule{Count: -1, Status: 503, Code: "ServiceUnavailable", Early: true})
			l.network.Reset()
		},
		end: func(l *outageLab) { l.proxy.Reset() },
	}.run(t)
}

// run uploads through the outage: it must end well, soon after the store is back,
// and the store must not have been stormed meanwhile.
func (o outage) run(t *testing.T) {
	l := &outageLab{lab: newLab(t, o.limits)}
	l.network = tcpproxy.Start(t, l.proxy.URL())
	l.at(t, l.network.URL(), o.limits)
	l.proxy.Limit(64 * mib)
	l.options.PartSize, l.endpoint.Lanes = 16*mib, outageLanes
	l.options.Backoff = multipart.Backoff{} // the real one
	src := check.Pattern(o.size)

	type outcome struct {
		res multipart.Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := l.upload(t, src)
		done <- outcome{res, err}
	}()
	parts := int(o.size / l.options.PartSize)
	waitUntil(t, "half of the parts were sent", func() bool { return l.proxy.Count(faultproxy.PutPart) > parts/2 })
	before := l.network.Accepted()
	from := time.Now()
	o.begin(l)
	select {
	case <-time.After(outageLasts):
	case early := <-done:
		t.Fatalf("the upload ended in the outage: %v", early.err)
	}
	seen, to := l.proxy.Requests(), time.Now()
	connections := l.network.Accepted() - before
	o.end(l)

	var out outcome
	select {
	case out = <-done:
	case <-time.After(recovery):
		t.Fatalf("the upload goes on %v after the outage", recovery)
	}
	took := time.Since(to)
	if out.err != nil {
		t.Fatal(out.err)
	}
	check.Equal(t, l.server.Client(), l.bucket, "key", src, src.Size())
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
	o.count(t, l, seen, connections, from, to)
	t.Logf("ended %v after the outage; %v in all, %d retries, %.2f times the bytes", took.Round(time.Millisecond),
		out.res.Elapsed.Round(time.Millisecond), out.res.Retries, float64(out.res.SentBytes)/float64(src.Size()))
}

// count holds the requests of the outage against their bound: those in flight,
// the budget, what it earns by time, and the breaker's probes.
func (o outage) count(t *testing.T, l *outageLab, seen []faultproxy.Request, connections int, from, to time.Time) {
	arrived, begun, probes := 0, 0, 0
	for _, r := range seen {
		if r.Start.After(from) {
			arrived++
		}
	}
	within := func(at time.Time) bool { return at.After(from) && at.Before(to) }
	for _, e := range l.events {
		switch {
		case e.Kind == multipart.Attempted && within(e.Time.Add(-e.Elapsed)):
			begun++
		case e.Kind == multipart.BreakerChanged && e.To == breaker.HalfOpen && within(e.Time):
			probes++
		}
	}
	budget := int(l.used.Budget().CapacityRequests)
	most := outageLanes + budget + int(outageLasts/time.Second)/2 + probes
	t.Logf("in an outage of %v: %d requests arrived, %d attempts began, %d connections were made, %d of them probes; bound %d",
		outageLasts, arrived, begun, connections, probes, most)
	if n := max(arrived, begun, connections); n > most {
		t.Errorf("%d requests in the outage, want at most %d", n, most)
	}
	if begun == 0 {
		t.Error("nobody noticed the outage")
	}
}

// waitUntil waits for something to happen.
func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	bound := time.NewTimer(time.Minute)
	defer bound.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-bound.C:
			t.Fatalf("never: %s", what)
		}
	}
}
