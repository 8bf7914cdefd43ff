package rawstore

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Options of a [Store]. The zero value gives the defaults.
type Options struct {
	// Rules are tried in order for each request; the first that matches and
	// whose turn it is decides alone.
	Rules []Rule

	// TLS serves https, with a certificate that [Store.Roots] trusts.
	TLS bool

	// ReadBuffer is the size in bytes of the receive buffer of each connection,
	// so that a client feels early what is not read. 0 leaves the system's.
	ReadBuffer int
}

// Store is a running store. Make one with [Start]; the zero value does not work.
// It is safe for concurrent use.
type Store struct {
	listener net.Listener
	tls      *tls.Config // nil: http
	roots    *x509.CertPool
	buffer   int
	rules    *rules
	bucket   *shelf
	done     chan struct{} // closed at the end
	wg       sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	requests []*record
	lastConn int
	ended    bool
}

// Start serves on a free loopback port until the test ends. Everything that is
// under way then is cut.
func Start(t testing.TB, o Options) *Store {
	t.Helper()
	s := &Store{buffer: o.ReadBuffer, rules: newRules(o.Rules), bucket: newShelf(),
		done: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	var err error
	if o.TLS {
		if s.tls, s.roots, err = newIdentity(); err != nil {
			t.Fatalf("rawstore: %v", err)
		}
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatalf("rawstore: %v", err)
	}
	s.wg.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

// URL is the store's address, http://127.0.0.1:port or https.
func (s *Store) URL() string {
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// Roots are what a client has to trust; nil without TLS.
func (s *Store) Roots() *x509.CertPool { return s.roots }

// Client returns a client to look at what is stored. It opens a connection for
// each request, so that it leaves none behind.
func (s *Store) Client() *s3.Client {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: s.roots}}
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.URL()), UsePathStyle: true,
		Credentials:                credentials.NewStaticCredentialsProvider("key", "secret", ""),
		HTTPClient:                 &http.Client{Transport: transport},
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
}

// Requests returns what has arrived so far, in order of arrival.
func (s *Store) Requests() []Request {
	s.mu.Lock()
	list := slices.Clone(s.requests)
	s.mu.Unlock()
	out := make([]Request, len(list))
	for i, r := range list {
		out[i] = r.snapshot()
	}
	return out
}

// Of returns the requests of one operation, and of one part if it is not 0.
func (s *Store) Of(op Op, part int) []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Op != op || part != 0 && r.Part != part })
}

// Object returns what is kept under a key, past all rules and whatever the store
// says of it; nil if there is nothing. The bytes are not to be changed.
func (s *Store) Object(key string) []byte {
	s.bucket.mu.Lock()
	defer s.bucket.mu.Unlock()
	return s.bucket.objects[key].body
}

func (s *Store) accept() {
	for {
		tcp, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serve(tcp.(*net.TCPConn)) })
	}
}

// admit takes a connection in and numbers it, unless the end has come.
func (s *Store) admit(c net.Conn) (number int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, false
	}
	s.conns[c] = struct{}{}
	s.lastConn++
	return s.lastConn, true
}

func (s *Store) leave(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Store) record(q Request) *record {
	r := &record{request: q}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return r
}

func (s *Store) close() {
	// Whatever it says, nothing accepts any more.
	_ = s.listener.Close()
	close(s.done)
	s.mu.Lock()
	s.ended = true
	for c := range s.conns {
		_ = c.Close() // an error means that it is closed
	}
	s.mu.Unlock()
	s.wg.Wait()
}
