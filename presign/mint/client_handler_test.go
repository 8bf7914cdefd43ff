package mint

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// minted is a whole way: an uploader that has only a client, the service, and its store
// in memory. Everything runs in one bubble.
type minted struct {
	store    *storetest.Mem
	calls    atomic.Int64 // to the service
	trouble  func(n int64, r *http.Request) (status int)
	client   *Client
	uploader *multipart.Uploader
}

const mintedToken = "Bearer s3cret-token"

// newMinted starts a service whose callers may choose keys, or not.
func newMinted(t *testing.T, caller Caller, ttl time.Duration, trouble func(int64, *http.Request) int) *minted {
	m := &minted{store: storetest.NewMem(wire.Limits{}), trouble: trouble}
	m.store.TTL = ttl
	caller.Name = "me"
	handler, err := NewHandler(Options{Control: m.store, Provider: m.store, Bucket: "bucket",
		Authenticate: Bearer(map[string]Caller{strings.TrimPrefix(mintedToken, "Bearer "): caller})})
	if err != nil {
		t.Fatal(err)
	}
	way := storetest.Listen()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := m.fails(r); status != 0 {
			w.WriteHeader(status)
			return
		}
		handler.ServeHTTP(w, r)
	})}
	go server.Serve(way)
	network := &http.Transport{DialContext: way.Dial}
	m.client, err = Dial(t.Context(), "http://mint", &ClientOptions{Header: http.Header{"Authorization": {mintedToken}},
		HTTP: &http.Client{Transport: network}})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := multipart.NewEndpoint(multipart.EndpointOptions{Client: m.store.Client()})
	m.uploader, err = multipart.New(m.client, m.client, &multipart.Options{Endpoint: endpoint, PartSize: 1 << 10, Threshold: 2 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.client.Close()
		network.CloseIdleConnections()
		server.Close()
		m.store.Close()
	})
	return m
}

func (m *minted) fails(r *http.Request) int {
	n := m.calls.Add(1)
	if m.trouble == nil {
		return 0
	}
	return m.trouble(n, r)
}

// upload uploads so many bytes and compares what the store has.
func (m *minted) upload(t *testing.T, o multipart.Object, size int) multipart.Result {
	t.Helper()
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
	o.Bucket = "bucket"
	result, err := m.uploader.Upload(t.Context(), o, chunker.NewReaderAt(bytes.NewReader(body), int64(size)))
	if err != nil {
		t.Fatal(err)
	}
	object, ok := m.store.Object(result.Object.Key)
	if !ok || !bytes.Equal(object.Body, body) || m.store.Uploads() != 0 {
		t.Errorf("the store has %d bytes under %s, and %d unfinished uploads", len(object.Body), result.Object.Key, m.store.Uploads())
	}
	for name, value := range o.Metadata {
		if got := object.Header.Get("X-Amz-Meta-" + name); got != value {
			t.Errorf("metadata %s: %q, want %q", name, got, value)
		}
	}
	return result
}

// A whole upload without credentials: in parts, in one PUT, of nothing, and of a stream;
// under keys that the caller chooses, and under those of the service.
func TestClientHandler(t *testing.T) {
	for name, caller := range map[string]Caller{"chosen": {Prefix: "dir/"}, "the service's": {}} {
		for _, size := range []int{0, 1, 1000, 40_000} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newMinted(t, caller, time.Hour, nil)
					o := multipart.Object{Key: "dir/key.txt", Metadata: map[string]string{"owner": "me"}, Header: http.Header{"Content-Type": {"text/plain"}, "Cache-Control": {"no-store"}}}
					r := m.upload(t, o, size)
					chosen := name == "chosen"
					if (r.Object.Key == o.Key) != chosen || !strings.HasSuffix(r.Object.Key, "key.txt") {
						t.Errorf("the key is %s", r.Object.Key)
					}
					if parts := (size + 1023) / 1024; r.Parts != parts && !(chosen && size < 2048 && r.Parts == 0) && !(!chosen && size == 0 && r.Parts == 1) {
						t.Errorf("%d parts of %d bytes", r.Parts, size)
					}
					if size == 40_000 && m.calls.Load() > 30 { // 40 parts cost 40 calls one at a time
						t.Errorf("%d calls to the service for %d parts", m.calls.Load(), r.Parts)
					}
					if got, _ := m.store.Object(r.Object.Key); got.Header.Get("Content-Type") != "text/plain" || got.Header.Get("Cache-Control") != "no-store" {
						t.Errorf("the object has %v", got.Header)
					}
				})
			})
		}
	}
}

