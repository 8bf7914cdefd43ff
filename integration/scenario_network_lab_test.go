package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// rawLab is an uploader to a rawstore. Several may run at the same time: looking
// for leaks is left to the test that has them all.
type rawLab struct {
	store    *rawstore.Store
	wire     *wire.Client
	client   *s3.Client // of the uploader
	provider presign.Provider
	endpoint multipart.EndpointOptions
	options  multipart.Options
	dialed   dialed

	used   *multipart.Endpoint
	events []multipart.Event
}

// newRawLab puts a lab up; nothing goes up in one PUT unless the test says so.
func newRawLab(t *testing.T, limits wire.Limits, o rawstore.Options) *rawLab {
	t.Helper()
	l := &rawLab{store: rawstore.Start(t, o)}
	l.at(t, l.store.URL(), limits)
	l.options = multipart.Options{PartSize: 8 * mib, Threshold: -1, Backoff: multipart.Backoff{Base: 10 * time.Millisecond}}
	return l
}

// at points the uploader at an address that leads to the store.
func (l *rawLab) at(t *testing.T, url string, limits wire.Limits) {
	l.wire = wire.NewClient(wire.Options{Limits: limits, TLS: &tls.Config{RootCAs: l.store.Roots()}, Dial: l.dialed.dial})
	t.Cleanup(l.wire.CloseIdle)
	config := aws.Config{Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")}
	l.client = s3store.NewClient(config, generic(t), url, l.wire)
	l.provider = s3presign.New(l.client, 0)
}

// generic is the profile that rawstore fits, for parts of any size.
func generic(t *testing.T) s3store.Profile {
	t.Helper()
	profile, err := s3store.ByName("generic")
	if err != nil {
		t.Fatal(err)
	}
	profile.Traits.Limits.MinPart = 1
	return profile
}

func (l *rawLab) upload(ctx context.Context, t *testing.T, src check.Source) (multipart.Result, error) {
	t.Helper()
	l.endpoint.Client = l.wire
	l.used = multipart.NewEndpoint(l.endpoint)
	l.options.Endpoint = l.used
	l.events = nil
	l.options.OnEvent = func(e multipart.Event) { l.events = append(l.events, e) }
	u, err := multipart.New(s3store.New(l.client, generic(t), l.wire), l.provider, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.Upload(ctx, multipart.Object{Bucket: "bucket", Key: "key"}, source{src})
	logTrouble(t, l.events)
	return res, err
}

// uploaded uploads and fails unless the object equals the source and nothing is
// open at the store.
func (l *rawLab) uploaded(t *testing.T, src check.Source) multipart.Result {
	t.Helper()
	res, err := l.upload(t.Context(), t, src)
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, src)
	return res
}

func (l *rawLab) holds(t *testing.T, src check.Source) {
	t.Helper()
	check.Equal(t, l.store.Client(), "bucket", "key", src, src.Size())
	check.NoUploads(t, l.store.Client(), "bucket", "key")
}

// logTrouble says in the end which attempts went wrong, if the test does.
func logTrouble(t *testing.T, events []multipart.Event) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			logAttempts(t, events)
		}
	})
}

func logAttempts(t *testing.T, events []multipart.Event) {
	t.Helper()
	for _, e := range events {
		if e.Kind == multipart.Attempted && e.Err != nil {
			t.Logf("%s %d, attempt %d: %v after %v, %d bytes: %v", e.Op, e.Part, e.Attempt, e.Class, e.Elapsed.Round(time.Millisecond), e.Sent, e.Err)
		}
	}
}

// breakerStayedClosed fails the test if the breaker took part.
func breakerStayedClosed(t *testing.T, e *multipart.Endpoint, events []multipart.Event) {
	t.Helper()
	for _, e := range events {
		if e.Kind == multipart.BreakerChanged {
			t.Errorf("the breaker went from %v to %v", e.From, e.To)
		}
	}
	if s := e.Breaker(); s != breaker.Closed {
		t.Errorf("the breaker is %v", s)
	}
}

// tries are the attempts at a part that the events tell of.
func tries(events []multipart.Event, part int) (list []multipart.Event) {
	for _, e := range events {
		if e.Kind == multipart.Attempted && e.Op == wire.PutPart && e.Part == part {
			list = append(list, e)
		}
	}
	return list
}

// dialed remembers connections. Its zero value is ready; it is safe for
// concurrent use.
type dialed struct {
	mu    sync.Mutex
	conns map[string]*net.TCPConn // by local address
}

func (d *dialed) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp := c.(*net.TCPConn)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns == nil {
		d.conns = map[string]*net.TCPConn{}
	}
	d.conns[tcp.LocalAddr().String()] = tcp
	return tcp, nil
}

// closed tells whether the client has closed the connection with that local
// address.
func (d *dialed) closed(local string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.conns[local]
	return c != nil && errors.Is(c.SetDeadline(time.Time{}), net.ErrClosed)
}

// early is a refusal that is sent before the request's body is read, and then the
// connection is closed, as it says.
func early(status int, contentType, body string) []rawstore.Step {
	head := http.Header{"Content-Type": {contentType}, "Connection": {"close"}}
	return []rawstore.Step{rawstore.Answer(status, head, body), rawstore.Close()}
}
