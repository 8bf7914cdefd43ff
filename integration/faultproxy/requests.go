package faultproxy

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Request is what the proxy saw of one request.
type Request struct {
	Method   string
	Op       Op
	Bucket   string
	Key      string
	Part     int    // 0 when the request has none
	UploadID string // empty when the request has none
	Expect   bool   // it came with Expect: 100-continue

	Conn       int64  // number of the client's connection, from 1
	RemoteAddr string // the client's end of it

	Status    int   // sent to the client; 0: none, or not yet
	BodyBytes int64 // read from the client so far
	Fault     *Rule // the rule that took it, nil if none did; not to be changed

	Err error // why the upstream's answer did not come, nil if it did

	Start time.Time // its head had been read
	End   time.Time // the proxy was done with it; zero while it is not
}

// record is a Request that is still being written to.
type record struct {
	mu    sync.Mutex
	req   Request
	bytes atomic.Int64
}

func (r *record) status(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.req.Status = code
}

func (r *record) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.req.Err = err
}

func (r *record) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.req.End = time.Now()
}

func (r *record) snapshot() Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.req
	q.BodyBytes = r.bytes.Load()
	return q
}

// history lists the records in order of arrival. It is safe for concurrent
// use.
type history struct {
	mu   sync.Mutex
	list []*record
}

func (h *history) add(q Request) *record {
	r := &record{req: q}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, r)
	return r
}

func (h *history) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = nil
}

func (h *history) snapshot() []Request {
	h.mu.Lock()
	list := slices.Clone(h.list)
	h.mu.Unlock()
	out := make([]Request, len(list))
	for i, r := range list {
		out[i] = r.snapshot()
	}
	return out
}