// A stream, whose size nobody knows when the upload is begun.
func TestClientHandlerStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMinted(t, Caller{Prefix: "dir/"}, time.Hour, nil)
		body := strings.Repeat("stream", 2000)
		r, err := m.uploader.UploadStream(t.Context(), multipart.Object{Bucket: "bucket", Key: "dir/s"}, strings.NewReader(body), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := m.store.Object("dir/s"); string(got.Body) != body {
			t.Errorf("the store has %d bytes: %+v", len(got.Body), r)
		}
	})
}

// A service that fails every third time is no trouble of the store's: the upload ends
// well, the budget is whole, and nothing is begun twice: R03,
// https://github.com/dandi/dandi-archive/issues/184.
func TestClientHandlerTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMinted(t, Caller{Prefix: "dir/"}, 3*time.Second, func(n int64, r *http.Request) int {
			if n%3 == 0 {
				return 502
			}
			return 0
		})
		r := m.upload(t, multipart.Object{Key: "dir/key"}, 40_000)
		if creates := m.store.Count(wire.Create); creates != 1 || r.Retries != 0 {
			t.Errorf("%d creates, %d retries of parts", creates, r.Retries)
		}
	})
}

// A lost answer to a create or a complete leaves one upload and one object.
func TestClientHandlerLostAnswer(t *testing.T) {
	for _, op := range []wire.Operation{wire.Create, wire.Complete} {
		t.Run(op.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMinted(t, Caller{Prefix: "dir/"}, time.Hour, nil)
				m.store.Script(storetest.Fault{Op: op, Apply: true, Reset: true})
				m.upload(t, multipart.Object{Key: "dir/key"}, 5000)
			})
		})
	}
}

// Every call of the client's, one by one, means to the handler what it means here.
func TestClientHandlerCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMinted(t, Caller{Prefix: "dir/"}, time.Hour, nil)
		ctx, c := t.Context(), m.client
		i := multipart.Intent{Bucket: "bucket", Key: "dir/k y/ü?#", Size: -1, Header: http.Header{"X-Amz-Meta-Chunkup-Token": {"T"}},
			Algorithm: chunker.CRC64NVME, FullObject: true}
		u, err := c.Create(ctx, i)
		again, err2 := c.Create(ctx, i)
		if err != nil || err2 != nil || u.Key != i.Key || u.Bucket != "bucket" || again != u || m.store.Count(wire.Create) != 1 {
			t.Fatalf("%v, %v and %v, %v", u, err, again, err2)
		}
		i.Size = 5
		if _, err := c.Create(ctx, i); statusOf(err) != 422 {
			t.Errorf("another upload of the same token: %v", err)
		}
		body := "hello"
		put(t, m, presign.Part{Bucket: "bucket", Key: u.Key, UploadID: u.ID, Number: 1, Size: 5}, body, nil)
		parts, err := c.List(ctx, u)
		if err != nil || len(parts) != 1 || parts[0].Size != 5 || parts[0].Digest.IsZero() {
			t.Fatalf("List: %v, %v", parts, err)
		}
		if _, err := c.List(ctx, multipart.Upload{Bucket: "bucket", Key: "dir/other", ID: u.ID}); statusOf(err) != 404 || !isGone(err) {
			t.Errorf("List of another key: %v", err)
		}
		if _, err := c.Head(ctx, "bucket", u.Key); !is404(err) {
			t.Errorf("Head of nothing: %v", err)
		}
		if _, err := c.Complete(ctx, u, multipart.Completion{Parts: parts, Size: 6}); statusOf(err) != 400 {
			t.Errorf("Complete of another size: %v", err)
		}
		info, err := c.Complete(ctx, u, multipart.Completion{Parts: parts, Size: 5, Algorithm: chunker.CRC64NVME, FullObject: true, Digest: parts[0].Digest})
		if err != nil || info.ETag == "" || info.Digest != parts[0].Digest {
			t.Fatalf("Complete: %v, %v", info, err)
		}
		head, err := c.Head(ctx, "bucket", u.Key)
		if err != nil || head.Size != 5 || head.ETag != info.ETag || head.Metadata[tokenKey] != "T" {
			t.Errorf("Head: %+v, %v", head, err)
		}
		second, err := c.Create(ctx, multipart.Intent{Bucket: "bucket", Key: "dir/z", Size: 1})
		if err != nil || c.Abort(ctx, second) != nil || c.Abort(ctx, second) != nil || m.store.Uploads() != 0 {
			t.Errorf("Abort: %v, %d uploads are left", err, m.store.Uploads())
		}
		if _, err := c.Create(ctx, multipart.Intent{Bucket: "bucket", Key: "elsewhere", Size: 1}); !errors.Is(err, presign.ErrCredentials) {
			t.Errorf("a key outside of the prefix: %v", err)
		}
	})
}

