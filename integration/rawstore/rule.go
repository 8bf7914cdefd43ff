package rawstore

import (
	"net/http"
	"sync"
)

// Rule says which requests are not served as S3 would, and what is done to them
// instead. Every rule counts all requests that match it, separately for each
// operation, key and part.
type Rule struct {
	Op    Op                       // Any, the zero value: all
	Part  int                      // this part number; 0: any
	Match func(*http.Request) bool // nil: any; RemoteAddr tells the connection

	From  int // the first to be hit, from 1; 0 means 1
	Count int // how many in a row; 0 means 1, negative means for ever

	// Do is done in order. After the last step the connection goes on if the
	// request was read to its end, and is closed otherwise.
	Do []Step
}

func (r *Rule) matches(t target, q *http.Request) bool {
	return (r.Op == Any || r.Op == t.op) && (r.Part == 0 || r.Part == t.part) && (r.Match == nil || r.Match(q))
}

// due tells whether the k-th that matches, from 1, is to be hit.
func (r *Rule) due(k int) bool {
	from := max(r.From, 1)
	return k >= from && (r.Count < 0 || k < from+max(r.Count, 1))
}

// rules count the requests. They are safe for concurrent use.
type rules struct {
	mu   sync.Mutex
	list []Rule
	seen []map[target]int // by rule
}

func newRules(list []Rule) *rules {
	r := &rules{list: list}
	for range list {
		r.seen = append(r.seen, map[target]int{})
	}
	return r
}

// take counts a request and returns what is to be done to it.
func (s *rules) take(t target, q *http.Request) []Step {
	counted := target{op: t.op, key: t.key, part: t.part}
	s.mu.Lock()
	defer s.mu.Unlock()
	var hit []Step
	for i := range s.list {
		r := &s.list[i]
		if !r.matches(t, q) {
			continue
		}
		s.seen[i][counted]++
		if hit == nil && r.due(s.seen[i][counted]) {
			hit = r.Do
		}
	}
	if hit == nil {
		return []Step{Welcome(), ReadAll(), Reply()}
	}
	return hit
}
