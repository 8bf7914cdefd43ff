package integration

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart/wire"
)

// shortLives uploads parts that take twice as long as a URL lives: stores look when a
// request arrives, so that each part needs one URL, made just before it is used.
type shortLives struct {
	size, part int64
	rate       int // bytes a second, of all lanes
	ttl        time.Duration
}

// small is what make test runs; the whole is in make full.
var small = shortLives{size: 65 * mib, part: 5 * mib, rate: 10e6, ttl: 2 * time.Second}

func (s shortLives) run(t *testing.T) {
	for name, c := range map[string]struct {
		around  func(http.Handler) http.Handler
		restart bool
	}{
		"well":                 {},
		"restarted":            {restart: true},
		"502 every third time": {around: everyThird},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, wire.Limits{})
			l.proxy.Limit(s.rate)
			l.options.PartSize, l.endpoint.Lanes = s.part, 8
			m := l.minter(t, s.ttl)
			m.around = c.around
			m.start()
			if c.restart {
				m.restartAt(9)
			}
			s.upload(t, l, m)
		})
	}
}

func (s shortLives) upload(t *testing.T, l *lab, m *minter) {
	src := check.Pattern(s.size)
	start := time.Now()
	res, err := m.upload(source{src})
	if err != nil {
		t.Fatal(err)
	}
	most, all := m.mostMints()
	t.Logf("%d parts in %v: %d URLs made, %d for one part at most; %d calls of the service; %d attempts",
		res.Parts, time.Since(start).Round(time.Millisecond), all, most, m.requests.Load(), res.Attempts)
	if most > 2 || res.Mints > 2*res.Parts {
		t.Errorf("%d URLs for one part, %d in all for %d", most, res.Mints, res.Parts)
	}
	l.unspent(t)
	check.Equal(t, l.server.Client(), l.bucket, res.Object.Key, src, src.Size())
	check.NoUploads(t, l.server.Client(), l.bucket, res.Object.Key)
}

// restartAt stops the service when the store is sent its n-th part, and starts it again
// when it has answered three more: two lanes have asked in vain by then.
func (m *minter) restartAt(n int) {
	var mu sync.Mutex
	sent, answered := 0, 0
	m.lab.proxy.Watch(func(at faultproxy.Moment, r faultproxy.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Op != faultproxy.PutPart:
		case at == faultproxy.Arrived:
			if sent++; sent == n {
				m.stop()
			}
		case at == faultproxy.Passed && sent >= n:
			if answered++; answered == 3 {
				if err := m.launch(); err != nil {
					m.t.Error(err)
				}
			}
		}
		return true
	})
}

// everyThird answers 502 every third time, as a proxy before a service does.
func everyThird(h http.Handler) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%3 == 0 {
			http.Error(w, "<html><body>502 Bad Gateway</body></html>", http.StatusBadGateway)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// URLs that live for less than their parts take, at a sixteenth of the size.
func TestMintShortLives(t *testing.T) { small.run(t) }

// Where the caller may choose keys, a small object goes up in one PUT, and the service
// is asked only for its URL.
func TestMintOnePut(t *testing.T) {
	l := newLab(t, wire.Limits{})
	l.options.Threshold = 0
	m := l.minter(t, time.Minute)
	m.prefix = "mine/"
	m.start()
	src := check.Pattern(3 * mib)
	res, err := m.upload(source{src})
	if err != nil {
		t.Fatal(err)
	}
	if l.proxy.Count(faultproxy.PutObject) != 1 || l.proxy.Count(faultproxy.Create) != 0 || res.Object.Key != "mine/key" {
		t.Errorf("%v, %s", l.requests(), res.Object.Key)
	}
	check.Equal(t, l.server.Client(), l.bucket, "mine/key", src, src.Size())
}

// An object without a byte goes up in one empty part where the service takes nothing
// but parts.
func TestMintEmpty(t *testing.T) {
	l := newLab(t, wire.Limits{})
	m := l.minter(t, time.Minute).start()
	res, err := m.upload(source{check.Pattern(0)})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, l.server.Client(), l.bucket, res.Object.Key, check.Pattern(0), 0)
}
