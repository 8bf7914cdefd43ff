package chunker

import (
	"testing"
	"time"
)

func TestPlainTime(t *testing.T) {
	instant := time.Date(2026, 5, 6, 7, 8, 9, 10, time.UTC)
	for name, c := range map[string]struct{ in, want time.Time }{
		"UTC":             {instant, instant},
		"another zone":    {instant.In(time.FixedZone("", 3600)), instant},
		"year 1":          {time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)},
		"year 9999":       {time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)},
		"year 10000":      {time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}},
		"year 0":          {time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), time.Time{}},
		"the end of time": {time.Unix(1<<62, 0), time.Time{}},
	} {
		if got := plainTime(c.in); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
		if _, err := plainTime(c.in).MarshalJSON(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	now := time.Now()
	if got := plainTime(now); got != time.Unix(now.Unix(), int64(now.Nanosecond())).UTC() {
		t.Errorf("%v keeps a monotonic clock", got)
	}
}
