package wire

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads a Retry-After header: seconds, or a date, taken from now
// (RFC 9110, section 10.2.3). Junk, negative numbers and dates that have
// passed ask for nothing and give 0. The caller caps it.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if wait, ok := delta(value, time.Second); ok {
		return wait
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(date.Sub(now), 0)
}

// delta reads a whole number of units; one that is too large for a Duration is
// as long as can be, one below zero is none.
func delta(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseInt(value, 10, 64) // the nearest number, if out of range
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(unit))) * unit, true
}

// askedWait is how long an answer asks to be left alone: what Retry-After says
// or AWS's header in milliseconds, the longer.
func askedWait(h http.Header, now time.Time) time.Duration {
	wait, _ := delta(strings.TrimSpace(h.Get("X-Amz-Retry-After")), time.Millisecond)
	return max(wait, RetryAfter(h.Get("Retry-After"), now))
}
