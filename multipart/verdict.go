package multipart

import (
	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/wire"
)

// evidence is what an attempt's end says to the budget and to the breaker.
type evidence struct {
	budget  budget.Verdict
	breaker breaker.Outcome
}

// evidenceOf is the one table of who counts what:
//
//	outcome                              budget   breaker
//	done                                 success  success
//	retry, throttle, ambiguous           failure  failure
//	deadline missed while bytes moved    failure  ignored   a slow link is not a dead store
//	store says that the client is slow   failure  ignored   400 RequestTimeout
//	other bytes arrived than were sent   failure  ignored   the path or the memory, not the store
//	new URL, redirect, restart, fatal    void     ignored
//	cancel, source or mint failed        void     ignored
func evidenceOf(class wire.Class, res result) evidence {
	if res.local {
		return evidence{budget.Void, breaker.Ignored}
	}
	switch class {
	case wire.Done:
		return evidence{budget.Success, breaker.Success}
	case wire.Retry, wire.Throttle, wire.Ambiguous:
		if res.slow() {
			return evidence{budget.Failure, breaker.Ignored}
		}
		return evidence{budget.Failure, breaker.Failure}
	case wire.Reread:
		return evidence{budget.Failure, breaker.Ignored}
	}
	return evidence{budget.Void, breaker.Ignored}
}
