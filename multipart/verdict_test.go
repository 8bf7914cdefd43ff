package multipart

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
	"github.com/chunkup/chunkup/multipart/wire"
)

func TestWhoCountsWhat(t *testing.T) {
	deadline := func(p wire.Phase, sent int64) result {
		return result{err: &wire.DeadlineError{Phase: p, Sent: sent}}
	}
	idle := result{err: &wire.StoreError{Status: 400, Code: "RequestTimeout"}}
	locked := result{err: &wire.StoreError{Status: 503, Code: "RequestTimeout"}}
	nothing := evidence{budget.Void, breaker.Ignored, lanes.Ignored}
	for name, tc := range map[string]struct {
		class wire.Class
		res   result
		want  evidence
	}{
		"done":                 {wire.Done, result{}, evidence{budget.Success, breaker.Success, lanes.Success}},
		"retry":                {wire.Retry, result{err: io.EOF}, evidence{budget.Failure, breaker.Failure, lanes.Ignored}},
		"throttle":             {wire.Throttle, result{}, evidence{budget.Failure, breaker.Failure, lanes.Throttled}},
		"ambiguous":            {wire.Ambiguous, result{}, evidence{budget.Failure, breaker.Failure, lanes.Ignored}},
		"slow":                 {wire.Retry, deadline(wire.PhaseSend, 1), evidence{budget.Failure, breaker.Ignored, lanes.Overload}},
		"not a byte":           {wire.Retry, deadline(wire.PhaseSend, 0), evidence{budget.Failure, breaker.Failure, lanes.Ignored}},
		"stalled":              {wire.Retry, deadline(wire.PhaseStall, 1), evidence{budget.Failure, breaker.Failure, lanes.Ignored}},
		"no connection":        {wire.Retry, deadline(wire.PhaseConnect, 0), evidence{budget.Failure, breaker.Failure, lanes.Ignored}},
		"no answer":            {wire.Retry, deadline(wire.PhaseAnswer, 9), evidence{budget.Failure, breaker.Failure, lanes.Overload}},
		"no answer, complete":  {wire.Ambiguous, deadline(wire.PhaseAnswer, 9), evidence{budget.Failure, breaker.Failure, lanes.Overload}},
		"client is too slow":   {wire.Retry, idle, evidence{budget.Failure, breaker.Ignored, lanes.Ignored}},
		"MinIO's lock timeout": {wire.Throttle, locked, evidence{budget.Failure, breaker.Failure, lanes.Throttled}},
		"other bytes":          {wire.Reread, result{}, evidence{budget.Failure, breaker.Ignored, lanes.Ignored}},
		"new URL":              {wire.Remint, result{}, evidence{budget.Void, breaker.Ignored, lanes.Overload}},
		"redirect":             {wire.Redirect, result{}, nothing},
		"restart":              {wire.Restart, result{}, nothing},
		"fatal":                {wire.Fatal, result{}, nothing},
		"unknown":              {wire.Unknown, result{}, nothing},
		"local":                {wire.Retry, result{local: true}, nothing},
		"suspended":            {wire.Retry, result{err: errSuspended}, nothing},
	} {
		if got := evidenceOf(tc.class, tc.res); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestNeverConnected(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"refused":         {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		"no host":         {&net.DNSError{IsNotFound: true}, true},
		"connect bound":   {&wire.DeadlineError{Phase: wire.PhaseConnect}, true},
		"reset":           {&net.OpError{Op: "write", Err: syscall.ECONNRESET}, false},
		"another bound":   {&wire.DeadlineError{Phase: wire.PhaseAnswer}, false},
		"refused by name": {&wire.StoreError{Status: 403}, false},
		"nothing":         {nil, false},
	} {
		if got := neverConnected(tc.err); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHidesRefusal(t *testing.T) {
	connected := wire.Answer{Conn: "127.0.0.1:1"}
	for name, tc := range map[string]struct {
		res  result
		want bool
	}{
		"broken pipe":  {result{answer: connected, err: syscall.EPIPE}, true},
		"end of file":  {result{answer: connected, err: io.EOF}, true},
		"not a byte":   {result{err: syscall.ECONNREFUSED}, false},
		"stalled":      {result{answer: connected, err: &wire.DeadlineError{Phase: wire.PhaseStall}}, false},
		"an answer":    {result{answer: wire.Answer{Conn: "c", Status: 503}, err: errors.New("x")}, false},
		"local":        {result{answer: connected, err: io.EOF, local: true}, false},
		"all was well": {result{answer: connected}, false},
	} {
		if got := hidesRefusal(tc.res); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
