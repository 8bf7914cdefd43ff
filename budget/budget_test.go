package budget_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/budget"
)

// R01, https://github.com/aws/aws-sdk-go-v2/issues/3413: an empty bucket that
// returns errors fails every caller at once and lets first attempts go on at full
// speed. This one makes the retries wait, and the first attempts too.
func TestEmptyBudgetParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 3})
		share := b.Join(8 * mib)
		ops := make([]*budget.Operation, 8)
		for i := range ops {
			ops[i] = share.Operation(8 * mib)
			mustBegin(t, ops[i])
		}
		for _, o := range ops {
			o.Settle(budget.Failure, 8*mib)
		}

		var waiting []<-chan error
		for i, o := range ops {
			result := begin(t.Context(), o)
			if got, want := begun(t, result), i < 3; got != want {
				t.Errorf("retry %d started at once: %v, want %v", i, got, want)
			}
			if i >= 3 {
				waiting = append(waiting, result)
			}
		}
		first := begin(t.Context(), share.Operation(8*mib))
		if l := b.Level(); l.Parked != 6 || !l.Doubt {
			t.Errorf("level %+v, want 6 parked, in doubt", l)
		}

		for i, result := range waiting {
			time.Sleep(2*time.Second - time.Nanosecond)
			if begun(t, result) {
				t.Errorf("parked retry %d started early", i)
			}
			time.Sleep(time.Nanosecond)
			if !begun(t, result) {
				t.Errorf("parked retry %d had not started after %d s", i, 2*(i+1))
			}
		}
		if begun(t, first) {
			t.Error("a first attempt started in doubt")
		}
		ops[0].Settle(budget.Success, 8*mib)
		if !begun(t, first) {
			t.Error("the first attempt did not start when doubt had ended")
		}
		wantLevel(t, b, 1.1, 1.1*8*mib) // its charge, and the ratio; the first attempt was free
	})
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options                 budget.Options
		retries, success, after float64 // capacity; earned by a success, by a second
	}{
		{budget.Options{}, 10, 0.1, 0.5},
		{budget.Options{Retries: 32, Ratio: 0.25, Floor: 2}, 32, 0.25, 2},
		{budget.Options{Retries: -1, Ratio: -1, Floor: -1}, 10, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(c.options)
			share := b.Join(1000)
			drain(t, share, 5, 1000)
			l := b.Level()
			if l.CapacityRequests != c.retries || l.CapacityBytes != c.retries*1000 {
				t.Errorf("%+v: capacity %+v, want %v retries", c.options, l, c.retries)
			}
			succeed(share, 1000)
			left := c.retries - 5 + c.success
			wantLevel(t, b, left, left*1000)
			time.Sleep(time.Second)
			left += c.after
			wantLevel(t, b, left, left*1000)
		})
	}
}

func TestSettle(t *testing.T) {
	const bytes = 2 * mib // of operations in a share with parts of 4 MiB
	for _, c := range []struct {
		name            string
		retry           bool
		verdict         budget.Verdict
		sent            int64
		requests, parts float64 // change of the level, from Begin to after Settle
		doubt           bool
	}{
		{"a first attempt succeeds", false, budget.Success, bytes, 0.1, 0.05, false},
		{"a first attempt fails", false, budget.Failure, bytes, 0, 0, true},
		{"a first attempt fails, nothing sent", false, budget.Failure, 0, 0, 0, true},
		{"a first attempt is void", false, budget.Void, bytes, 0, 0, false},
		{"a retry succeeds", true, budget.Success, bytes, 0.1, 0.05, false},
		{"a retry fails", true, budget.Failure, bytes, -1, -0.5, true},
		{"a retry fails half way", true, budget.Failure, bytes / 2, -1, -0.25, true},
		{"a retry fails, nothing sent", true, budget.Failure, 0, -1, 0, true},
		{"less than nothing is nothing", true, budget.Failure, -bytes, -1, 0, true},
		{"more than all is all", true, budget.Failure, 5 * bytes, -1, -0.5, true},
		{"a retry is void", true, budget.Void, bytes, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New(budget.Options{Floor: -1})
				share := b.Join(4 * mib)
				o := share.Operation(bytes)
				if !c.retry {
					mustBegin(t, o) // before drain raises a doubt
				}
				drain(t, share, 5, 4*mib)
				succeed(share, 0) // earns 0.1 of a request and no bytes
				if c.retry {
					o.Probe()
					o.Settle(budget.Failure, bytes)
					mustBegin(t, o)
				}
				o.Settle(c.verdict, c.sent)
				wantLevel(t, b, 5.1+c.requests, (5+c.parts)*4*mib)
				if got := b.Level().Doubt; got != c.doubt {
					t.Errorf("doubt: %v, want %v", got, c.doubt)
				}
			})
		})
	}
}

func TestNegativeBytesAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		mustBegin(t, failing(b.Join(mib), 1, -5*mib)[0])
		wantLevel(t, b, 9, 10*mib)
	})
}

func TestLargerThanTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		share := b.Join(8 * mib)
		ops := failing(share, 2, 8*mib)
		large := failing(share, 1, 25*8*mib)[0]

		mustBegin(t, large) // full: let through
		wantLevel(t, b, 9, -15*8*mib)
		next := begin(t.Context(), ops[0])
		time.Sleep(32*time.Second - time.Nanosecond)
		if begun(t, next) {
			t.Error("a retry started before the debt was worked off")
		}
		time.Sleep(time.Nanosecond)
		if !begun(t, next) {
			t.Error("a retry did not start when it could pay")
		}
		wantLevel(t, b, 9, 0)

		large.Settle(budget.Failure, 8*mib) // 24 of 25 parts were not sent
		wantLevel(t, b, 9, 10*8*mib)
		mustBegin(t, ops[1])
		again := begin(t.Context(), large)
		time.Sleep(2*time.Second - time.Nanosecond) // 9 parts
		if begun(t, again) {
			t.Error("a part larger than the capacity started on a counter that was not full")
		}
		time.Sleep(time.Nanosecond)
		if !begun(t, again) {
			t.Error("a part larger than the capacity did not start on a full counter")
		}
	})
}

func TestNominalPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Floor: -1})
		b.Join(-5).Leave()
		if l := b.Level(); l.CapacityBytes != 10 {
			t.Errorf("capacity for parts of less than a byte: %v bytes, want 10", l.CapacityBytes)
		}
		small := b.Join(5 * mib)
		drain(t, small, 4, 5*mib)
		wantLevel(t, b, 6, 6*5*mib)
		o := failing(small, 1, 5*mib)[0]
		mustBegin(t, o)
		wantLevel(t, b, 5, 5*5*mib)

		big := b.Join(5 << 30)
		wantLevel(t, b, 5, 5*5<<30) // so many parts as before
		if b.Join(mib); b.Level().CapacityBytes != 10*5<<30 {
			t.Error("a smaller upload changed the nominal part")
		}
		big.Leave()
		big.Leave()
		o.Settle(budget.Void, 0)
		wantLevel(t, b, 6, 6*5*mib) // the charge of one part, not 1024
	})
}

func TestMisusePanics(t *testing.T) {
	for _, c := range []struct {
		want string
		do   func(o *budget.Operation)
	}{
		{"budget: Settle without Begin", func(o *budget.Operation) { o.Settle(budget.Success, 0) }},
		{"budget: Settle without Begin", func(o *budget.Operation) { o.Probe(); o.Settle(0, 0); o.Settle(0, 0) }},
		{"budget: Settle after End", func(o *budget.Operation) { o.Probe(); o.End(); o.Settle(0, 0) }},
		{"budget: Settle with an unknown verdict", func(o *budget.Operation) { o.Probe(); o.Settle(3, 0) }},
		{"budget: Begin during an attempt", func(o *budget.Operation) { o.Probe(); _ = o.Begin(context.Background()) }},
		{"budget: Begin after End", func(o *budget.Operation) { o.End(); _ = o.Begin(context.Background()) }},
		{"budget: Probe during an attempt", func(o *budget.Operation) { o.Probe(); o.Probe() }},
	} {
		b := budget.New(budget.Options{})
		got := func() (r any) {
			defer func() { r = recover() }()
			c.do(b.Join(1).Operation(1))
			return nil
		}()
		if fmt.Sprint(got) != c.want {
			t.Errorf("panic %v, want %q", got, c.want)
		}
		b.Level() // the mutex is free again
	}
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1})
		ops := failing(b.Join(1), 2, 1)
		mustBegin(t, ops[0])
		result := begin(t.Context(), ops[1])
		defer func() {
			if r := recover(); r != "budget: End during Begin" {
				t.Errorf("panic %v, want End during Begin", r)
			}
			<-result
		}()
		ops[1].End()
	})
}
