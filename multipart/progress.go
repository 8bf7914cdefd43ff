package multipart

import (
	"sync/atomic"
	"time"
)

// progress counts an upload's bytes and remembers when one was last
// acknowledged. It is safe for concurrent use.
type progress struct {
	total atomic.Int64 // 0 while nobody knows
	done  atomic.Int64 // of finished parts and of attempts under way
	began time.Time
	last  atomic.Int64 // nanoseconds from began
}

func newProgress(total int64) *progress {
	p := &progress{began: time.Now()}
	p.total.Store(total)
	return p
}

// seen notes that the store has had bytes of this upload.
func (p *progress) seen() { p.last.Store(int64(time.Since(p.began))) }

func (p *progress) lastSeen() time.Time { return p.began.Add(time.Duration(p.last.Load())) }

// level is for observers.
func (p *progress) level() (done, total int64) { return p.done.Load(), p.total.Load() }

// sustained is for how long an attempt must have been sending for its bytes to
// be progress before the store has said so: sockets swallow some, and a store may
// take a part only to refuse it.
const sustained = 15 * time.Second

// attempt counts the bytes of one attempt as they go, and takes them back if
// it fails.
type attempt struct {
	progress *progress
	first    time.Time
	sent     int64
}

func (a *attempt) moved(n int) {
	if a.sent == 0 {
		a.first = time.Now()
	}
	a.sent += int64(n)
	a.progress.done.Add(int64(n))
	if time.Since(a.first) > sustained {
		a.progress.seen()
	}
}

func (a *attempt) failed() { a.progress.done.Add(-a.sent) }
