package integration

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
)

// object is where all these uploads go.
var object = multipart.Object{Bucket: "bucket", Key: "key"}

// finishLab is a rawLab whose uploader may differ in more than its options: in the
// store's profile, in the control plane, in what stands before the store.
type finishLab struct {
	*rawLab
	profile s3store.Profile
	control func(multipart.Control) multipart.Control // nil: as it is
}

// newFinishLab puts a lab up with four lanes and small parts.
func newFinishLab(t *testing.T, rules ...rawstore.Rule) *finishLab {
	t.Helper()
	l := &finishLab{rawLab: newRawLab(t, wire.Limits{}, rawstore.Options{Rules: rules}), profile: generic(t)}
	l.endpoint.Lanes, l.options.PartSize = 4, smallPart
	return l
}

// between puts a handler before the store. What it does not answer itself it hands
// to the store.
func (l *finishLab) between(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, store http.Handler)) {
	t.Helper()
	target, err := url.Parse(l.store.URL())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }} // what ends there ends here
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, proxy) }))
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	l.at(t, server.URL, wire.Limits{})
}

// uploader makes one with an endpoint of its own.
func (l *finishLab) uploader(t *testing.T) *multipart.Uploader {
	t.Helper()
	l.endpoint.Client = l.wire
	l.used = multipart.NewEndpoint(l.endpoint)
	o := l.options
	o.Endpoint = l.used
	l.events = nil
	o.OnEvent = func(e multipart.Event) {
		l.events = append(l.events, e)
		if l.options.OnEvent != nil {
			l.options.OnEvent(e)
		}
	}
	var control multipart.Control = s3store.New(l.client, l.profile, l.wire)
	if l.control != nil {
		control = l.control(control)
	}
	u, err := multipart.New(control, l.provider, &o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// send uploads the source.
func (l *finishLab) send(t *testing.T, src check.Source) (multipart.Result, error) {
	t.Helper()
	res, err := l.uploader(t).Upload(t.Context(), object, source{src})
	logTrouble(t, l.events)
	return res, err
}

// sentOnce fails the test unless each of the parts was sent once.
func (l *finishLab) sentOnce(t *testing.T, parts int) {
	t.Helper()
	for n := 1; n <= parts; n++ {
		if got := len(l.store.Of(rawstore.PutPart, n)); got != 1 {
			t.Errorf("part %d was sent %d times", n, got)
		}
	}
	if got := l.count(rawstore.PutPart); got != parts {
		t.Errorf("%d requests for parts, want %d", got, parts)
	}
}

// count is how many requests of one kind have reached the store.
func (l *finishLab) count(op rawstore.Op) int { return len(l.store.Of(op, 0)) }

// warned fails the test unless a warning says that.
func (l *finishLab) warned(t *testing.T, text string) {
	t.Helper()
	var said []error
	for _, e := range l.events {
		if e.Kind == multipart.Warned {
			said = append(said, e.Err)
			if strings.Contains(e.Err.Error(), text) {
				return
			}
		}
	}
	t.Errorf("no warning says %q: %v", text, said)
}
