package integration

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/browser"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/mint"
)

// companionLab is an uploader whose minting service is a real Companion, which knows
// MinIO by the address of the lab's proxy: its own calls and the URLs that it hands out
// lead there.
type companionLab struct {
	*lab
	address string
}

func newCompanionLab(t *testing.T, rules ...faultproxy.Rule) *companionLab {
	t.Helper()
	l := newLab(t, wire.Limits{}, rules...)
	l.options.Journal = journal.Open(t.TempDir())
	return &companionLab{lab: l, address: browser.Server(t, "testdata/companion",
		"DATA="+t.TempDir(), "STORE="+l.proxy.URL(), "BUCKET="+l.bucket,
		"ACCESS_KEY="+l.server.AccessKey, "SECRET_KEY="+l.server.SecretKey, "EXPIRES=60", "NODE_ENV=production")}
}

// upload uploads over a client of its own, as another run of a program would.
func (l *companionLab) upload(ctx context.Context, t *testing.T, src check.Source) (multipart.Result, error) {
	t.Helper()
	client, err := mint.Dial(ctx, l.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if !client.Plain() || client.Bucket() != "" {
		t.Errorf("a Companion is taken for the service of bucket %q", client.Bucket())
	}
	l.endpoint.Client = l.wire
	l.options.Endpoint = multipart.NewEndpoint(l.endpoint)
	u, err := multipart.New(client, client, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	return u.Upload(ctx, multipart.Object{Bucket: l.bucket, Key: "some/file"}, source{src})
}

// complete fails the test unless the object is the source, under the key that the
// service chose, and no upload is open.
func (l *companionLab) complete(t *testing.T, res multipart.Result, err error, src check.Source) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if res.Object.Key != "companion/file" || res.Size != src.Size() {
		t.Errorf("result %+v", res)
	}
	check.Equal(t, l.server.Client(), l.bucket, "companion/file", src, src.Size())
	check.NoUploads(t, l.server.Client(), l.bucket, "companion/file")
}

// A Companion 6.2.2 hands out the URLs. One of them is said to have expired, and one
// connection breaks.
func TestCompanionUploadsThroughExpiryAndReset(t *testing.T) {
	l := newCompanionLab(t,
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, Status: 403, Code: "AccessDenied", Message: "Request has expired"},
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 3, Reset: true, After: 1 * mib},
	)
	src := check.Random(t, 23*mib+123)
	begin := time.Now()
	res, err := l.upload(t.Context(), t, src)
	t.Logf("%d bytes in %v: %d parts, %d requests, %d mints", src.Size(), time.Since(begin).Round(time.Millisecond),
		res.Parts, res.Requests, res.Mints)
	l.complete(t, res, err, src)
	want := requests{creates: 1, parts: 5 + 2, completes: 1}
	if got := l.requests(); got != want || res.Retries != 2 || res.Parts != 5 {
		t.Errorf("%d parts, %d retries, requests %v, want %v", res.Parts, res.Retries, got, want)
	}
}

// Whatever the size is, it goes up in parts: a Companion signs a PUT of nothing else.
func TestCompanionUploadsSmallObjects(t *testing.T) {
	for _, size := range []int64{0, 1, 5 * mib} {
		l := newCompanionLab(t)
		l.options.Threshold = 0 // what would go up in one PUT at a store
		src := check.Pattern(size)
		res, err := l.upload(t.Context(), t, src)
		l.complete(t, res, err, src)
		want := requests{creates: 1, parts: 1, completes: 1}
		if got := l.requests(); got != want {
			t.Errorf("%d bytes: requests %v, want %v", size, got, want)
		}
	}
}

// An upload that was interrupted goes on where it was, by another client.
func TestCompanionResumes(t *testing.T) {
	l := newCompanionLab(t)
	l.endpoint.Lanes = 1
	src := check.Random(t, 32*mib)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var sent atomic.Int32
	l.proxy.Watch(func(m faultproxy.Moment, r faultproxy.Request) bool {
		if m == faultproxy.Passed && r.Op == faultproxy.PutPart && r.Status == http.StatusOK && sent.Add(1) == 3 {
			interrupt()
		}
		return true
	})
	if _, err := l.upload(ctx, t, src); err == nil {
		t.Fatal("the upload was not interrupted")
	}
	l.proxy.Reset()
	res, err := l.upload(t.Context(), t, src)
	l.complete(t, res, err, src)
	if res.Resumed < 2 || l.proxy.Count(faultproxy.Create) != 0 || l.proxy.Count(faultproxy.PutPart) != 7-res.Resumed {
		t.Errorf("%d parts resumed; requests %v", res.Resumed, l.requests())
	}
}
