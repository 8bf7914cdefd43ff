package lanes_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/multipart/lanes"
)

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

// act is one thing that happens to a gate.
type act struct {
	Do    string // acquire, cancel, release, move, slow start
	Retry bool
	Which int // of those who wait or hold, modulo their number
	How   lanes.Outcome
	Move  int // bytes
	Sleep time.Duration
}

func drawAct(t *rapid.T) act {
	a := act{Do: rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "cancel", "release", "release", "release", "move", "move", "slow start"}).Draw(t, "do")}
	switch a.Do {
	case "acquire":
		a.Retry = rapid.Bool().Draw(t, "retry")
	case "cancel":
		a.Which = rapid.IntRange(0, 9).Draw(t, "which")
	case "release":
		a.Which = rapid.IntRange(0, 9).Draw(t, "which")
		a.How = rapid.SampledFrom([]lanes.Outcome{lanes.Success, lanes.Success, lanes.Success, lanes.Ignored, lanes.Overload, lanes.Throttled, lanes.Throttled}).Draw(t, "how")
	case "move":
		a.Move = rapid.IntRange(1, 100).Draw(t, "MiB") << 20
		a.Sleep = time.Duration(rapid.IntRange(0, 20).Draw(t, "tenths")) * 100 * time.Millisecond
	}
	return a
}

// asker is one call of Acquire.
type asker struct {
	number int
	cancel func()
	since  int // number of the act by which it got its lane
	lane   *lanes.Lane
	err    error
	ended  chan struct{}
}

// play is a gate, and what must be so about it.
type play struct {
	gate     *lanes.Gate
	acts     int
	asked    int
	waiting  [2][]*asker // first attempts and retries
	holding  []*asker
	limit    int
	former   int // the limit before it was last raised
	lastFall int // number of the act of the last decrease
}

var errGone = errors.New("gone")

func (p *play) ask(ctx context.Context, retry bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &asker{number: p.asked, cancel: func() { cancel(errGone) }, ended: make(chan struct{})}
	p.asked++
	kind := 0
	if retry {
		kind = 1
	}
	p.waiting[kind] = append(p.waiting[kind], a)
	go func() {
		defer close(a.ended)
		a.lane, a.err = p.gate.Acquire(ctx, retry)
	}()
}

// do lets one thing happen, and returns what is wrong after it.
func (p *play) do(ctx context.Context, a act) error {
	p.acts++
	var want int // the limit, if it is known
	switch a.Do {
	case "acquire":
		p.ask(ctx, a.Retry)
	case "cancel":
		if all := append(p.waiting[1][:len(p.waiting[1]):len(p.waiting[1])], p.waiting[0]...); len(all) > 0 {
			all[a.Which%len(all)].cancel()
		}
	case "release":
		if len(p.holding) == 0 {
			return nil
		}
		i := a.Which % len(p.holding)
		h := p.holding[i]
		p.holding = append(p.holding[:i:i], p.holding[i+1:]...)
		fresh := h.since > p.lastFall
		if a.How == lanes.Overload && fresh {
			want = max(1, p.limit/2)
			p.lastFall = p.acts
		}
		h.lane.Release(a.How)
		if now := p.gate.Limit(); a.How == lanes.Throttled && fresh && now < p.limit {
			if want = max(1, p.limit/2); now != want {
				want = p.former // a trial
			}
			p.lastFall = p.acts
		}
	case "move":
		time.Sleep(a.Sleep)
		p.gate.Moved(a.Move)
	case "slow start":
		want = 1
		p.lastFall = p.acts
		p.gate.SlowStart()
	}
	synctest.Wait()
	if err := p.limits(want); err != nil {
		return err
	}
	return p.queues()
}

// limits checks how the limit has moved.
func (p *play) limits(want int) error {
	before, now := p.limit, p.gate.Limit()
	p.limit = now
	switch {
	case now < 1 || now > p.gate.Max():
		return fmt.Errorf("limit %d is not between 1 and %d", now, p.gate.Max())
	case want > 0 && now != want:
		return fmt.Errorf("limit %d, want %d", now, want)
	case want > 0:
		p.former = now
	case now > before:
		p.former = before
	case now < before && now != p.former:
		return fmt.Errorf("the limit fell from %d to %d, without a reason and not to the former %d", before, now, p.former)
	}
	return nil
}

// queues checks who was let in, and that it was as it should be.
func (p *play) queues() error {
	before := len(p.holding)
	for kind := 1; kind >= 0; kind-- {
		var still []*asker
		for _, a := range p.waiting[kind] {
			select {
			case <-a.ended:
			default:
				still = append(still, a)
				continue
			}
			if a.err != nil {
				if !errors.Is(a.err, errGone) || a.lane != nil {
					return fmt.Errorf("lane %v and error %v", a.lane, a.err)
				}
				continue
			}
			switch {
			case len(still) > 0:
				return fmt.Errorf("%d was let in before %d of its kind", a.number, still[0].number)
			case kind == 0 && len(p.waiting[1]) > 0:
				return fmt.Errorf("a first attempt was let in before a retry")
			}
			a.since = p.acts
			p.holding = append(p.holding, a)
		}
		p.waiting[kind] = still
	}
	waiting := len(p.waiting[0]) + len(p.waiting[1])
	switch held := p.gate.Held(); {
	case held != len(p.holding):
		return fmt.Errorf("%d held, want %d", held, len(p.holding))
	case held > before && held > p.limit:
		return fmt.Errorf("somebody was let in: %d held of %d", held, p.limit)
	case waiting > 0 && held < p.limit:
		return fmt.Errorf("%d are left waiting with %d of %d held", waiting, held, p.limit)
	}
	return nil
}

// Whatever happens in whatever order: the limit stays within its range, falls
// for a reason and once in an epoch; nobody gets in beyond it, nobody is left
// behind while there is room, retries go first and nobody overtakes his kind;
// and every Acquire ends with a lane or with its context.
func TestGateProperties(t *testing.T) {
	cases(t, 10_000)
	rapid.Check(t, func(rt *rapid.T) {
		o := lanes.Options{Start: rapid.IntRange(1, 8).Draw(rt, "start"), Max: rapid.IntRange(1, 12).Draw(rt, "max")}
		n := rapid.IntRange(1, 60).Draw(rt, "number of acts")
		acts := rapid.SliceOfN(rapid.Custom(drawAct), n, n).Draw(rt, "acts")
		var err error
		synctest.Test(t, func(t *testing.T) {
			p := &play{gate: lanes.New(o)}
			p.limit = p.gate.Limit()
			p.former = p.limit
			defer p.end()
			for range p.limit + 1 {
				if err = p.do(t.Context(), act{Do: "acquire"}); err != nil {
					return
				}
			}
			for i, a := range acts {
				if err = p.do(t.Context(), a); err != nil {
					err = fmt.Errorf("act %d: %w", i, err)
					return
				}
			}
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// end cancels those who wait. A bubble in which one of them went on waiting
// would panic.
func (p *play) end() {
	for _, kind := range p.waiting {
		for _, a := range kind {
			a.cancel()
		}
	}
}
