package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestLate(t *testing.T) {
	due := time.Now()
	for by, want := range map[time.Duration]bool{
		-time.Hour: false, 0: false, time.Second: false, 5 * time.Second: false,
		5*time.Second + 1: true, time.Hour: true,
	} {
		if late(due.Add(by), due) != want {
			t.Errorf("late by %v: %t", by, !want)
		}
		// Without a monotonic reading, as after the machine was suspended.
		if late(due.Add(by).Round(0), due) != want {
			t.Errorf("late by %v on the wall: %t", by, !want)
		}
	}
}

// A process that was stopped may not blame the other side for the time in which
// it looked at nothing, in any phase.
func TestLateLookJudgesNothing(t *testing.T) {
	for _, p := range []Phase{PhaseConnect, PhaseSend, PhaseAnswer, PhaseRead} {
		for by, want := range map[time.Duration]bool{5 * time.Second: true, 6 * time.Second: false} {
			t.Run(p.String()+" "+by.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, failed := newWatch(Limits{Connect: time.Minute, Stall: time.Minute, Answer: time.Minute, Read: time.Minute})
					w.enter(p)
					long := time.Now().Add(-time.Hour)
					w.mu.Lock()
					w.since, w.life, w.due = long, long, time.Now().Add(-by)
					w.mu.Unlock()
					if p == PhaseSend {
						w.written() // whoever comes first after the stop
					} else {
						w.look()
					}
					if got := failed(); (got != nil) != want {
						t.Errorf("a look %v late: %v", by, got)
					}
					if want {
						return
					}
					time.Sleep(time.Minute - 1) // the clocks began again
					if failed() != nil {
						t.Errorf("too early: %v", failed())
					}
					time.Sleep(time.Nanosecond)
					synctest.Wait()
					if failed() == nil {
						t.Error("no clock was set")
					}
				})
			})
		}
	}
}

// newWatch returns a watch over a connection that nobody reads, with a send
// bound of a minute.
func newWatch(l Limits) (*watch, func() error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	client, _ := net.Pipe()
	w := &watch{limits: l.WithDefaults(), send: func(time.Duration) time.Duration { return time.Minute }, size: 10, cancel: cancel}
	w.conn = newConn(client)
	return w, func() error {
		if cause := context.Cause(ctx); cause != nil {
			var d *DeadlineError
			if !errors.As(cause, &d) {
				panic(cause)
			}
			return cause
		}
		return nil
	}
}

// The source may take its time again and again; what it takes is not counted
// while it takes it either.
func TestClocksStandStillWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, failed := newWatch(Limits{})
		w.enter(PhaseSend)
		w.reads()
		time.Sleep(time.Hour)
		w.took(5)
		time.Sleep(15*time.Second - 1)
		if failed() != nil {
			t.Fatal(failed())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if failed() == nil {
			t.Error("no stall after the read")
		}
	})
}

// A look that falls into a read is made up for at its end: a bound is exact
// however many reads there are.
func TestLookInARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, failed := newWatch(Limits{Stall: time.Hour})
		w.enter(PhaseSend)
		time.Sleep(time.Minute - 1)
		w.reads()
		w.since = w.since.Add(-2) // the bound runs out meanwhile
		w.look()
		if failed() != nil {
			t.Error("judged in a read")
		}
		w.took(1)
		if failed() == nil {
			t.Error("not judged after the read")
		}
	})
}

func TestAcknowledged(t *testing.T) {
	for _, tc := range []struct {
		sending
		want int64
	}{
		{sending{accepted: 100_000}, 100_000},
		{sending{accepted: 100_000, queued: 30_000}, 70_000},
		{sending{accepted: 100_000, queued: 130_000}, 0}, // headers, too
		{sending{accepted: 100_000, queued: 24}, 99_976},
		{sending{accepted: 100_000, queued: 24, answered: true}, 100_000}, // TLS's goodbye
		{sending{accepted: 100_000, queued: 129, answered: true}, 99_871},
	} {
		if got := (&watch{sending: tc.sending}).acknowledged(); got != tc.want {
			t.Errorf("%+v: %d", tc.sending, got)
		}
	}
}

// The answer may be heard of before the last write.
func TestAnswerOvertakesTheReportOfTheLastWrite(t *testing.T) {
	w, _ := newWatch(Limits{})
	w.enter(PhaseSend)
	w.reads()
	w.took(10)
	w.enter(PhaseRead)
	if sent, _ := w.stop(); sent != 10 {
		t.Errorf("%d bytes sent", sent)
	}
}
