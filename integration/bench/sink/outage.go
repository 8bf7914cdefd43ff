package sink

import (
	"net"
	"time"
)

// read counts bytes of bodies, which bring the outage near.
func (s *Server) read(n int64) {
	if now := s.count.received.Add(n); s.o.Outage.After > 0 && now >= s.o.Outage.After {
		s.mu.Lock()
		begins := s.armed
		s.armed = false
		s.mu.Unlock()
		if begins {
			s.BeginOutage(s.o.Outage)
		}
	}
}

// BeginOutage begins one at once, whatever After says, and returns. Another one
// must be over.
func (s *Server) BeginOutage(o Outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.listener == nil {
		return
	}
	s.over = time.Now().Add(o.For)
	quiet := make(chan struct{})
	if o.Silent {
		s.silence.Store(&quiet)
	} else {
		s.cut()
	}
	s.wg.Go(func() {
		s.pause(o.For)
		s.silence.Store(nil)
		close(quiet)
		s.listenAgain()
	})
}

// listenAgain takes the same port after an outage. Somebody else may have it for
// a moment: an outgoing connection, for one.
func (s *Server) listenAgain() {
	for {
		s.mu.Lock()
		if s.closed || s.listener != nil {
			s.mu.Unlock()
			return
		}
		ln, err := net.Listen("tcp", s.addr)
		if err == nil {
			s.listener = ln
			s.over = time.Now()
			s.wg.Go(func() { s.accept(ln) })
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		s.pause(10 * time.Millisecond)
	}
}

// hush waits while an outage is silent, and tells whether the sink is still there.
func (s *Server) hush() bool {
	quiet := s.silence.Load()
	if quiet == nil {
		return true
	}
	select {
	case <-*quiet:
		return true
	case <-s.done:
		return false
	}
}

// pause waits, and tells whether the sink is still there.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.done:
		return false
	}
}
