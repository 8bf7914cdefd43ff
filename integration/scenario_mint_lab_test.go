package integration

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// gate stands before a store and looks at each request's head: whose key signed it,
// and when. What it refuses it does not read.
type gate struct {
	url   string
	ahead time.Duration         // of the store's clock; not to be changed once in use
	judge func(signed) *s3Error // nil lets the request through; called one at a time

	ledger *ledger
	next   *httputil.ReverseProxy
	mu     sync.Mutex
	seen   []signed
}

// signed is a request as it arrived.
type signed struct {
	op      rawstore.Op
	part    int
	key     string    // id
	token   string    // of the session
	at      time.Time // when it was signed, by whoever did
	now     time.Time // by the store's clock
	refused bool
}

// newGate puts a gate before a ledger, which knows what is sent.
func newGate(t *testing.T, l *ledger, judge func(signed) *s3Error) *gate {
	t.Helper()
	up, err := url.Parse(l.url)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{ledger: l, judge: judge}
	g.next = &httputil.ReverseProxy{
		Transport: &http.Transport{},
		ErrorLog:  log.New(io.Discard, "", 0), // clients go as they like
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(up)
			r.Out.Header.Del("Expect") // the server has answered that already
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Date", g.date())
			return nil
		},
	}
	server := httptest.NewServer(g)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		g.next.Transport.(*http.Transport).CloseIdleConnections()
	})
	g.url = server.URL
	return g
}

// desk is a desk before the gate, with four lanes and parts of 1 MiB.
func (g *gate) desk(t *testing.T, creds aws.CredentialsProvider) *desk {
	t.Helper()
	profile, err := s3store.ByName("minio")
	if err != nil {
		t.Fatal(err)
	}
	profile.Traits.Limits.MinPart = 1
	d := newDesk(t, profile, g.url, wire.Limits{})
	d.client = s3store.NewClient(aws.Config{Credentials: creds}, profile, g.url, d.wire)
	d.provider = s3presign.New(d.client, 0)
	d.options.PartSize = mib
	d.endpoint.Lanes = gateLanes
	return d
}

const gateLanes = 4

func (g *gate) now() time.Time { return time.Now().Add(g.ahead) }

func (g *gate) date() string { return g.now().UTC().Format(http.TimeFormat) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	s := g.read(r)
	refusal := g.judge(s)
	s.refused = refusal != nil
	g.seen = append(g.seen, s)
	g.mu.Unlock()
	if refusal == nil {
		g.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Date", g.date())
	g.ledger.answer(w, refusal)
}

// read finds the signature in the query or in the headers.
func (g *gate) read(r *http.Request) signed {
	s := signed{now: g.now()}
	s.op, s.part = opOf(r)
	query := r.URL.Query()
	credential, date := query.Get("X-Amz-Credential"), query.Get("X-Amz-Date")
	s.token = query.Get("X-Amz-Security-Token")
	if credential == "" {
		_, credential, _ = strings.Cut(r.Header.Get("Authorization"), "Credential=")
		date, s.token = r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Security-Token")
	}
	s.key, _, _ = strings.Cut(credential, "/")
	s.at, _ = time.Parse("20060102T150405Z", date)
	return s
}

// arrived are the requests in the order of their arrival.
func (g *gate) arrived() []signed {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}

// refusals is how many requests were refused, and most of one part.
func (g *gate) refusals() (all, part int) {
	parts := map[int]int{}
	for _, s := range g.arrived() {
		if s.refused {
			all++
			parts[s.part]++
			part = max(part, parts[s.part])
		}
	}
	return all, part
}
