package integration

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/integration/minio"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

var (
	store  minio.Shared
	ownDir string // of all tests
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "chunkup-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ownDir = dir
	code := m.Run()
	store.Stop()
	os.RemoveAll(dir)
	os.Exit(code)
}

// lab is an uploader to a bucket of MinIO, behind a proxy.
type lab struct {
	server   *minio.Server
	proxy    *faultproxy.Proxy
	bucket   string
	client   *s3.Client // of the uploader, through the proxy
	wire     *wire.Client
	ttl      time.Duration
	provider presign.Provider // nil: local signing
	endpoint multipart.EndpointOptions
	options  multipart.Options

	used   *multipart.Endpoint
	events []multipart.Event
}

// newLab puts a lab up; parts have 5 MiB and nothing goes up in one PUT, unless
// the test says otherwise. limits are those of each attempt.
func newLab(t *testing.T, limits wire.Limits, rules ...faultproxy.Rule) *lab {
	t.Helper()
	l := &lab{server: store.Server(t)}
	l.bucket = l.server.Bucket(t)
	check.Leaks(t)
	proxy, err := faultproxy.Start(l.server.URL, rules...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	l.proxy = proxy
	l.options = multipart.Options{PartSize: 5 * mib, Threshold: -1, Backoff: multipart.Backoff{Base: 10 * time.Millisecond}}
	l.at(t, proxy.URL(), limits)
	return l
}

// at points the uploader at an address that leads to the store.
func (l *lab) at(t *testing.T, url string, limits wire.Limits) {
	l.wire = wire.NewClient(wire.Options{Limits: limits})
	t.Cleanup(l.wire.CloseIdle)
	profile, err := s3store.ByName("minio")
	if err != nil {
		t.Fatal(err)
	}
	l.client = s3store.NewClient(aws.Config{Credentials: l.server.Client().Options().Credentials}, profile, url, l.wire)
}

// upload uploads the source and returns what came of it.
func (l *lab) upload(t *testing.T, src check.Source) (multipart.Result, error) {
	t.Helper()
	l.endpoint.Client = l.wire
	return l.uploadAt(t, multipart.NewEndpoint(l.endpoint), src)
}

// uploadAt uploads over an endpoint that other uploads share.
func (l *lab) uploadAt(t *testing.T, e *multipart.Endpoint, src check.Source) (multipart.Result, error) {
	t.Helper()
	profile, _ := s3store.ByName("minio")
	l.used, l.options.Endpoint, l.events = e, e, nil
	l.options.OnEvent = func(e multipart.Event) { l.events = append(l.events, e) }
	provider := l.provider
	if provider == nil {
		provider = s3presign.New(l.client, l.ttl)
	}
	u, err := multipart.New(s3store.New(l.client, profile, l.wire), provider, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.Upload(t.Context(), multipart.Object{Bucket: l.bucket, Key: "key"}, source{src})
	if t.Failed() || err != nil {
		for _, e := range l.events {
			if e.Err != nil {
				t.Logf("%s %d, attempt %d: %v after %v: %v", e.Op, e.Part, e.Attempt, e.Class, e.Elapsed, e.Err)
			}
		}
	}
	return res, err
}

// source is a check.Source that does not change.
type source struct{ check.Source }

func (source) Changed() error { return nil }

// uploaded uploads and fails unless all is well: the object equals the source,
// nothing is open at the store, and the requests are as many as told.
func (l *lab) uploaded(t *testing.T, src check.Source, want requests) multipart.Result {
	t.Helper()
	res, err := l.upload(t, src)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, l.server.Client(), l.bucket, "key", src, src.Size())
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
	if res.Size != src.Size() || res.ETag == "" {
		t.Errorf("result %+v", res)
	}
	if got := l.requests(); got != want {
		t.Errorf("requests %v\nwant     %v", got, want)
	}
	return res
}

// requests is how many of each kind the proxy has seen.
type requests struct {
	objects, creates, parts, completes, heads, lists, aborts, others int
}

func (r requests) String() string {
	return fmt.Sprintf("%d objects, %d creates, %d parts, %d completes, %d heads, %d lists, %d aborts, %d others",
		r.objects, r.creates, r.parts, r.completes, r.heads, r.lists, r.aborts, r.others)
}

func (l *lab) requests() requests {
	r := requests{
		objects: l.proxy.Count(faultproxy.PutObject), creates: l.proxy.Count(faultproxy.Create),
		parts: l.proxy.Count(faultproxy.PutPart), completes: l.proxy.Count(faultproxy.Complete),
		heads: l.proxy.Count(faultproxy.Head), lists: l.proxy.Count(faultproxy.ListParts),
		aborts: l.proxy.Count(faultproxy.Abort),
	}
	r.others = l.proxy.Count(faultproxy.Any) - r.objects - r.creates - r.parts - r.completes - r.heads - r.lists - r.aborts
	return r
}

// attempts are the requests for one part, in order.
func (l *lab) attempts(part int) (rs []faultproxy.Request) {
	for _, r := range l.proxy.Requests() {
		if r.Op == faultproxy.PutPart && r.Part == part {
			rs = append(rs, r)
		}
	}
	return rs
}
