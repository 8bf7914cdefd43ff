package breaker_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The model test is cheap; rapid's own default of 100 cases is too few for it.
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("10000"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}

const (
	ms = time.Millisecond
	s  = time.Second
)

func always(f float64) func() float64 { return func() float64 { return f } }

func allow(t *testing.T, b *breaker.Breaker, op string) *breaker.Permit {
	t.Helper()
	p, err := b.Allow(op)
	if err != nil {
		t.Fatalf("Allow(%q) at a breaker that is %v: %v", op, b.State(), err)
	}
	return p
}

func refused(t *testing.T, b *breaker.Breaker) *breaker.OpenError {
	t.Helper()
	p, err := b.Allow("refused?")
	e, ok := errors.AsType[*breaker.OpenError](err)
	if p != nil || !ok || !errors.Is(err, breaker.ErrOpen) {
		t.Fatalf("Allow = %v, %v, want *OpenError that is ErrOpen", p, err)
	}
	return e
}

func wantState(t *testing.T, b *breaker.Breaker, want breaker.State) {
	t.Helper()
	if got := b.State(); got != want {
		t.Fatalf("State() = %v, want %v", got, want)
	}
}

// trip opens a breaker that has Failures 1 or no success behind it.
func trip(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	for i := 0; b.State() == breaker.Closed; i++ {
		if i == 10 {
			t.Fatal("ten failures did not open the breaker")
		}
		allow(t, b, fmt.Sprint("trip/", i)).Report(breaker.Failure)
	}
}

// TestTrip plays attempts, one word each ("+" success, "-op" failure of op,
// "~op" ignored, else a pause), and looks at which of them opens the breaker.
func TestTrip(t *testing.T) {
	no := breaker.Options{Quiet: -1}
	for _, tt := range []struct {
		name   string
		o      breaker.Options
		script string
		want   breaker.State // after the last word; Closed before it
	}{
		{"five distinct", breaker.Options{}, "-a -b -c -d -e", breaker.Open},
		{"four distinct", breaker.Options{}, "-a -b -c -d", breaker.Closed},
		{"one part a hundred times", breaker.Options{}, strings.Repeat("-a ", 100), breaker.Closed},
		{"four of them again and again", breaker.Options{}, strings.Repeat("-a -b -c -d ", 10) + "-e", breaker.Open},
		{"success clears the set", no, "-a -b -c -d + -e -a -b -c", breaker.Closed},
		{"and it is counted anew", no, "-a -b -c -d + -a -b -c -d -e", breaker.Open},
		{"too soon after a success", breaker.Options{}, "+ -a -b -c -d 1999ms -e", breaker.Closed},
		{"just long enough after it", breaker.Options{}, "+ -a -b -c -d 2s -e", breaker.Open},
		{"quiet runs from the last success", breaker.Options{}, "+ 1s + 1999ms -a -b -c -d -e", breaker.Closed},
		{"looked at again at each failure", breaker.Options{}, "+ -a -b -c -d -e -f -g 2s -a", breaker.Open},
		{"but not by time alone", breaker.Options{}, "+ -a -b -c -d -e 10s", breaker.Closed},
		{"quiet by option", breaker.Options{Quiet: 7 * s}, "+ 6999ms -a -b -c -d -e 1ms -a", breaker.Open},
		{"no quiet by option", no, "+ -a -b -c -d -e", breaker.Open},
		{"ignored is no evidence", breaker.Options{}, "-a -b -c -d ~e ~f", breaker.Closed},
		{"neither way", breaker.Options{}, "-a -b -c -d ~a ~f -e", breaker.Open},
		{"failures by option", breaker.Options{Failures: 2}, "-a -a -b", breaker.Open},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New(tt.o)
				for _, w := range strings.Fields(tt.script) {
					wantState(t, b, breaker.Closed)
					switch w[0] {
					case '+':
						allow(t, b, "ok").Report(breaker.Success)
					case '-':
						allow(t, b, w[1:]).Report(breaker.Failure)
					case '~':
						allow(t, b, w[1:]).Report(breaker.Ignored)
					default:
						d, err := time.ParseDuration(w)
						if err != nil {
							t.Fatal(err)
						}
						time.Sleep(d)
					}
				}
				wantState(t, b, tt.want)
			})
		})
	}
}

func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Rand: always(0.6)})
		for i := range 5 {
			allow(t, b, fmt.Sprint(i)).Report(breaker.Failure)
		}
		start := time.Now()
		for _, want := range []time.Duration{800 * ms, 500 * ms, ms} { // of (1+0.6)/2 · 1 s
			time.Sleep(time.Until(start.Add(800*ms - want)))
			before := time.Now()
			e := refused(t, b)
			if e.RetryIn != want {
				t.Errorf("RetryIn = %v, want %v", e.RetryIn, want)
			}
			if !strings.HasSuffix(e.Error(), "try again in "+want.String()) {
				t.Errorf("the message does not tell when to try again: %q", e)
			}
			if d := time.Since(before); d != 0 {
				t.Errorf("Allow took %v", d)
			}
		}
		time.Sleep(ms - time.Nanosecond)
		if e := refused(t, b); e.RetryIn != 1 || !strings.HasSuffix(e.Error(), "in 1ms") {
			t.Errorf("a nanosecond before the end: RetryIn = %d, message %q", e.RetryIn, e)
		}
		time.Sleep(time.Nanosecond)
		wantState(t, b, breaker.Open) // nobody has taken the probe
		p := allow(t, b, "x")
		if !p.Probe() {
			t.Error("the first after the cooldown is no probe")
		}
		wantState(t, b, breaker.HalfOpen)
		time.Sleep(time.Hour)
		if e := refused(t, b); e.RetryIn != s {
			t.Errorf("while a probe is out: RetryIn = %v, want the first cooldown", e.RetryIn)
		}
		p.Report(breaker.Success)
		wantState(t, b, breaker.Closed)
		if allow(t, b, "x").Probe() {
			t.Error("a permit of a closed breaker is a probe")
		}
	})
}

func TestTimeAloneNeverCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{})
		trip(t, b)
		time.Sleep(1000 * time.Hour)
		wantState(t, b, breaker.Open)
		p := allow(t, b, "probe")
		time.Sleep(1000 * time.Hour)
		wantState(t, b, breaker.HalfOpen)
		refused(t, b)
		p.Report(breaker.Ignored)
	})
}

func TestStrings(t *testing.T) {
	got := fmt.Sprint(breaker.State(0), breaker.Open, breaker.HalfOpen, breaker.State(9))
	if want := "closed open half-open State(9)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
