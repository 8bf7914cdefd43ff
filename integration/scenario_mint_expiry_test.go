package integration

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/mint"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// overdue is a provider whose first request for every third part was made so long
// ago that the store finds it expired, and which does not know that.
type overdue struct {
	now, then *s3presign.Presigner

	mu    sync.Mutex
	asked map[int]int
}

func newOverdue(l *lab) *overdue {
	o := &overdue{now: s3presign.New(l.client, r03TTL), asked: map[int]int{}}
	// A client of its own, for clients and presigners share a clock.
	profile, _ := s3store.ByName("minio")
	config := aws.Config{Credentials: l.client.Options().Credentials}
	o.then = s3presign.New(s3store.NewClient(config, profile, l.proxy.URL(), l.wire), r03TTL)
	o.then.Clock().Wall = func() time.Time { return time.Now().Add(-r03TTL - time.Second) }
	return o
}

func (o *overdue) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	o.mu.Lock()
	o.asked[p.Number]++
	first := o.asked[p.Number] == 1
	o.mu.Unlock()
	if first && p.Number%3 == 0 {
		return o.then.Presign(ctx, p)
	}
	return o.now.Presign(ctx, p)
}

// most is how often the part was asked for that was asked for most often.
func (o *overdue) most() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, times := range o.asked {
		n = max(n, times)
	}
	return n
}

// serve serves the lab's bucket through the minting service, of which the calls that
// sign fail so often at first, and returns a client.
func (l *lab) serve(t *testing.T, p presign.Provider, fail int32) *mint.Client {
	t.Helper()
	profile, err := s3store.ByName("minio")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := mint.NewHandler(mint.Options{Control: s3store.New(l.client, profile, l.wire), Provider: p, Bucket: l.bucket,
		Authenticate: mint.Bearer(map[string]mint.Caller{"token": {Name: "test", Prefix: "k"}})})
	if err != nil {
		t.Fatal(err)
	}
	var left atomic.Int32
	left.Store(fail)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signs := r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/s3/multipart/") && strings.Count(r.URL.Path, "/") > 3
		if signs && left.Add(-1) >= 0 {
			http.Error(w, "Bad Gateway", http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	client, err := mint.Dial(t.Context(), server.URL, &mint.ClientOptions{Header: http.Header{"Authorization": {"Bearer token"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	t.Cleanup(func() {
		if left.Load() > 0 {
			t.Errorf("%d calls were to fail", left.Load())
		}
	})
	return client
}

// r03TTL is how long a URL lives in R03.
const r03TTL = 2 * time.Second

// socketBuffer is what may be on its way when a store says no: what the kernel takes
// over a loopback interface.
const socketBuffer = 2 * mib

// R03, https://github.com/dandi/dandi-archive/issues/184: the URLs of a whole upload
// were made at its beginning, and after a day they were over. Here 30 parts take a
// multiple of the time that a URL lives, and ten URLs are over when they arrive: 2 s
// and about 5 s, in parts of 5 MiB (4 s, 20 s and 8 MiB in the scenario). The store
// that looks at the expiry is MinIO.
func TestR03(t *testing.T) {
	t.Run("minted", func(t *testing.T) {
		newLab(t, wire.Limits{}).outlives(t, 0)
	})

	t.Run("minted by a service that answers 502 twice", func(t *testing.T) {
		newLab(t, wire.Limits{}).outlives(t, 2)
	})
}

// outlives uploads for longer than a URL lives, and fails the test unless the figures
// of R03 hold. So many of the service's calls that sign fail.
func (l *lab) outlives(t *testing.T, fail int32) {
	t.Helper()
	p := newOverdue(l)
	const parts = 30
	src := check.Pattern(parts * 5 * mib)
	l.proxy.Limit(parts * 5 * mib / 4)
	l.endpoint.Lanes = 4
	l.endpoint.Breaker = breaker.Options{OnChange: func(from, to breaker.State) { t.Errorf("the breaker went from %v to %v", from, to) }}
	begin := time.Now()
	err := l.uploadThrough(t, l.serve(t, p, fail), src)
	l.succeeds(t, src, err)
	if b := l.used.Budget(); b.Requests != b.CapacityRequests || b.Bytes != b.CapacityBytes {
		t.Errorf("budget %+v", b)
	}
	expired, most := 0, int64(0)
	for _, r := range l.parts() {
		if r.Status == http.StatusForbidden {
			expired++
			most = max(most, r.BodyBytes)
		}
	}
	// One that was handed out when nobody waited any more is not used.
	if expired > parts/3 || expired < parts/3-2 || p.most() > 2 {
		t.Errorf("%d requests were refused, one part was minted %d times", expired, p.most())
	}
	if most > socketBuffer {
		t.Errorf("%d bytes were sent with a request that was over", most)
	}
	took := time.Since(begin)
	if took < r03TTL*3/2 {
		t.Errorf("it took %v, no longer than a URL lives", took)
	}
	t.Logf("%v, %d refused after at most %d bytes", took.Round(time.Millisecond), expired, most)
}

func (l *lab) uploadThrough(t *testing.T, service *mint.Client, src check.Source) error {
	t.Helper()
	l.endpoint.Client = l.wire
	l.used, l.events = multipart.NewEndpoint(l.endpoint), nil
	l.options.Endpoint = l.used
	l.options.OnEvent = func(e multipart.Event) { l.events = append(l.events, e) }
	u, err := multipart.New(service, service, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = u.Upload(t.Context(), multipart.Object{Bucket: l.bucket, Key: "key"}, source{src})
	logTrouble(t, l.events)
	return err
}

// R12 again: what ends because its URLs are over keeps what it has, and goes on from
// there when there are new ones.
func TestR12KeepsItsState(t *testing.T) {
	l := newLab(t, wire.Limits{})
	l.endpoint.Lanes = 1
	l.options.Journal = journal.Open(t.TempDir())
	l.provider = &onceMade{lab: l, dead: 5, over: time.Now().Add(-time.Hour)}
	src := check.Pattern(8 * 5 * mib)
	_, err := l.upload(t, src)
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok || !errors.Is(err, multipart.ErrExpired) || e.Part < 5 || e.Done != 4 || e.Parts != 8 || e.UploadID == "" {
		t.Fatalf("err = %v", err)
	}
	if n := len(l.attempts(e.Part)); n != 1 {
		t.Errorf("part %d was sent %d times", e.Part, n)
	}
	if left, err := l.options.Journal.List(); err != nil || len(left) != 1 {
		t.Errorf("%d journals are left, %v", len(left), err)
	}
	l.proxy.Reset()
	l.provider = nil
	res, err := l.upload(t, src)
	l.succeeds(t, src, err)
	if res.Resumed != 4 || l.proxy.Count(faultproxy.PutPart) != 4 || l.proxy.Count(faultproxy.Create) != 0 {
		t.Errorf("%d parts were there already; requests %v", res.Resumed, l.requests())
	}
}
