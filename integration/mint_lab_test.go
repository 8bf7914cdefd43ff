package integration

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/mint"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// minter is a minting service before the lab's store, on an address of its own. It can
// be stopped and started again, as a deployment does.
type minter struct {
	t      *testing.T
	lab    *lab
	dir    string
	ttl    time.Duration
	token  string
	prefix string // the caller may choose keys below it; empty: the service does
	change func(*mint.Options)
	around func(http.Handler) http.Handler // nil: nothing is

	addr     string
	server   *http.Server
	requests atomic.Int64

	mu    sync.Mutex
	mints map[int]int // by part
}

// minter serves requests that live for ttl, until the test ends.
func (l *lab) minter(t *testing.T, ttl time.Duration) *minter {
	m := &minter{t: t, lab: l, dir: filepath.Join(t.TempDir(), "mint"), ttl: ttl, token: "correct-horse", mints: map[int]int{}, addr: "127.0.0.1:0"}
	t.Cleanup(func() {
		if m.server != nil {
			m.stop()
		}
	})
	return m
}

// start starts the service, or ends the test.
func (m *minter) start() *minter {
	m.t.Helper()
	if err := m.launch(); err != nil {
		m.t.Fatal(err)
	}
	return m
}

// launch starts the service, again if it was stopped.
func (m *minter) launch() error {
	ledger, err := mint.OpenLedger(m.dir)
	if err != nil {
		return err
	}
	profile, err := s3store.ByName("minio")
	if err != nil {
		return err
	}
	o := mint.Options{
		Control: s3store.New(m.lab.client, profile, m.lab.wire), Provider: counted{s3presign.New(m.lab.client, m.ttl), m},
		Bucket: m.lab.bucket, Ledger: ledger, Secret: []byte("0123456789abcdef0123456789abcdef"),
		Authenticate: mint.Bearer(map[string]mint.Caller{m.token: {Name: "someone", Prefix: m.prefix}}),
		Rate:         1000, Burst: 1000,
	}
	if m.change != nil {
		m.change(&o)
	}
	handler, err := mint.NewHandler(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", m.addr)
	if err != nil {
		return err
	}
	m.addr = listener.Addr().String()
	var h http.Handler = handler
	if m.around != nil {
		h = m.around(h)
	}
	m.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.requests.Add(1)
		h.ServeHTTP(w, r)
	})}
	go m.server.Serve(listener)
	return nil
}

func (m *minter) stop() {
	m.server.Close()
	m.server = nil
}

func (m *minter) url() string { return "http://" + m.addr }

// client is one of the service.
func (m *minter) client() *mint.Client {
	m.t.Helper()
	c, err := mint.Dial(m.t.Context(), m.url(), &mint.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + m.token}}})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)
	return c
}

// upload uploads the source through the service.
func (m *minter) upload(src source) (multipart.Result, error) {
	l := m.lab
	l.endpoint.Client = l.wire
	l.used, l.events = multipart.NewEndpoint(l.endpoint), nil
	l.options.Endpoint = l.used
	l.options.OnEvent = func(e multipart.Event) { l.events = append(l.events, e) }
	c := m.client()
	u, err := multipart.New(c, c, &l.options)
	if err != nil {
		m.t.Fatal(err)
	}
	return u.Upload(m.t.Context(), multipart.Object{Bucket: l.bucket, Key: m.prefix + "key"}, src)
}

// mostMints is how many requests the service has made for the part that got most, and
// for all.
func (m *minter) mostMints() (most, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.mints {
		most, all = max(most, n), all+n
	}
	return most, all
}

// counted counts what it is asked for.
type counted struct {
	presign.Provider
	m *minter
}

func (c counted) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	c.m.mu.Lock()
	c.m.mints[p.Number]++
	c.m.mu.Unlock()
	return c.Provider.Presign(ctx, p)
}

// spent fails if the budget was ever less than full, or a part was refused as expired
// more than most times.
func (l *lab) unspent(t *testing.T) {
	t.Helper()
	expired := 0
	for _, e := range l.events {
		if e.Kind == multipart.Progressed && (e.Budget.Requests < e.Budget.CapacityRequests || e.Budget.Bytes < e.Budget.CapacityBytes) {
			t.Fatalf("budget spent: %+v", e.Budget)
		}
		if e.Kind == multipart.Attempted && e.Class == wire.Remint {
			expired++
		}
	}
	t.Logf("%d refused as expired", expired)
	breakerStayedClosed(t, l.used, l.events)
}
