package wire

import (
	"math"
	"time"
)

// blindRead is how much of the body is read at once when the connection does
// not tell how much of it is acknowledged: the reads are then the only signs of
// life, and have to come often on a slow link.
const blindRead = 8 << 10

// goodbye is the most that TLS may have queued behind a request, in bytes: a
// key update and the alert before the connection is closed.
const goodbye = 128

// sending is what a watch knows about the request on its way.
type sending struct {
	conn    *conn
	limit   time.Duration // of the whole phase, as last asked for
	life    time.Time     // of the last sign of life
	reading time.Time     // since when the source is being read; zero if it is not
	paused  time.Duration // time spent in reads of the source
	skipped bool          // a look did not judge because of such a read

	read     int64 // of the body, taken from the source
	accepted int64 // of the body, taken by the connection
	out      int64 // taken by the connection, with headers and TLS
	queued   int64 // of it, not acknowledged
	acked    int64 // out less queued
	wrote    bool  // the transport has written the whole request
	answered bool
}

// expecting is how the server took to being asked for a 100-continue.
type expecting struct {
	waiting  bool // for its answer
	welcome  bool // it came
	unasked  bool // the body was begun without it
	question bool // it was asked
}

// connected begins to send over c.
func (w *watch) connected(c *conn) {
	if c != nil { // a proxy's connection may be unknown
		c.giveUpAfter(w.limits.Stall)
		c.user.Store(w)
	}
	w.mu.Lock()
	w.conn = c
	w.mu.Unlock()
	w.enter(PhaseSend)
}

// asked notes that the body waits for the server's consent. Until it comes, or
// the transport goes on without, there is nothing that could stall.
func (w *watch) asked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.question, w.waiting = true, true
}

// welcomed notes the server's consent.
func (w *watch) welcomed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.welcome = true
}

// reads stops the clocks while the source is read, and returns how much may be
// read at once. That there is a read means that all before it was accepted.
func (w *watch) reads() (most int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = time.Now()
	w.goOn()
	if w.conn.counts() {
		return math.MaxInt64
	}
	return blindRead
}

// sent notes n bytes of the body that the connection has taken unread.
func (w *watch) sent(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read += n
	w.out += n
	w.goOn()
}

// goOn notes that all before was accepted, and that the body was begun.
func (w *watch) goOn() {
	w.accepted, w.waiting = w.read, false
	w.unasked = w.unasked || w.question && !w.welcome
	if w.conn != nil {
		w.conn.letGo()
	}
}

// took lets the clocks go on after n bytes were read. Where reads are the signs
// of life, the stall clock starts again: the source may have been slow.
func (w *watch) took(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.paused += now.Sub(w.reading)
	w.reading = time.Time{}
	w.read += int64(n)
	if !w.conn.counts() {
		w.life = now
	}
	if w.skipped && w.phase == PhaseSend {
		w.skipped = false
		w.step(now)
	}
}

// put notes n bytes that the connection has taken.
func (w *watch) put(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out += int64(n)
	if w.wrote && w.phase == PhaseSend {
		w.step(time.Now())
	}
}

// written notes that the transport has written the whole request.
func (w *watch) written() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote, w.accepted = true, w.read
	if w.phase == PhaseSend {
		w.step(time.Now())
	}
}

// sample looks at the queue. That bytes were acknowledged is a sign of life;
// when none are missing, there is nothing to wait for.
func (w *watch) sample(now time.Time) {
	n, known := w.conn.queue()
	if !known {
		return
	}
	if acked := w.out - n; n == 0 || acked != w.acked {
		w.acked, w.life = acked, now
	}
	w.queued = n
}

// drained reports that the whole request has arrived. One without a body is
// flushed after it is reported as written.
func (w *watch) drained() bool { return w.wrote && w.out > 0 && w.queued == 0 }

// acknowledged is how much of the body has arrived. The queue holds headers
// and TLS too, so it may be a little too small; behind a request that was
// answered it may hold nothing else.
func (w *watch) acknowledged() int64 {
	if w.answered && w.queued <= goodbye {
		return w.accepted
	}
	return max(w.accepted-w.queued, 0)
}
