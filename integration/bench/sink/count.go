package sink

import (
	"sync"
	"sync/atomic"
	"time"
)

// Counters are what came since the start or the last Reset.
type Counters struct {
	Requests    map[Op]int64 `json:"requests"`
	Total       int64        `json:"total"`    // requests
	Received    int64        `json:"received"` // bytes of bodies, as they came over the wire
	Stored      int64        `json:"stored"`   // bytes of the objects that were made
	Objects     int64        `json:"objects"`
	Pieces      int64        `json:"pieces"` // parts and whole objects that those were made of
	Connections int64        `json:"connections"`
	Refused     int64        `json:"refused"`
	Frozen      int64        `json:"frozen"`
	Unchecked   int64        `json:"unchecked"`             // bodies of parts and objects that came without any checksum
	OutageOver  *time.Time   `json:"outage_over,omitempty"` // when it ended, or will
}

// Parts is how many requests carried an object's bytes.
func (c Counters) Parts() int64 { return c.Requests[PutPart] + c.Requests[Put] }

type tally struct {
	received, connections, refused, frozen, unchecked atomic.Int64

	mu       sync.Mutex
	requests map[Op]int64
}

func (t *tally) add(op Op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests[op]++
}

func (t *tally) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = map[Op]int64{}
	for _, n := range []*atomic.Int64{&t.received, &t.connections, &t.refused, &t.frozen, &t.unchecked} {
		n.Store(0)
	}
}

// Counters returns the counters of now.
func (s *Server) Counters() Counters {
	c := Counters{Requests: map[Op]int64{}, Received: s.count.received.Load(), Connections: s.count.connections.Load(),
		Refused: s.count.refused.Load(), Frozen: s.count.frozen.Load(), Unchecked: s.count.unchecked.Load()}
	s.count.mu.Lock()
	for op, n := range s.count.requests {
		c.Requests[op] = n
		c.Total += n
	}
	s.count.mu.Unlock()
	s.shelf.mu.Lock()
	c.Stored, c.Objects, c.Pieces = s.shelf.stored, s.shelf.made, s.shelf.pieces
	s.shelf.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over.IsZero() {
		over := s.over
		c.OutageOver = &over
	}
	return c
}
