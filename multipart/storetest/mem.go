package storetest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Mem is a store in memory: a multipart.Control, UploadLister and RangeReader,
// a presign.Provider and an HTTP server for the parts. Safe for concurrent use;
// see [NewMem].
type Mem struct {
	// TTL is how long requests live; 0 = for ever. Set it before the first.
	TTL time.Duration

	// Tamper returns what is stored in place of a body: a part's, an object's
	// (part 0), or, when parts become an object, the whole's (wire.Complete).
	// The store believes that it has the right bytes and says so: only reading
	// shows what it has. It is called under the store's lock and must not call
	// the store. nil tampers with nothing. Set it before the first request.
	Tamper func(op wire.Operation, part int, body []byte) []byte

	// Confess makes a store that tampers name the ETag, the digest and the size
	// of what it has, as one does whose bytes rot before they are hashed.
	Confess bool

	// EditInfo alters what Complete and Head say of an object. nil alters
	// nothing. Set it before the first request.
	EditInfo func(op wire.Operation, info *multipart.Info)

	listener *Listener
	server   *http.Server
	client   *wire.Client
	stop     context.CancelFunc // ends stalled requests

	mu       sync.Mutex
	traits   multipart.Traits
	faults   []*scripted
	requests []Request
	uploads  map[string]*upload
	objects  map[string]Object
	conns    map[net.Conn]struct{}
	ids      int

	nonce atomic.Int64
}

// Object is what the store holds under a key.
type Object struct {
	Body      []byte
	Header    http.Header
	ETag      string
	Digest    chunker.Digest
	Composite int // of so many parts is the digest; 0: of the body

	believed []byte // what the store takes the body for; nil: what it is
}

// Request is one that the store has had, in the order of arrival.
type Request struct {
	Op     wire.Operation
	Part   int
	Time   time.Time
	Expect bool
}

type upload struct {
	intent multipart.Intent
	begun  time.Time
	parts  map[int]part
}

type part struct {
	receipt  multipart.Receipt
	body     []byte // what is stored
	believed []byte // what the store says that it is
}

// NewMem starts a store whose parts are sent under the given limits. Inside a
// bubble it must be closed before the bubble ends.
func NewMem(limits wire.Limits) *Mem {
	m := &Mem{
		listener: Listen(),
		traits: multipart.Traits{Endpoint: "http://mem", Algorithm: chunker.CRC64NVME, FullObject: true, CreateOnly: true,
			Limits: chunker.Limits{MinPart: 1}},
		uploads: map[string]*upload{}, objects: map[string]Object{}, conns: map[net.Conn]struct{}{},
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve), BaseContext: func(net.Listener) context.Context { return ctx }, ConnState: m.track}
	m.client = wire.NewClient(wire.Options{Dial: m.listener.Dial, Limits: limits})
	go m.server.Serve(m.listener)
	return m
}

// Client sends to this store.
func (m *Mem) Client() *wire.Client { return m.client }

// Dial connects to the HTTP side, as Client does.
func (m *Mem) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return m.listener.Dial(ctx, network, address)
}

// Drop breaks all connections; new ones can be made.
func (m *Mem) Drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		c.Close()
	}
}

// track keeps the connections that are open.
func (m *Mem) track(c net.Conn, state http.ConnState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state == http.StateNew {
		m.conns[c] = struct{}{}
	} else if state == http.StateClosed || state == http.StateHijacked {
		delete(m.conns, c)
	}
}

// Close stops the server and closes all connections.
func (m *Mem) Close() {
	m.stop()
	m.client.CloseIdle()
	m.server.Close()
}

// Script adds faults; the first that hits a request decides.
func (m *Mem) Script(faults ...Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range faults {
		m.faults = append(m.faults, &scripted{Fault: f, met: map[int]int{}})
	}
}

// Requests are those that the store has had.
func (m *Mem) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Count is how many of them asked for op.
func (m *Mem) Count(op wire.Operation) int {
	n := 0
	for _, r := range m.Requests() {
		if r.Op == op {
			n++
		}
	}
	return n
}

// Uploads is how many are unfinished.
func (m *Mem) Uploads() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.uploads)
}

// Object is what is under a key.
func (m *Mem) Object(key string) (Object, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	return o, ok
}

// Replace puts another object under a key, as a stranger would.
func (m *Mem) Replace(key string, o Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[key] = o
}

// Forget drops all unfinished uploads, as a lifecycle rule would.
func (m *Mem) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.uploads)
}

// Lose drops a part of an upload that was acknowledged.
func (m *Mem) Lose(uploadID string, part int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u := m.uploads[uploadID]; u != nil {
		delete(u.parts, part)
	}
}

// SetTraits changes what the store says of itself; call it before any upload.
func (m *Mem) SetTraits(t multipart.Traits) { m.traits = t }

// Traits says what the store can do.
func (m *Mem) Traits() multipart.Traits { return m.traits }

// arrive notes a request and returns the fault that strikes it, if any.
func (m *Mem) arrive(op wire.Operation, part int, expect bool) *Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, Request{Op: op, Part: part, Time: time.Now(), Expect: expect})
	for _, s := range m.faults {
		if s.hit(op, part) {
			return &s.Fault
		}
	}
	return nil
}
