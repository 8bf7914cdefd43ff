package faultproxy

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// moments notes what it is told, each kind once.
type moments struct {
	mu   sync.Mutex
	list []string
	last Request
}

func (m *moments) note(at Moment, q Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = q
	if s := fmt.Sprint(at, " ", q.Op); !slices.Contains(m.list, s) {
		m.list = append(m.list, s)
	}
}

func TestWatch(t *testing.T) {
	var s store
	var m moments
	b := start(t, s.ServeHTTP)
	got := make(chan struct{}) // by the client
	b.Watch(func(at Moment, q Request) bool {
		if at == Passed {
			select {
			case <-got:
			case <-b.ctx.Done():
				t.Error("not passed on at Passed")
			}
		}
		s.mu.Lock()
		arrived := len(s.got)
		s.mu.Unlock()
		switch {
		case at < Sent && arrived > 0:
			t.Errorf("the upstream was done at %v", at)
		case at > Sent && arrived == 0:
			t.Errorf("the upstream had nothing at %v", at)
		case at < Reading && q.BodyBytes != 0, at > Reading && q.BodyBytes != 300_000:
			t.Errorf("%d bytes at %v", q.BodyBytes, at)
		case at < Passed && q.Status != 0, at == Passed && q.Status != http.StatusOK:
			t.Errorf("status %d at %v", q.Status, at)
		}
		m.note(at, q)
		return true
	})
	if resp, text, err := b.put(300_000); err != nil || text != "stored well" || resp.Header.Get("ETag") != `"e"` {
		t.Errorf("%q, %v", text, err)
	}
	close(got)
	b.last(t)
	// Sent may be late: the transport is done with the request, and the store
	// is faster than its goroutine.
	i := slices.Index(m.list, "Sent PutPart")
	if i < 0 {
		t.Fatalf("moments %v", m.list)
	}
	want := []string{"Arrived PutPart", "Reading PutPart", "Answered PutPart", "Passed PutPart"}
	if diff := cmp.Diff(want, slices.Delete(m.list, i, i+1)); diff != "" {
		t.Errorf("moments (-want +got):\n%s", diff)
	}
}

// A request that is ended is reset, and what has not reached the upstream never
// does.
func TestWatchEnds(t *testing.T) {
	for at, reaches := range map[Moment]bool{Arrived: false, Reading: false, Answered: true} {
		t.Run(at.String(), func(t *testing.T) {
			var s store
			b := start(t, s.ServeHTTP)
			b.Watch(func(m Moment, q Request) bool { return m != at || q.BodyBytes < 100_000 && m == Reading })
			if _, text, err := b.put(300_000); err == nil {
				t.Errorf("answered %q", text)
			}
			if q := b.last(t); q.Status != 0 {
				t.Errorf("recorded %+v", q)
			}
			if reaches {
				s.want(t, 300_000)
			} else {
				s.want(t)
			}
		})
	}
}

// What follows the moment waits for whoever watches, other requests do not.
func TestWatchHolds(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP)
	held, free := make(chan struct{}), make(chan struct{})
	var one atomic.Bool
	b.Watch(func(at Moment, q Request) bool {
		if at == Answered && one.CompareAndSwap(false, true) {
			close(held)
			<-free
		}
		return true
	})
	done := make(chan error, 1)
	go func() {
		_, _, err := b.put(10)
		done <- err
	}()
	<-held
	if _, _, err := b.put(20); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		t.Errorf("passed on while held: %v", err)
	default:
	}
	close(free)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A fault falls on the answer as without a watcher, and a download streams.
func TestWatchWithRules(t *testing.T) {
	var s store
	var m moments
	b := start(t, s.ServeHTTP, Rule{Apply: true, Status: 503, Code: "SlowDown"})
	b.Watch(func(at Moment, q Request) bool { m.note(at, q); return true })
	if resp, _, err := b.put(10); err != nil || resp.StatusCode != 503 {
		t.Errorf("%v", err)
	}
	s.want(t, 10)
	b.last(t)
	if !slices.Contains(m.list, "Answered PutPart") || m.last.Status != 503 {
		t.Errorf("moments %v, last %+v", m.list, m.last)
	}
}
