package sink

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Server is a running sink. Get one from Start. It is safe for concurrent use.
type Server struct {
	o     Options
	addr  string
	tls   *tls.Config
	ca    string
	total *rate.Limiter
	count tally
	shelf shelf
	done  chan struct{}
	wg    sync.WaitGroup

	silence atomic.Pointer[chan struct{}] // closed at the end of a silent outage; nil: there is none

	mu       sync.Mutex
	listener net.Listener // nil in an outage
	conns    map[*net.TCPConn]struct{}
	accepted int
	dice     *rand.Rand
	armed    bool // the outage is yet to come
	over     time.Time
	closed   bool
}

// Start runs a sink until it is closed.
func Start(o Options) (*Server, error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	s := &Server{o: o, done: make(chan struct{}), conns: map[*net.TCPConn]struct{}{}}
	if o.TotalRate > 0 {
		s.total = limiter(o.TotalRate)
	}
	s.Reset()
	if o.TLS {
		var err error
		if s.tls, s.ca, err = Certify(o.CADir); err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
	}
	ln, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s.addr, s.listener = ln.Addr().String(), ln
	s.wg.Go(func() { s.accept(ln) })
	return s, nil
}

// URL is where the sink is.
func (s *Server) URL() string {
	if s.tls != nil {
		return "https://" + s.addr
	}
	return "http://" + s.addr
}

// CA is the file with the certificate that its clients have to trust; empty
// without TLS.
func (s *Server) CA() string { return s.ca }

// Reset forgets all objects, sets the counters to zero and the faults to their
// beginning. Connections that are open stay.
func (s *Server) Reset() {
	s.shelf.clear()
	s.count.clear()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = 0
	s.dice = rand.New(rand.NewPCG(s.o.Seed, 1))
	s.armed = s.o.Outage.After > 0
	s.over = time.Time{}
}

// Close ends all connections and waits until nothing runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	s.cut()
	s.mu.Unlock()
	s.wg.Wait()
	return removeCA(s.ca)
}

// cut closes the listener and resets all connections. The caller holds s.mu.
func (s *Server) cut() {
	if s.listener != nil {
		_ = s.listener.Close() // it is only closed once
		s.listener = nil
	}
	for c := range s.conns {
		_ = c.SetLinger(0) // errors mean that it is closed already
		_ = c.Close()
	}
}

func (s *Server) accept(ln net.Listener) {
	for {
		nc, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors left, for one: others will be given back
			time.Sleep(10 * time.Millisecond)
			continue
		}
		tcp := nc.(*net.TCPConn)
		number, ok := s.admit(tcp)
		if !ok {
			_ = tcp.Close()
			continue
		}
		s.wg.Go(func() {
			defer s.leave(tcp)
			s.serve(tcp, number)
		})
	}
}

// admit numbers a connection from 1.
func (s *Server) admit(tcp *net.TCPConn) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.listener == nil {
		return 0, false
	}
	s.conns[tcp] = struct{}{}
	s.accepted++
	s.count.connections.Add(1)
	return s.accepted, true
}

func (s *Server) leave(tcp *net.TCPConn) {
	_ = tcp.Close() // it may be closed already
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, tcp)
}

// refuses rolls the dice for one body.
func (s *Server) refuses() bool {
	if s.o.Refuse <= 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dice.Float64() < s.o.Refuse
}

// freezes tells whether a connection will.
func (s *Server) freezes(number int) bool {
	return s.o.Freeze > 0 && number%s.o.Freeze == min(3, s.o.Freeze-1)
}

// burst is how much is read at once from a slow link: 5 ms of it, but a segment
// of loopback at least.
func burst(rate int64) int { return max(64<<10, int(rate/200)) }

func limiter(r int64) *rate.Limiter { return rate.NewLimiter(rate.Limit(r), burst(r)) }
