package rawstore

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Op is the S3 operation of a request.
type Op string

// The operations that the store knows. Any, in a rule, is all of them.
const (
	Any         Op = ""
	PutPart     Op = "put part"
	PutObject   Op = "put object"
	Create      Op = "create"
	Complete    Op = "complete"
	Abort       Op = "abort"
	ListParts   Op = "list parts"
	ListUploads Op = "list uploads"
	Head        Op = "head"
	Get         Op = "get"
	Other       Op = "other"
)

// Request is what the store saw of one request.
type Request struct {
	Op     Op
	Key    string
	Part   int // 0: none
	Header http.Header
	Asked  bool // with Expect: 100-continue
	Size   int64

	Conn       int    // number of the connection, from 1
	Nth        int    // which request of the connection, from 1
	RemoteAddr string // the client's end

	Body  int64     // bytes read of it
	Start time.Time // the head had been read
	First time.Time // when the first of its body's bytes were read; zero if none were
	Last  time.Time // when the last were, so far
	End   time.Time // the store was done with it; zero while it is not
}

// record is a Request that is still being written to.
type record struct {
	mu      sync.Mutex
	request Request
}

func (r *record) snapshot() Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.request
}

func (r *record) read(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n == 0 {
		return
	}
	r.request.Last = time.Now()
	if r.request.Body == 0 {
		r.request.First = r.request.Last
	}
	r.request.Body += int64(n)
}

func (r *record) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.request.End = time.Now()
}

// target is what a request is about.
type target struct {
	op       Op
	key      string
	part     int
	uploadID string
	prefix   string
}

// parse reads a request line in path style: /bucket/key.
func parse(r *http.Request) target {
	q := r.URL.Query()
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	t := target{key: key, uploadID: q.Get("uploadId"), prefix: q.Get("prefix")}
	t.part, _ = strconv.Atoi(q.Get("partNumber"))
	upload, uploads := q.Has("uploadId"), q.Has("uploads")
	for _, row := range []struct {
		method string
		is     bool
		op     Op
	}{
		{http.MethodGet, key == "" && uploads, ListUploads},
		{http.MethodGet, key != "" && upload, ListParts},
		{http.MethodGet, key != "", Get},
		{http.MethodHead, key != "", Head},
		{http.MethodPost, key != "" && uploads, Create},
		{http.MethodPost, key != "" && upload, Complete},
		{http.MethodDelete, key != "" && upload, Abort},
		{http.MethodPut, key != "" && upload && t.part > 0, PutPart},
		{http.MethodPut, key != "" && !upload, PutObject},
	} {
		if row.is && row.method == r.Method {
			t.op = row.op
			return t
		}
	}
	t.op = Other
	return t
}
