package budget_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/budget"
)

var errGone = errors.New("gone")

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1})
		share := b.Join(mib)
		ctx, cancel := context.WithCancelCause(t.Context())
		ops := failing(share, 3, mib)
		mustBegin(t, ops[0])
		first, second := begin(ctx, ops[1]), begin(t.Context(), ops[2])
		held := begin(ctx, share.Operation(mib))
		time.Sleep(time.Second)
		cancel(errGone)
		synctest.Wait()
		for _, result := range []<-chan error{first, held} {
			if err := <-result; err != errGone {
				t.Errorf("Begin: %v, want the cause", err)
			}
		}
		wantLevel(t, b, 0.5, 0.5*mib)
		time.Sleep(time.Second)
		if !begun(t, second) {
			t.Error("the next in the queue did not take the place of the cancelled one")
		}
		succeed(share, 0)
		if err := share.Operation(mib).Begin(ctx); err != errGone {
			t.Errorf("Begin of a first attempt with an ended context: %v, want the cause", err)
		}
		if l := b.Level(); l.Parked != 0 {
			t.Errorf("%d parked, want none", l.Parked)
		}
	})
}

// A grant and the end of the context at the same moment: either the attempt has
// begun and is charged, or it has not and is not.
func TestContextEndsAtTheGrant(t *testing.T) {
	seen := map[bool]int{}
	for i := range 200 {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Options{Retries: 1, Floor: -1})
			ops := failing(b.Join(mib), 3, mib)
			mustBegin(t, ops[0])
			ctx, cancel := context.WithCancel(t.Context())
			result := begin(ctx, ops[1])
			next := begin(t.Context(), ops[2])
			grant := func() { ops[0].Settle(budget.Void, 0) }
			if i%2 == 0 {
				grant()
				cancel()
			} else {
				cancel()
				grant()
			}
			err := <-result
			seen[err == nil]++
			wantLevel(t, b, 0, 0) // charged for this one, or for the next
			if err == nil {
				ops[1].Settle(budget.Void, 0)
			}
			if !begun(t, next) {
				t.Error("the next in the queue did not start")
			}
			ops[2].Settle(budget.Void, 0)
			wantLevel(t, b, 1, mib)
		})
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("of 200 races %d began and %d did not: one side was not tried", seen[true], seen[false])
	}
}

// Begin, grants, cancels and ends race; in the end nothing is lost or minted.
func TestRaces(t *testing.T) {
	b := budget.New(budget.Options{Retries: 2, Floor: -1, Ratio: -1})
	var wg sync.WaitGroup
	for i := range 8 {
		share := b.Join(int64(i+1) * mib)
		ops := failing(share, 4, mib)
		for _, o := range ops {
			wg.Go(func() {
				defer o.End()
				for round := range 200 {
					ctx, cancel := context.WithCancel(context.Background())
					if round%3 == 0 {
						go cancel()
					}
					if o.Begin(ctx) == nil {
						switch round % 4 {
						case 0:
							cancel()
							o.Settle(budget.Success, mib)
						default:
							o.Settle(budget.Void, mib)
						}
					}
					b.Level()
					cancel()
				}
			})
		}
		wg.Go(func() { b.Join(9 * mib).Leave() })
	}
	wg.Wait()
	if l := b.Level(); l.Parked != 0 || !near(l.Requests, 2) || !near(l.Bytes, l.CapacityBytes) {
		t.Errorf("level %+v, want full and none parked", l)
	}
}
