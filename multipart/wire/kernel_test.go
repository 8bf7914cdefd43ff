package wire_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// These run in real time, for the kernel's buffers are their subject.
func TestPhasesOverTheKernel(t *testing.T) {
	noLeaks(t)
	const small, large, slow = 64 << 10, 8 << 20, 10 * time.Second
	cases := map[string]struct {
		size, window int
		limits       wire.Limits
		script       func(*peer, net.Conn)
		phase        wire.Phase
		after        time.Duration
		sent         int64 // at most; negative: exactly
	}{
		"reads nothing": {16 << 20, small,
			wire.Limits{Stall: time.Second},
			func(p *peer, c net.Conn) { p.wait() },
			wire.PhaseStall, time.Second, 1 << 20},
		"reads nothing of what fits the buffers": {200_000, small,
			wire.Limits{Stall: time.Second},
			func(p *peer, c net.Conn) { p.wait() },
			wire.PhaseStall, time.Second, 199_999},
		"reads a trickle": {16 << 20, small,
			wire.Limits{Stall: time.Second, MinRate: 16 << 20, Overhead: time.Second},
			func(p *peer, c net.Conn) {
				buf := make([]byte, 32<<10)
				p.every(50*time.Millisecond, func() error { _, err := c.Read(buf); return err })
			},
			wire.PhaseSend, 2 * time.Second, 4 << 20},
		"takes all and never answers": {4 << 20, small,
			wire.Limits{Answer: time.Second},
			func(p *peer, c net.Conn) { readRequest(c); p.wait() },
			wire.PhaseAnswer, time.Second, -4 << 20},
		// R05 https://github.com/restic/restic/issues/4193, variant b: a body that
		// has arrived in full, at a program that is stuck.
		"swallows the body in its kernel": {2 << 20, large,
			wire.Limits{Answer: time.Second, Stall: slow},
			func(p *peer, c net.Conn) { p.wait() },
			wire.PhaseAnswer, time.Second, -2 << 20},
		"answers a byte a second": {1 << 20, small,
			wire.Limits{Read: 2 * time.Second},
			func(p *peer, c net.Conn) {
				readRequest(c)
				io.WriteString(c, "HTTP/1.1 500 Internal Server Error\r\n\r\n")
				p.every(time.Second, func() error { _, err := io.WriteString(c, " "); return err })
			},
			wire.PhaseRead, 2 * time.Second, -1 << 20},
	}
	for name, tc := range cases {
		for _, layer := range []string{"plain", "TLS"} {
			t.Run(name+"/"+layer, func(t *testing.T) {
				t.Parallel()
				p := newPeer(t, layer == "TLS", tc.window, tc.script)
				client := p.client(t, tc.limits)
				var late []time.Duration
				for range 3 { // a shared machine may be slow once, not three times
					answer, err := client.Do(t.Context(), p.put(tc.size))
					var d *wire.DeadlineError
					if !errors.As(err, &d) || d.Phase != tc.phase || answer.Elapsed < tc.after {
						t.Fatalf("err = %v after %v, want one of phase %v after %v", err, answer.Elapsed, tc.phase, tc.after)
					}
					if d.Sent != answer.Sent || d.Sent > max(tc.sent, -tc.sent) || tc.sent < 0 && d.Sent != -tc.sent {
						t.Errorf("sent %d, in the answer %d, want %d", d.Sent, answer.Sent, tc.sent)
					}
					if answer.Elapsed <= tc.after+time.Second {
						return
					}
					late = append(late, answer.Elapsed)
				}
				t.Errorf("after %v, want %v and at most a second more", late, tc.after)
			})
		}
	}
}

// R05 https://github.com/restic/restic/issues/4193: the connection that froze is
// closed, and the next attempt takes another.
func TestStalledConnectionIsClosed(t *testing.T) {
	noLeaks(t)
	ended := make(chan struct{})
	frozen := make(chan struct{}, 1)
	frozen <- struct{}{}
	p := newPeer(t, false, 64<<10, func(p *peer, c net.Conn) {
		select {
		case <-frozen:
			r := bufio.NewReader(c)
			http.ReadRequest(r)
			<-ended // the attempt
			io.Copy(io.Discard, r)
			ended <- struct{}{}
		default:
			serve(c, "200 OK")
		}
	})
	client := p.client(t, wire.Limits{Stall: 500 * time.Millisecond})
	first, err := client.Do(t.Context(), p.put(16<<20))
	var d *wire.DeadlineError
	if !errors.As(err, &d) || d.Phase != wire.PhaseStall {
		t.Fatalf("err = %v", err)
	}
	ended <- struct{}{}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the connection is still open")
	}
	second, err := client.Do(t.Context(), p.put(16<<20))
	if err != nil || first.Conn == "" || second.Conn == first.Conn || second.Sent != 16<<20 {
		t.Errorf("%d bytes over %s after %s: %v", second.Sent, second.Conn, first.Conn, err)
	}
}

// R10 https://github.com/Chocobozzz/PeerTube/issues/6415
func TestRefusedConnectionIsLeft(t *testing.T) {
	for _, layer := range []string{"plain", "TLS"} {
		t.Run(layer, func(t *testing.T) {
			noLeaks(t)
			p := newPeer(t, layer == "TLS", 1<<20, func(_ *peer, c net.Conn) { serve(c, "503 Slow Down") })
			client := p.client(t, wire.Limits{})
			first, _ := client.Do(t.Context(), p.put(100_000))
			second, _ := client.Do(t.Context(), p.put(100_000))
			if first.Status != 503 || second.Status != 503 || first.Conn == second.Conn {
				t.Errorf("%d over %s, then %d over %s", first.Status, first.Conn, second.Status, second.Conn)
			}
		})
	}
}

// The kernel's count is looked at while the source is slow, too.
func TestSlowSourceOverTheKernel(t *testing.T) {
	noLeaks(t)
	p := newPeer(t, false, 64<<10, func(_ *peer, c net.Conn) { serve(c, "200 OK") })
	client := p.client(t, wire.Limits{Stall: 300 * time.Millisecond, MinRate: 1 << 40, Overhead: 500 * time.Millisecond})
	r, reads := p.put(1<<20), 0
	r.Body = readerFunc(func(b []byte) (int, error) {
		if reads++; reads == 4 {
			<-time.After(time.Second)
		}
		return len(b), nil
	})
	if _, err := client.Do(t.Context(), r); err != nil || reads < 4 {
		t.Errorf("%d reads, err = %v", reads, err)
	}
}
