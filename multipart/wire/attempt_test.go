package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

func TestSendDeadline(t *testing.T) {
	for _, tc := range []struct {
		size     int64
		inFlight int
		want     time.Duration
	}{
		{25_000_000, 1, 140 * time.Second},
		{5_000_000, 1, 40 * time.Second},
		{5_000_000, 8, 215 * time.Second},
		{0, 1, 15 * time.Second},
		{5 << 30, 64, 0},
	} {
		got := wire.Limits{}.Send(tc.size, tc.inFlight)
		if tc.size == 5<<30 {
			if got < 400*time.Hour || got > 500*time.Hour {
				t.Errorf("5 GiB × 64: %v", got)
			}
			continue
		}
		if got != tc.want {
			t.Errorf("%d bytes, %d in flight: %v, want %v", tc.size, tc.inFlight, got, tc.want)
		}
	}
	if d := (wire.Limits{MinRate: 1}).Send(1<<62, 64); d <= 0 {
		t.Errorf("overflow: %v", d)
	}
}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *http.Request
		client := server(t, wire.Limits{}, func(c net.Conn) {
			got = readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n")
		})
		r, sent := put(100_000), 0
		r.Header = http.Header{"X-Amz-Checksum-Crc64nvme": {"abc"}}
		r.Progress = func(n int) { sent += n }
		answer, err := client.Do(t.Context(), r)
		if err != nil || answer.Status != 200 || answer.Header.Get("ETag") != `"x"` || answer.Sent != 100_000 || sent != 100_000 || answer.Conn == "" {
			t.Fatalf("answer %+v, sent %d, err %v", answer, sent, err)
		}
		if got.ContentLength != 100_000 || got.Header.Get("X-Amz-Checksum-Crc64nvme") != "abc" || len(got.TransferEncoding) != 0 {
			t.Errorf("request %+v", got)
		}
	})
}

func TestDeadlines(t *testing.T) {
	limits := wire.Limits{Connect: 10 * time.Second, MinRate: 100_000, Overhead: 5 * time.Second,
		Stall: 8 * time.Second, Answer: 70 * time.Second, Read: 15 * time.Second}
	cases := map[string]struct {
		script func(net.Conn)
		phase  wire.Phase
		after  time.Duration
		sent   int64
	}{
		"frozen before the body": {freeze, wire.PhaseStall, 8 * time.Second, -1},
		"frozen in the body": {func(c net.Conn) {
			time.Sleep(2 * time.Second)
			io.CopyN(io.Discard, c, 300_000)
			freeze(c)
		}, wire.PhaseStall, 10 * time.Second, -1},
		// 1 MB at 100 kB/s + 5 s = 15 s; this server takes 20 kB/s.
		"too slow": {func(c net.Conn) {
			for range 1000 {
				io.CopyN(io.Discard, c, 20_000)
				time.Sleep(time.Second)
			}
		}, wire.PhaseSend, 15 * time.Second, -1},
		"no answer": {func(c net.Conn) {
			readRequest(c)
			hold(c)
		}, wire.PhaseAnswer, 70 * time.Second, 1_000_000},
		"answer without an end": {func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			hold(c)
		}, wire.PhaseRead, 15 * time.Second, 1_000_000},
		"dripping answer": {func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 500 X\r\n\r\n")
			for range 1000 {
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}, wire.PhaseRead, 15 * time.Second, 1_000_000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := server(t, limits, tc.script)
				start := time.Now()
				answer, err := client.Do(t.Context(), put(1_000_000))
				var d *wire.DeadlineError
				if !errors.As(err, &d) || d.Phase != tc.phase || d.Size != 1_000_000 {
					t.Fatalf("err = %v, want one of phase %v", err, tc.phase)
				}
				if got := time.Since(start); got != tc.after || answer.Elapsed != tc.after {
					t.Errorf("after %v, want %v", got, tc.after)
				}
				if tc.sent >= 0 && (d.Sent != tc.sent || answer.Sent != tc.sent) {
					t.Errorf("sent %d, want %d", d.Sent, tc.sent)
				}
			})
		})
	}
}

func TestConnectDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := wire.NewClient(wire.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Minute):
				return nil, errors.New("gave up")
			}
		}})
		start := time.Now()
		_, err := client.Do(t.Context(), put(10))
		var d *wire.DeadlineError
		if !errors.As(err, &d) || d.Phase != wire.PhaseConnect || time.Since(start) != 10*time.Second {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
		time.Sleep(time.Minute) // the transport's own dial ends by itself
	})
}

