package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

var retryNow = time.Date(2026, 7, 26, 10, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	const longest = math.MaxInt64 / time.Second * time.Second
	for value, want := range map[string]time.Duration{
		"30":                               30 * time.Second,
		" 30\t":                            30 * time.Second,
		"0":                                0,
		"21600":                            6 * time.Hour,
		"99999999999999":                   longest,
		"99999999999999999999999999999999": longest,

		"Sun, 26 Jul 2026 10:00:45 GMT":    45 * time.Second,
		"Sunday, 26-Jul-26 10:00:45 GMT":   45 * time.Second,
		"Sun Jul 26 10:00:45 2026":         45 * time.Second,
		"Sun, 26 Jul 2026 09:59:00 GMT":    0,
		"Sun, 26 Jul 2026 10:00:45 CET":    0,
		"Fri, 31 Dec 9999 23:59:59 GMT":    math.MaxInt64,
		"Mon, 01 Jan 0001 00:00:00 GMT":    0,
		"Sun, 26 Jul 2026 10:00:45 GMT, 5": 0,

		"":                              0,
		"soon":                          0,
		"-5":                            0,
		"-99999999999999999999999999":   0,
		"1.5":                           0,
		"1e3":                           0,
		"0x10":                          0,
		"1_000":                         0,
		"30 s":                          0,
		"30, 60":                        0,
		"\x00\xff":                      0,
		strings.Repeat("9", 1<<20):      longest,
		strings.Repeat("nine", 1<<20):   0,
		"Sun, 26 Jul 2026 25:00:00 GMT": 0,
	} {
		if got := RetryAfter(value, retryNow); got != want {
			t.Errorf("%.60q: %v, want %v", value, got, want)
		}
	}
}

// AWS has a header of its own, in milliseconds; the longer wait counts.
func TestAskedWait(t *testing.T) {
	for _, tc := range []struct {
		seconds, millis string
		want            time.Duration
	}{
		{"", "", 0},
		{"2", "", 2 * time.Second},
		{"", "1500", 1500 * time.Millisecond},
		{"2", "1500", 2 * time.Second},
		{"1", "1500", 1500 * time.Millisecond},
		{"junk", "-1", 0},
		{"", "99999999999999999999", math.MaxInt64 / time.Millisecond * time.Millisecond},
	} {
		h := http.Header{"Retry-After": {tc.seconds}, "X-Amz-Retry-After": {tc.millis}, "Date": {retryNow.Format(http.TimeFormat)}}
		if got := NewStoreError(503, h, "", "").RetryAfter; got != tc.want {
			t.Errorf("%q, %q: %v, want %v", tc.seconds, tc.millis, got, tc.want)
		}
	}
	// The store's date is taken from the store's clock, not from ours.
	h := http.Header{"Retry-After": {"Wed, 01 Mar 2000 00:00:07 GMT"}, "Date": {"Wed, 01 Mar 2000 00:00:00 GMT"}}
	if got := NewStoreError(503, h, "", "").RetryAfter; got != 7*time.Second {
		t.Errorf("a date by another clock: %v", got)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"", "0", "30", " 30 ", "-1", "+5", "99999999999999999999", "Sun, 26 Jul 2026 10:00:45 GMT",
		"Sunday, 26-Jul-26 10:00:45 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := RetryAfter(value, retryNow)
		if got < 0 {
			t.Errorf("%q: %v", value, got)
		}
		if again := RetryAfter(" "+value+"\t", retryNow); again != got {
			t.Errorf("%q: %v, with space around it %v", value, got, again)
		}
		if n, err := strconv.ParseUint(value, 10, 32); err == nil && got != time.Duration(n)*time.Second {
			t.Errorf("%q: %v", value, got)
		}
		if got > 0 && !strings.ContainsAny(value, "123456789") {
			t.Errorf("%q asks for %v", value, got)
		}
	})
}
