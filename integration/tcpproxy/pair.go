package tcpproxy

import (
	"io"
	"net"
	"sync"
	"time"
)

const (
	chunkSize = 32 << 10
	queueLen  = 8 // chunks on their way in one direction of a connection

	// socketBuffer is for each socket and direction; the kernel doubles it.
	socketBuffer = 64 << 10
)

// pair is a client's connection and the one to the server.
type pair struct {
	client, server *net.TCPConn
	timer          *time.Timer // of ResetPeer; nil: none

	once sync.Once
	done chan struct{} // closed when both are
}

func newPair(client, server *net.TCPConn) *pair {
	for _, c := range []*net.TCPConn{client, server} {
		// Errors leave larger buffers, which only blur the faults.
		_ = c.SetReadBuffer(socketBuffer)
		_ = c.SetWriteBuffer(socketBuffer)
	}
	return &pair{client: client, server: server, done: make(chan struct{})}
}

// run carries bytes both ways until both directions have ended.
func (q *pair) run(p *Proxy) {
	var wg sync.WaitGroup
	for _, l := range []*link{
		{proxy: p, pair: q, dir: Upstream, src: q.client, dst: q.server, queue: make(chan chunk, queueLen)},
		{proxy: p, pair: q, dir: Downstream, src: q.server, dst: q.client, queue: make(chan chunk, queueLen)},
	} {
		wg.Go(l.read)
		wg.Go(l.write)
	}
	wg.Wait()
	if q.timer != nil {
		q.timer.Stop()
	}
	q.close()
}

// reset cuts both connections with a RST.
func (q *pair) reset() {
	q.once.Do(func() {
		reset(q.client)
		reset(q.server)
		close(q.done)
	})
}

// close ends both connections as a program does that is through with them.
func (q *pair) close() {
	q.once.Do(func() {
		// Errors mean that they are closed already.
		_ = q.client.Close()
		_ = q.server.Close()
		close(q.done)
	})
}

// reset closes the connection with a RST. Errors mean that it is closed
// already.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// link is one direction of a pair.
type link struct {
	proxy    *Proxy
	pair     *pair
	dir      Direction
	src, dst *net.TCPConn
	queue    chan chunk

	passed int64     // bytes written
	next   time.Time // when the rate allows the next ones
}

// chunk is what was read at once; the last one has an error.
type chunk struct {
	data []byte
	at   time.Time
	err  error // io.EOF: the source closed
}

// read fills the queue.
func (l *link) read() {
	for {
		share := l.proxy.share(l.dir)
		buf := make([]byte, share.most(chunkSize))
		n, err := l.src.Read(buf)
		if !l.pause(share.wait(n)) {
			return
		}
		select {
		case l.queue <- chunk{buf[:n], time.Now(), err}:
		case <-l.pair.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// write empties the queue under the faults of the moment.
func (l *link) write() {
	for {
		var c chunk
		select {
		case c = <-l.queue:
		case <-l.pair.done:
			return
		}
		if !l.arrive(c.at) || !l.send(c.data) {
			return
		}
		switch c.err {
		case nil:
		case io.EOF:
			// An error shows up again in the other direction.
			_ = l.dst.CloseWrite()
			return
		default:
			l.pair.reset()
			return
		}
	}
}

// await waits while the network is silent and returns what else is wrong, and
// whether the link goes on.
func (l *link) await() (fault, bool) {
	for {
		f, changed := l.proxy.fault(l.dir)
		if !f.silent {
			return f, true
		}
		select {
		case <-changed:
		case <-l.pair.done:
			return f, false
		}
	}
}

// arrive waits until what was read at that time may come out.
func (l *link) arrive(at time.Time) bool {
	f, ok := l.await()
	return ok && l.pause(time.Until(at.Add(f.late())))
}

// send writes the data at the rate and up to the limit, and tells whether the
// link goes on.
func (l *link) send(data []byte) bool {
	for len(data) > 0 {
		f, ok := l.await()
		if !ok {
			return false
		}
		n := len(data)
		if f.rate > 0 {
			// A twentieth of a second at a time: slow is not the same as rare.
			n = min(n, max(1, f.rate/20))
		}
		if f.limit > 0 {
			n = int(max(0, min(int64(n), f.limit-l.passed)))
		}
		if !l.pace(n, f.rate) {
			return false
		}
		if _, err := l.dst.Write(data[:n]); err != nil {
			l.pair.reset()
			return false
		}
		l.passed += int64(n)
		data = data[n:]
		if f.limit > 0 && l.passed >= f.limit {
			l.pair.close()
			return false
		}
	}
	return true
}

// pace waits until n more bytes are due.
func (l *link) pace(n, rate int) bool {
	if rate <= 0 {
		return true
	}
	if now := time.Now(); l.next.Before(now) {
		l.next = now
	}
	l.next = l.next.Add(time.Duration(n) * time.Second / time.Duration(rate))
	return l.pause(time.Until(l.next))
}

// pause waits and tells whether the pair still exists.
func (l *link) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.pair.done:
		return false
	}
}
