package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"pgregory.net/rapid"
)

var errCancelled = errors.New("cancelled")

// pair runs the real breaker beside the model.
type pair struct {
	b       *breaker.Breaker
	m       *model
	asks    []*ask
	changes []string
}

func (p *pair) do(ctx context.Context, st step) error {
	switch st.Do {
	case "allow":
		return p.allow(st)
	case "wait":
		a := &ask{op: st.Op, size: st.Size}
		p.asks = append(p.asks, a)
		if p.m.ask(a) > 0 {
			p.m.queue = append(p.m.queue, a)
		}
		ctx, a.cancel = context.WithCancelCause(ctx)
		go func() {
			real, err := p.b.Wait(ctx, a.op, a.size)
			a.real.Store(real)
			if err != nil {
				a.err.Store(&err)
			}
		}()
	case "report", "again":
		given := slices.DeleteFunc(slices.Clone(p.asks), func(a *ask) bool { return !a.given || a.over && st.Do == "report" })
		if len(given) > 0 {
			a := given[st.Which%len(given)]
			p.m.report(a, st.Outcome)
			a.real.Load().Report(st.Outcome)
		}
	case "cancel":
		if n := len(p.m.queue); n > 0 {
			i := st.Which % n
			p.m.seen["a waiter is cancelled"]++
			p.m.queue[i].over = true
			p.m.queue[i].cancel(errCancelled)
			p.m.queue = slices.Delete(p.m.queue, i, i+1)
		}
	case "sleep":
		p.m.now += st.Sleep
		p.m.settle()
		time.Sleep(st.Sleep)
	}
	return nil
}

func (p *pair) allow(st step) error {
	a := &ask{op: st.Op}
	want := p.m.ask(a)
	real, err := p.b.Allow(st.Op)
	if e, ok := errors.AsType[*breaker.OpenError](err); ok && (e.RetryIn != want || e.RetryIn <= 0) {
		return fmt.Errorf("RetryIn = %v, want %v", e.RetryIn, want)
	}
	if (err == nil) != a.given {
		return fmt.Errorf("Allow = %v, %v, want a permit: %v", real, err, a.given)
	}
	if a.given {
		a.real.Store(real)
		p.asks = append(p.asks, a)
	}
	return nil
}

// compare looks at all that can be seen of the two.
func (p *pair) compare() error {
	if got := p.b.State(); got != p.m.state {
		return fmt.Errorf("State() = %v, want %v", got, p.m.state)
	}
	if !slices.Equal(p.changes, p.m.changes) {
		return fmt.Errorf("changes %v, want %v", p.changes, p.m.changes)
	}
	out := 0
	for i, a := range p.asks {
		real, err := a.real.Load(), a.err.Load()
		switch cancelled := a.over && !a.given; {
		case (real != nil) != a.given:
			return fmt.Errorf("ask %d has a permit: %v, want %v", i, real != nil, a.given)
		case (err != nil) != cancelled:
			return fmt.Errorf("ask %d has ended with an error: %v, want %v", i, err != nil, cancelled)
		case err != nil && *err != errCancelled:
			return fmt.Errorf("ask %d: %w", i, *err)
		case real == nil:
			continue
		case real.Probe() != a.probe || real.Current() != (a.epoch == p.m.epoch):
			return fmt.Errorf("ask %d: probe %v, current %v, want %v, %v",
				i, real.Probe(), real.Current(), a.probe, a.epoch == p.m.epoch)
		}
		if a.probe && !a.over {
			out++
		}
	}
	if half := p.b.State() == breaker.HalfOpen; half && out != 1 || !half && out != 0 {
		return fmt.Errorf("%d probes are out at a breaker that is %v", out, p.b.State())
	}
	return nil
}

// rules are what the stories of TestModel must bring into play now and then, or
// else it would show nothing.
var rules = []string{
	"one operation fails again and again",
	"too soon after a success",
	"a stale failure while open",
	"a stale failure while half-open",
	"a stale failure while closed",
	"a late success ends a cooldown",
	"an ignored probe passes on",
	"the smallest overtakes the oldest",
	"a cooldown at its cap",
	"a second report",
	"a waiter is cancelled",
	"ends closed", "ends open", "ends half-open",
}

// TestModel compares the breaker with the model after every step of random
// stories.
func TestModel(t *testing.T) {
	seen := map[string]int{}
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		o := breaker.Options{
			Failures:    rapid.IntRange(1, 3).Draw(rt, "failures"),
			Quiet:       rapid.SampledFrom([]time.Duration{-1, 500 * ms, 2 * s}).Draw(rt, "quiet"),
			Cooldown:    s,
			MaxCooldown: rapid.SampledFrom([]time.Duration{s, 3 * s}).Draw(rt, "max"),
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 10, 50).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) {
			p := &pair{m: &model{o: o, rand: rand.New(rand.NewPCG(seed, 0)).Float64, seen: seen}}
			o.Rand = rand.New(rand.NewPCG(seed, 0)).Float64
			o.OnChange = func(from, to breaker.State) {
				p.changes = append(p.changes, fmt.Sprintf("%v>%v", from, to))
			}
			p.b = breaker.New(o)
			err = p.play(t.Context(), steps)
			seen["ends "+p.m.state.String()]++
		})
		if err != nil {
			rt.Fatal(err)
		}
		checks++
	})
	for _, rule := range rules {
		if checks >= 10_000 && seen[rule] < 20 {
			t.Errorf("in %d stories the rule came into play only %d times: %s", checks, seen[rule], rule)
		}
	}
}

func (p *pair) play(ctx context.Context, steps []step) error {
	defer synctest.Wait() // all who wait are gone
	defer func() {
		for _, a := range p.asks {
			if a.cancel != nil {
				a.cancel(errCancelled)
			}
		}
	}()
	for i, st := range steps {
		if err := p.do(ctx, st); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		synctest.Wait()
		if err := p.compare(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}
