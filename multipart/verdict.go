package multipart

import (
	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
	"github.com/chunkup/chunkup/multipart/wire"
)

// evidence is what an attempt's end says to the budget, the breaker and the
// lanes.
type evidence struct {
	budget  budget.Verdict
	breaker breaker.Outcome
	lanes   lanes.Outcome
}

// evidenceOf is the one table of who counts what:
//
//	outcome                              budget   breaker  lanes
//	done                                 success  success  success
//	throttle                             failure  failure  throttled chance or too much: the lanes find out
//	no answer after the last byte        failure  failure  overload  busy, or gone: less is right in both cases
//	deadline missed while bytes moved    failure  ignored  overload  a slow link is not a dead store
//	every other retry, ambiguous         failure  failure  ignored   fewer lanes mend no broken path
//	store says that the client is slow   failure  ignored  ignored   400 RequestTimeout
//	other bytes arrived than were sent   failure  ignored  ignored   the path or the memory, not the store
//	new URL because the last had expired void     ignored  overload  it was made too long before it was used
//	redirect, restart, fatal             void     ignored  ignored
//	cancel, source or mint failed        void     ignored  ignored
//	a service before the store failed    void     ignored  ignored   its trouble is not the store's
//	the machine was suspended, too late  void     ignored  ignored
func evidenceOf(class wire.Class, res result) evidence {
	if res.local || res.unsent() || res.service() {
		return evidence{budget.Void, breaker.Ignored, lanes.Ignored}
	}
	switch class {
	case wire.Done:
		return evidence{budget.Success, breaker.Success, lanes.Success}
	case wire.Throttle:
		return evidence{budget.Failure, breaker.Failure, lanes.Throttled}
	case wire.Retry, wire.Ambiguous:
		switch phase := res.missed(); {
		case phase == wire.PhaseAnswer:
			return evidence{budget.Failure, breaker.Failure, lanes.Overload}
		case res.slow():
			return evidence{budget.Failure, breaker.Ignored, lanes.Overload}
		case res.idled():
			return evidence{budget.Failure, breaker.Ignored, lanes.Ignored}
		}
		return evidence{budget.Failure, breaker.Failure, lanes.Ignored}
	case wire.Reread:
		return evidence{budget.Failure, breaker.Ignored, lanes.Ignored}
	case wire.Remint:
		return evidence{budget.Void, breaker.Ignored, lanes.Overload}
	}
	return evidence{budget.Void, breaker.Ignored, lanes.Ignored}
}
