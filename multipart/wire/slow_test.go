package wire_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/multipart/wire"
)

// patient is a send deadline that never comes.
func patient(time.Duration) time.Duration { return math.MaxInt64 / 2 }

// A slow link must always finish: at any constant rate from 1 kB/s on nothing
// looks like a stall.
func TestNoConstantRateStalls(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.IntRange(1000, 1_000_000).Draw(rt, "bytes a second")
		size := rapid.IntRange(1, 300_000).Draw(rt, "size")
		var err error
		synctest.Test(t, func(t *testing.T) {
			r := put(size)
			r.Send = patient
			_, err = server(t, wire.Limits{}, slowServer(rate)).Do(t.Context(), r)
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// The time that the source takes is no fault of the link: it counts neither as
// a stall nor for the send deadline.
func TestSlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{MinRate: 1 << 40}, func(c net.Conn) { serve(c, "200 OK") })
		r := put(100_000)
		body := r.Body
		r.Body = readerFunc(func(p []byte) (int, error) {
			time.Sleep(50 * time.Second)
			return body.Read(p)
		})
		answer, err := client.Do(t.Context(), r)
		if err != nil || answer.Sent != 100_000 || answer.Elapsed < 500*time.Second {
			t.Errorf("%d bytes after %v: %v", answer.Sent, answer.Elapsed, err)
		}
	})
}

// Only the source's time is taken out: a link that is too slow is so however
// the source is.
func TestSlowSourceAndTooSlowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 100 kB at 100 kB/s + 5 s = 6 s for the link, which takes 8 kB in 4 s; the
		// source takes another second each time.
		limits := wire.Limits{MinRate: 100_000, Overhead: 5 * time.Second}
		client := server(t, limits, slowServer(2048))
		r := put(100_000)
		body := r.Body
		r.Body = readerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Second)
			return body.Read(p)
		})
		answer, err := client.Do(t.Context(), r)
		var d *wire.DeadlineError
		if !errors.As(err, &d) || d.Phase != wire.PhaseSend || !d.Slow() || d.Limit != 6*time.Second {
			t.Fatalf("err = %v", err)
		}
		if answer.Elapsed != 8*time.Second {
			t.Errorf("after %v", answer.Elapsed)
		}
	})
}

func TestSendIsAskedAgain(t *testing.T) {
	for answers, want := range map[string]time.Duration{
		"5s":         5 * time.Second,
		"5s 5s":      5 * time.Second,
		"5s 3s":      5 * time.Second, // what was promised holds
		"5s 9s":      9 * time.Second,
		"5s 9s 20s ": 20 * time.Second,
	} {
		t.Run(answers, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a [4]time.Duration
				var text [4]string
				n, _ := fmt.Sscan(answers, &text[0], &text[1], &text[2], &text[3])
				for i := range a {
					a[i], _ = time.ParseDuration(text[min(i, n-1)])
				}
				asked := 0
				r := put(1_000_000)
				r.Send = func(time.Duration) time.Duration { asked++; return a[asked-1] }
				answer, err := server(t, wire.Limits{}, slowServer(10_000)).Do(t.Context(), r)
				var d *wire.DeadlineError
				if !errors.As(err, &d) || d.Phase != wire.PhaseSend || d.Limit != want || answer.Elapsed != want {
					t.Errorf("after %v: %v, want %v", answer.Elapsed, err, want)
				}
			})
		})
	}
}

func TestStallOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := put(1_000_000)
		r.Stall = 42 * time.Second
		r.Send = patient
		answer, err := server(t, wire.Limits{}, freeze).Do(t.Context(), r)
		var d *wire.DeadlineError
		if !errors.As(err, &d) || d.Phase != wire.PhaseStall || d.Limit != r.Stall || answer.Elapsed != r.Stall || answer.Sent != 0 {
			t.Errorf("%d bytes after %v: %v", answer.Sent, answer.Elapsed, err)
		}
	})
}

// The last write of a body has to be taken, too.
func TestSmallBodyCanStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, func(c net.Conn) {
			io.CopyN(io.Discard, c, 20) // of the head
			freeze(c)
		})
		answer, err := client.Do(t.Context(), put(10))
		var d *wire.DeadlineError
		if !errors.As(err, &d) || d.Phase != wire.PhaseStall || answer.Elapsed != 15*time.Second {
			t.Errorf("after %v: %v", answer.Elapsed, err)
		}
	})
}

// Headers that are not taken are too slow, since there is no body to stall.
func TestNoBodyCannotStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := wire.Request{Method: "DELETE", URL: "http://store/b/k"}
		limits := wire.Limits{Overhead: 20 * time.Second}
		answer, err := server(t, limits, freeze).Do(t.Context(), r)
		var d *wire.DeadlineError
		if !errors.As(err, &d) || d.Phase != wire.PhaseSend || d.Slow() || answer.Elapsed != 20*time.Second {
			t.Errorf("after %v: %v", answer.Elapsed, err)
		}
	})
}

// What is counted is what the connection took, not what is in its way.
func TestSentOfAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, func(c net.Conn) {
			io.CopyN(io.Discard, c, 100_000)
			freeze(c)
		})
		answer, err := client.Do(t.Context(), put(1_000_000))
		if err == nil || answer.Sent < 90_000 || answer.Sent > 100_000 {
			t.Errorf("%d bytes: %v", answer.Sent, err)
		}
	})
}
