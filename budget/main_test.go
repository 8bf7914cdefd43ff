package budget_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// cases sets how many cases the properties of this test try, unless the command
// line says it.
func cases(t *testing.T, n int) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		return
	}
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	t.Cleanup(func() { _ = checks.Set(before) })
	if err := checks.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
}

// check has rapid try a property of which draw draws a case; the case runs in a
// bubble of its own and returns what is wrong.
func check(t *testing.T, n int, draw func(*rapid.T) func(*testing.T) error) {
	t.Helper()
	cases(t, n)
	rapid.Check(t, func(rt *rapid.T) {
		run := draw(rt)
		var err error
		synctest.Test(t, func(t *testing.T) { err = run(t) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// begin calls Begin in a goroutine of the bubble and lets it come to rest.
func begin(ctx context.Context, o *budget.Operation) <-chan error {
	result := make(chan error, 1)
	go func() { result <- o.Begin(ctx) }()
	synctest.Wait()
	return result
}

// begun tells whether the Begin behind result has returned, without error.
func begun(t *testing.T, result <-chan error) bool {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-result:
		if err != nil {
			t.Fatalf("Begin: %v", err)
		}
		return true
	default:
		return false
	}
}

// mustBegin fails the test if the attempt does not start at once.
func mustBegin(t *testing.T, o *budget.Operation) {
	t.Helper()
	if !begun(t, begin(t.Context(), o)) {
		t.Fatal("the attempt did not start at once")
	}
}

// beginNow begins an attempt that starts at once, and returns an error if it would
// have to wait.
func beginNow(ctx context.Context, o *budget.Operation) error {
	ctx, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	return o.Begin(ctx)
}

// failing returns n operations that have failed: as probes, which start in doubt
// too and cost nothing.
func failing(s *budget.Share, n int, bytes int64) []*budget.Operation {
	ops := make([]*budget.Operation, n)
	for i := range ops {
		ops[i] = s.Operation(bytes)
		ops[i].Probe()
		ops[i].Settle(budget.Failure, bytes)
	}
	return ops
}

// succeed ends doubt, and earns what a success of this many bytes earns.
func succeed(s *budget.Share, bytes int64) {
	o := s.Operation(bytes)
	o.Probe()
	o.Settle(budget.Success, bytes)
	o.End()
}

// drain spends n retries of this many bytes on operations that give up then.
func drain(t *testing.T, s *budget.Share, n int, bytes int64) {
	t.Helper()
	if err := spend(t.Context(), s, n, bytes); err != nil {
		t.Fatal(err)
	}
}

// spend is drain for a property, which wants its errors.
func spend(ctx context.Context, s *budget.Share, n int, bytes int64) error {
	for i, o := range failing(s, n, bytes) {
		if err := beginNow(ctx, o); err != nil {
			return fmt.Errorf("retry %d did not start at once: %w", i, err)
		}
		o.Settle(budget.Failure, bytes)
		o.End()
	}
	return nil
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b))
}

// levelIs compares what is left with requests and bytes.
func levelIs(b *budget.Budget, requests, bytes float64) error {
	if l := b.Level(); !near(l.Requests, requests) || !near(l.Bytes, bytes) {
		return fmt.Errorf("level: %v requests and %v bytes, want %v and %v", l.Requests, l.Bytes, requests, bytes)
	}
	return nil
}

func wantLevel(t *testing.T, b *budget.Budget, requests, bytes float64) {
	t.Helper()
	if err := levelIs(b, requests, bytes); err != nil {
		t.Error(err)
	}
}
