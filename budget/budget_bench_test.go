package budget_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/chunkup/chunkup/budget"
)

const benchPart = 16 << 20

// What each part pays whose first attempt works, and what it pays with one retry,
// alone and when 64 want something at once.
func BenchmarkOperation(b *testing.B) {
	for name, verdicts := range map[string][]budget.Verdict{
		"first": {budget.Success}, "retried": {budget.Failure, budget.Success},
	} {
		one := func(b *testing.B, s *budget.Share) {
			o := s.Operation(benchPart)
			for _, v := range verdicts {
				if err := o.Begin(b.Context()); err != nil {
					b.Error(err)
				}
				o.Settle(v, benchPart)
			}
			o.End()
		}
		b.Run(name+"/alone", func(b *testing.B) {
			s := rich().Join(benchPart)
			b.ReportAllocs()
			for b.Loop() {
				one(b, s)
			}
		})
		b.Run(name+"/contended", func(b *testing.B) {
			s := rich().Join(benchPart)
			b.ReportAllocs()
			b.SetParallelism(64 / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					one(b, s)
				}
			})
		})
	}
}

// What each upload pays besides, when so many others run.
func BenchmarkJoinLeave(b *testing.B) {
	for _, others := range []int{0, 63, 999} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			budgets := rich()
			var size atomic.Int64
			join := func() *budget.Share { return budgets.Join(1 << (10 + size.Add(1)%8)) }
			for range others {
				defer join().Leave()
			}
			b.ReportAllocs()
			for b.Loop() {
				join().Leave()
			}
		})
	}
}

// rich is a budget in which no retry has to wait.
func rich() *budget.Budget {
	return budget.New(budget.Options{Retries: 1e12, Ratio: 10})
}