// A steady link that is never silent is neither stalled nor too slow while its
// deadline has not passed.
func TestSlowButSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, slowServer(160_000))
		answer, err := client.Do(t.Context(), put(2_000_000))
		if err != nil || answer.Elapsed < 10*time.Second {
			t.Fatalf("%v after %v", err, answer.Elapsed)
		}
	})
}

// slowServer reads rate bytes a second.
func slowServer(rate int) func(net.Conn) {
	return func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReaderSize(trickle{c, rate}, 1))
		if err == nil {
			io.Copy(io.Discard, req.Body)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
}

func TestCancelIsNotADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, hold)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(cause) })
		start := time.Now()
		_, err := client.Do(ctx, put(1_000_000))
		var d *wire.DeadlineError
		if !errors.Is(err, cause) || errors.As(err, &d) || time.Since(start) != 3*time.Second {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
	})
}

// TLS would like to say goodbye before it closes, which takes seconds when
// nobody listens: an attempt that is over does not wait for that.
func TestDeadlineOverTLS(t *testing.T) {
	config, trusting := certificates()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{script: func(c net.Conn) {
			readRequest(tls.Server(c, config))
			freeze(c)
		}}
		client := wire.NewClient(wire.Options{Dial: p.dial, TLS: trusting})
		r := put(100_000)
		r.URL = "https://example.com/b/k" // the name in the certificate
		answer, err := client.Do(t.Context(), r)
		var d *wire.DeadlineError
		if !errors.As(err, &d) || d.Phase != wire.PhaseAnswer || answer.Elapsed != 70*time.Second {
			t.Errorf("after %v: %v", answer.Elapsed, err)
		}
		p.active.Wait()
	})
}

// An answer may overtake the body; from then on nothing reads it any more.
func TestEarlyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 503 Slow Down\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")
			time.Sleep(time.Second)
			hold(c)
		})
		var over atomic.Bool
		r := put(1_000_000)
		r.Body = readerFunc(func(p []byte) (int, error) {
			if over.Load() {
				t.Error("the body is read after the attempt")
			}
			return len(p), nil
		})
		answer, err := client.Do(t.Context(), r)
		over.Store(true)
		var s *wire.StoreError
		if !errors.As(err, &s) || s.Status != 503 || s.RetryAfter != 7*time.Second || answer.Sent == 1_000_000 {
			t.Fatalf("answer %+v, err = %v", answer, err)
		}
		time.Sleep(time.Minute)
	})
}

func TestUnreadableBody(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, tc := range map[string]struct {
		body io.Reader
		want error
	}{
		"error": {io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), broken},
		"short": {strings.NewReader("abc"), io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := server(t, wire.Limits{}, hold)
				r := put(100)
				r.Body = tc.body
				if _, err := client.Do(t.Context(), r); !errors.Is(err, tc.want) {
					t.Errorf("err = %v, want %v", err, tc.want)
				}
			})
		})
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int32
		client := server(t, wire.Limits{}, func(c net.Conn) {
			readRequest(c)
			requests.Add(1)
			io.WriteString(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n")
		})
		_, err := client.Do(t.Context(), put(10))
		var s *wire.StoreError
		if !errors.As(err, &s) || s.Status != 307 || requests.Load() != 1 {
			t.Fatalf("%d requests, err = %v", requests.Load(), err)
		}
	})
}

func TestHugeAnswerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			c.Write(bytes.Repeat([]byte("x"), 10<<20))
		})
		answer, err := client.Do(t.Context(), put(10))
		if err == nil || len(answer.Body) != 64<<10 {
			t.Fatalf("%d bytes of the answer were read", len(answer.Body))
		}
	})
}

func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, func(c net.Conn) {
			readRequest(c)
			time.Sleep(10 * time.Minute)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		})
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://store/", strings.NewReader("parts"))
		resp, err := client.Control(700 * time.Second).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if string(body) != "hello" || err != nil || resp.StatusCode != 200 {
			t.Errorf("%q, %v", body, err)
		}
		req, _ = http.NewRequestWithContext(t.Context(), "HEAD", "http://store/", nil)
		var d *wire.DeadlineError
		if _, err := client.Control(0).Do(req); !errors.As(err, &d) || d.Phase != wire.PhaseAnswer {
			t.Errorf("err = %v", err)
		}
	})
}
