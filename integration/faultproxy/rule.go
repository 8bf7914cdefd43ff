package faultproxy

import (
	"net/http"
	"sync"
	"time"
)

// Rule says which requests meet a fault, and which fault.
//
// Rules are tried in the order in which they were given; the first that
// matches and whose turn it is decides alone. Every rule counts all requests
// that match it, also those that an earlier rule took, separately for each
// operation, key and part number. So a 503 once on every third part is
//
//	Rule{Op: PutPart, Every: 3, Status: 503, Code: "SlowDown"}
//
// The zero Rule takes the first request of each kind and lets it pass.
type Rule struct {
	Op    Op    // zero: any operation
	Part  int   // this part number; 0: any
	Every int   // each n-th part number (part % n == 0); 0 and 1: no restriction
	Conns int64 // on the first n connections; 0: on any

	From  int // the first matching request to be hit, from 1; 0 means 1
	Count int // how many in a row; 0 means 1, negative means for ever

	// For ends the rule so long after the first request that matched it; 0:
	// never. With a negative Count it is an outage that passes.
	For time.Duration

	// Together counts all requests that match as one series, so that From 1 is
	// the first of them, whatever its operation, key and part.
	Together bool

	// Status, when set, is answered instead of the upstream's answer. The body
	// is Body, or an S3 error made of Code and Message; empty when all three
	// are. Header is added; a Content-Length in it is sent as it stands, so
	// that an answer can be cut short. Edit, if set, changes the headers in the
	// moment in which they are sent. The request's body is read first.
	Status  int
	Code    string
	Message string
	Body    string
	Header  http.Header
	Edit    func(http.Header)

	// Early sends Status without reading (the rest of) the request's body and
	// closes the connection at once. A client in the middle of its body may see a reset
	// instead of the status, as it may in real life; one that waits for 100
	// Continue sees the status.
	Early bool

	// Reset ends the client's connection with a TCP RST.
	Reset bool

	// Stall freezes the client's connection: it stays open, nothing more is
	// read or written, until Proxy.Close or until the client is seen to close
	// it. That is not seen if the client had more to send than the socket
	// buffers hold, nor, other than on Linux, with a body not read to its end.
	Stall bool

	// After lets that many bytes of the request's body pass before Reset or
	// Stall, at most all of them; with Apply, the head and that many bytes of
	// the answer's body, and for 0 not even the head.
	//
	// Before Status it is how much of the body is read, 0 being all of it but
	// with Early. What follows is then read and dropped after the answer, with
	// the connection half closed, so that the client sees the status.
	After int64

	// Hold waits, if set, until it is closed, and then Delay begins.
	Hold <-chan struct{}

	// Delay waits before whatever the rule does last: before a request
	// without another fault is forwarded, before Status, Reset or Stall, and
	// with Apply before the answer.
	Delay time.Duration

	// Apply forwards the request first and waits for the whole answer; the
	// fault then replaces or cuts that answer. Without it a request that meets
	// Status, Reset or Stall never reaches the upstream.
	Apply bool
}

// matches tells whether the rule is about t at all, whatever its turn.
func (r *Rule) matches(t target, conn int64) bool {
	if r.Op != Any && r.Op != t.op {
		return false
	}
	if r.Conns != 0 && conn > r.Conns {
		return false
	}
	if r.Part != 0 && r.Part != t.part {
		return false
	}
	if r.Every > 1 {
		return t.part > 0 && t.part%r.Every == 0
	}
	return true
}

// due tells whether the k-th matching request, from 1, is to be hit.
func (r *Rule) due(k int) bool {
	from := max(r.From, 1)
	if r.Count < 0 {
		return k >= from
	}
	return k >= from && k < from+max(r.Count, 1)
}

// rules is the proxy's rule book. It is safe for concurrent use.
type rules struct {
	mu   sync.Mutex
	list []*counted
}

type counted struct {
	rule  Rule
	seen  map[target]int
	first time.Time // that something matched
}

// next counts one more request of t and tells whether it is to be hit.
func (c *counted) next(t target, now time.Time) bool {
	if c.rule.Together {
		t = target{}
	}
	if c.first.IsZero() {
		c.first = now
	}
	c.seen[t]++
	over := c.rule.For > 0 && now.Sub(c.first) >= c.rule.For
	return !over && c.rule.due(c.seen[t])
}

func (s *rules) add(list []Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range list {
		r.Header = r.Header.Clone()
		s.list = append(s.list, &counted{rule: r, seen: map[target]int{}})
	}
}

func (s *rules) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

// take counts the request in every rule that matches and returns the one that
// is due, or nil. The returned rule is never changed.
func (s *rules) take(t target, conn int64, now time.Time) *Rule {
	// A new upload of the same key is not a new series of requests.
	t.uploadID = ""
	s.mu.Lock()
	defer s.mu.Unlock()
	var hit *Rule
	for _, c := range s.list {
		if c.rule.matches(t, conn) && c.next(t, now) && hit == nil {
			hit = &c.rule
		}
	}
	return hit
}