// One PUT, with every property that an object can have, may only create one.
func TestClientHandlerObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMinted(t, Caller{Prefix: "dir/"}, time.Hour, nil)
		sum := md5.Sum([]byte("hello"))
		p := presign.Part{Bucket: "bucket", Key: "dir/x", Size: 5, ChecksumHeader: "Content-Md5", Checksum: base64.StdEncoding.EncodeToString(sum[:]),
			Header: http.Header{"If-None-Match": {"*"}, "X-Amz-Meta-Owner": {"me & you"}, "Content-Type": {"text/plain"}}}
		put(t, m, p, "hello", nil)
		if o, _ := m.store.Object("dir/x"); string(o.Body) != "hello" || o.Header.Get("X-Amz-Meta-Owner") != "me & you" || o.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%+v", o)
		}
		put(t, m, p, "hello", func(err error) bool {
			e, ok := errors.AsType[*wire.StoreError](err)
			return ok && e.Status == 412
		})
		p.Checksum, p.Header = "AAAAAAAAAAAAAAAAAAAAAA==", nil
		put(t, m, p, "hello", func(err error) bool {
			e, ok := errors.AsType[*wire.StoreError](err)
			return ok && e.Code == "BadDigest"
		})
	})
}

// A batch through the handler brings for each part what a call of its own would.
func TestClientHandlerBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMinted(t, Caller{}, time.Hour, nil)
		u, err := m.client.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "x", Size: 50})
		if err != nil {
			t.Fatal(err)
		}
		before := m.calls.Load()
		for n := range 50 {
			m.client.Anticipate(presign.Part{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: n + 1, Size: 1,
				ChecksumHeader: "Content-Md5", Checksum: md5Of(fmt.Sprint(n % 10))})
		}
		time.Sleep(time.Second)
		for n := range 50 {
			put(t, m, presign.Part{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: n + 1, Size: 1,
				ChecksumHeader: "Content-Md5", Checksum: md5Of(fmt.Sprint(n % 10))}, fmt.Sprint(n%10), nil)
		}
		parts, err := m.client.List(t.Context(), u)
		if calls := m.calls.Load() - before; err != nil || len(parts) != 50 || calls > 6 { // how many come while one is under way is not sure
			t.Errorf("%d parts after %d calls: %v", len(parts), calls, err)
		}
	})
}

// put sends a body with a request of the client's; wrong nil: it has to arrive.
func put(t *testing.T, m *minted, p presign.Part, body string, wrong func(error) bool) {
	t.Helper()
	r, err := m.client.Presign(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.store.Client().Do(context.Background(), wire.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: io.NopCloser(strings.NewReader(body)), Size: int64(len(body))})
	if wrong == nil && err != nil || wrong != nil && !wrong(err) {
		t.Errorf("PUT: %v", err)
	}
}

func md5Of(s string) string {
	sum := md5.Sum([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func is404(err error) bool {
	e, ok := errors.AsType[*wire.StoreError](err)
	return ok && e.Status == 404
}
