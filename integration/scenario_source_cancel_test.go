package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// cancels is a store with a key prefix for each point at which uploads get stuck.
type cancels struct {
	store *rawstore.Store
	desk  *desk
	src   check.Source
	mint  chan struct{} // open: no request for some keys

	mu    sync.Mutex
	there map[string]chan struct{} // closed when the upload of the key has come to its point
}

// stages are the points, by what the store or the provider is asked for there.
var stages = map[string]string{"create": "POST", "body": "PUT", "answer": "PUT", "backoff": "PUT", "mint": "mint",
	"complete": "POST uploadId", "anywhere": "nothing"}

// come tells that an upload has come somewhere.
func (c *cancels) come(key, what string) {
	stage, _, _ := strings.Cut(key, "-")
	if stages[stage] != what {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.there[key]:
	default:
		close(c.there[key])
	}
}

// rule never hits; it is how the requests come to be seen.
func (c *cancels) rule() rawstore.Rule {
	return rawstore.Rule{Match: func(r *http.Request) bool {
		what := r.Method
		if what == http.MethodPost && r.URL.Query().Has("uploadId") {
			what += " uploadId"
		}
		if key, ok := strings.CutPrefix(r.URL.Path, "/bucket/"); ok {
			c.come(key, what)
		}
		return false
	}}
}

// stuckMint gives no request for some keys, until it may.
type stuckMint struct {
	presign.Provider
	at *cancels
}

func (m stuckMint) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	m.at.come(p.Key, "mint")
	if strings.HasPrefix(p.Key, "mint") {
		select {
		case <-m.at.mint:
		case <-ctx.Done():
			return presign.Request{}, context.Cause(ctx)
		}
	}
	return m.Provider.Presign(ctx, p)
}

func newCancels(t *testing.T) *cancels {
	t.Helper()
	of := func(prefix string) func(*http.Request) bool {
		return func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/bucket/"+prefix) }
	}
	stuck := func(op rawstore.Op, stage string, do ...rawstore.Step) rawstore.Rule {
		return rawstore.Rule{Op: op, Match: of(stage), Count: -1, Do: do}
	}
	c := &cancels{src: check.Pattern(2 * mib), mint: make(chan struct{}), there: map[string]chan struct{}{}}
	c.store = rawstore.Start(t, rawstore.Options{ReadBuffer: 64 * kib, Rules: []rawstore.Rule{
		c.rule(),
		stuck(rawstore.Create, "create", rawstore.Freeze()),
		stuck(rawstore.PutPart, "body", rawstore.Freeze()),
		stuck(rawstore.PutPart, "answer", rawstore.ReadAll(), rawstore.Freeze()),
		stuck(rawstore.PutPart, "backoff", rawstore.ReadAll(), rawstore.Refuse(503, "ServiceUnavailable", "not now")),
		stuck(rawstore.Complete, "complete", rawstore.ReadAll(), rawstore.Freeze()),
	}})
	c.desk = newDesk(t, generic(t), c.store.URL(), wire.Limits{Answer: 3 * time.Second})
	c.desk.provider = stuckMint{c.desk.provider, c}
	c.desk.options.PartSize = mib
	c.desk.options.AbortTimeout = abortLimit
	c.desk.options.Backoff = multipart.Backoff{Base: 5 * time.Second, Jitter: multipart.NoJitter}
	return c
}

// abortLimit bounds what an upload that was cancelled may still do.
const abortLimit = 2 * time.Second

// upload uploads and is cancelled some moments after it has come to its point.
func (c *cancels) upload(t *testing.T, key, stage string, stream bool) {
	there := make(chan struct{})
	c.mu.Lock()
	c.there[key] = there
	c.mu.Unlock()
	if stage == "anywhere" {
		close(there)
	}
	u := c.quietly(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cancelled time.Time
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-there:
		case <-ctx.Done(): // it has failed before
		}
		time.Sleep(rand.N(20 * time.Millisecond))
		cancelled = time.Now()
		cancel()
	})
	var err error
	o := multipart.Object{Bucket: "bucket", Key: key}
	if stream {
		_, err = u.UploadStream(ctx, o, bytesOf(c.src), 0)
	} else {
		_, err = u.Upload(ctx, o, source{c.src})
	}
	returned := time.Now()
	if err == nil && stage == "anywhere" { // it was done before
		return
	}
	cancel()
	waiting.Wait()
	c.over(t, key, err, cancelled, returned)
}

// over looks at an upload that has returned.
func (c *cancels) over(t *testing.T, key string, err error, cancelled, returned time.Time) {
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%s: err = %v", key, err)
	}
	// It may take a while to clean up, or to look at what has become of Complete.
	noticed := returned
	for _, r := range c.store.Requests() {
		if r.Key == key && (r.Op == rawstore.Abort || r.Op == rawstore.Head) && r.Start.Before(noticed) {
			noticed = r.Start
		}
	}
	if d := noticed.Sub(cancelled); d > time.Second {
		t.Errorf("%s: went on for %v after the cancel", key, d)
	}
	if d := returned.Sub(noticed); d > abortLimit {
		t.Errorf("%s: cleaned up for %v", key, d)
	}
	e, ok := errors.AsType[*multipart.Error](err)
	switch {
	case ok && e.Abort != nil:
		t.Errorf("%s: %v", key, err)
	case !ok || !e.Orphan && !errors.Is(err, multipart.ErrUnknownOutcome):
		check.NoUploads(t, c.store.Client(), "bucket", key)
	}
}

// quietly is desk.uploader for many uploads at a time: nobody listens to events.
func (c *cancels) quietly(t *testing.T) *multipart.Uploader {
	d := desk{profile: c.desk.profile, wire: c.desk.wire, client: c.desk.client, provider: c.desk.provider, options: c.desk.options}
	d.options.OnEvent = func(multipart.Event) {}
	return d.uploader(t)
}

// https://github.com/minio/minio-go/pull/2170: uploads that were cancelled left
// goroutines behind for ever. Here a cancel reaches whatever an upload waits for,
// and it returns when all that it has begun is over.
func TestR49Cancelled(t *testing.T) {
	check.Leaks(t)
	c := newCancels(t)
	before := goleak.IgnoreCurrent()
	const each = 29 // of 7 stages: 203 uploads
	var all sync.WaitGroup
	for stage := range stages {
		all.Go(func() {
			for i := 0; i < each && !t.Failed(); i++ {
				c.upload(t, fmt.Sprint(stage, "-", i), stage, i%2 == 1)
			}
		})
	}
	all.Wait()
	close(c.mint)
	sent := len(c.store.Requests())

	// The store is still there, with all that it has frozen: whatever is gone has
	// gone by itself.
	c.desk.wire.CloseIdle()
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("github.com/chunkup/chunkup/integration/rawstore.(*Store).serve")); err != nil {
		t.Error(err)
	}
	c.desk.dialed.mu.Lock()
	for local, conn := range c.desk.dialed.conns {
		if !errors.Is(conn.SetDeadline(time.Time{}), net.ErrClosed) {
			t.Errorf("the connection from %s is open", local)
		}
	}
	c.desk.dialed.mu.Unlock()
	if now := len(c.store.Requests()); now != sent {
		t.Errorf("%d requests after the uploads had returned", now-sent)
	}
}
