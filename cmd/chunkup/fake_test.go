package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is the least of an S3 store: it takes everything, keeps of each object
// what proves it, and remembers what it was asked.
type fake struct {
	*httptest.Server
	name string // of its Server header

	mu       sync.Mutex
	answer   answerer // may be nil
	requests []asked
	objects  map[string]stored
	uploads  []*begunUpload // unfinished
	ids      int
	sumless  bool           // it names no checksums of objects
	inFlight map[string]int // requests that carry bytes, by path
	most     int            // parts in flight at once
	mostKeys int            // objects with parts in flight at once
}

// answerer may answer in place of the fake, and then returns true.
type answerer func(w http.ResponseWriter, r *http.Request, op string) bool

// on makes a answer the requests that come from now on.
func (f *fake) on(a answerer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = a
}

// asked is a request that the fake got.
type asked struct {
	op, host string
	path     string
	query    url.Values
	header   http.Header
	at       time.Time
}

func newFake(t *testing.T) *fake {
	f := unstartedFake(t)
	f.Start()
	return f
}

func newTLSFake(t *testing.T) *fake {
	f := unstartedFake(t)
	f.Config.ErrorLog = silent()
	f.StartTLS()
	return f
}

func unstartedFake(t *testing.T) *fake {
	f := &fake{name: "fake", inFlight: map[string]int{}, objects: map[string]stored{}}
	f.Server = httptest.NewUnstartedServer(f)
	t.Cleanup(f.Close)
	return f
}

func operation(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodHead && r.URL.Path == "/":
		return "probe"
	case r.Method == http.MethodHead:
		return "head"
	case r.Method == http.MethodPost && q.Has("uploads"):
		return "create"
	case r.Method == http.MethodPut && q.Has("partNumber"):
		return "part"
	case r.Method == http.MethodPut:
		return "put"
	case r.Method == http.MethodPost:
		return "complete"
	case r.Method == http.MethodDelete:
		return "abort"
	case q.Has("uploads"):
		return "uploads"
	case q.Has("uploadId"):
		return "list"
	}
	return "get"
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := operation(r)
	f.mu.Lock()
	f.requests = append(f.requests, asked{op, r.Host, r.URL.Path, r.URL.Query(), r.Header.Clone(), time.Now()})
	answer := f.answer
	f.mu.Unlock()
	w.Header().Set("Server", f.name)
	if op == "part" || op == "put" {
		f.enter(r.URL.Path)
		defer f.leave(r.URL.Path)
	}
	if answer != nil && answer(w, r, op) {
		return
	}
	f.serve(w, r, op)
}

func (f *fake) enter(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight[path]++
	sum := 0
	for _, n := range f.inFlight {
		sum += n
	}
	f.most, f.mostKeys = max(f.most, sum), max(f.mostKeys, len(f.inFlight))
}

func (f *fake) leave(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight[path]--; f.inFlight[path] == 0 {
		delete(f.inFlight, path)
	}
}

// of returns the requests of one kind.
func (f *fake) of(op string) []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.requests), func(a asked) bool { return a.op != op })
}

// only returns the one request of a kind.
func (f *fake) only(t *testing.T, op string) asked {
	t.Helper()
	all := f.of(op)
	if len(all) != 1 {
		t.Fatalf("the store got %d requests to %s, want 1", len(all), op)
	}
	return all[0]
}

// refuse answers as S3 refuses.
func refuse(w http.ResponseWriter, status int, code string) bool {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<Error><Code>%s</Code><Message>no</Message></Error>`, code)
	return true
}

// barrier holds requests until n are there at once, or for half a second.
type barrier struct {
	n    int
	mu   sync.Mutex
	here int
	open chan struct{}
}

func newBarrier(n int) *barrier { return &barrier{n: n, open: make(chan struct{})} }

// wait returns when n have come, or when they have had half a second for it.
func (b *barrier) wait() {
	b.mu.Lock()
	b.here++
	if b.here == b.n {
		close(b.open)
	}
	b.mu.Unlock()
	select {
	case <-b.open:
	case <-time.After(time.Second / 2):
	}
}

// scope is the credential scope that a request was signed with.
func scope(a asked) string {
	text := a.query.Get("X-Amz-Credential")
	if text == "" {
		_, text, _ = strings.Cut(a.header.Get("Authorization"), "Credential=")
		text, _, _ = strings.Cut(text, ",")
	}
	return text
}
