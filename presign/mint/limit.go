package mint

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// minCallers is how many callers' buckets are kept whatever they hold.
const minCallers = 1024

// limiter bounds the requests a second of each caller. The zero value is not usable.
type limiter struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	most    int // above so many, those who were quiet for long enough are forgotten
}

func newLimiter(perSecond float64, burst int) *limiter {
	return &limiter{rate: rate.Limit(perSecond), burst: burst, buckets: map[string]*rate.Limiter{}, most: minCallers}
}

// take counts one request of a caller, or says when there will be room for it.
func (l *limiter) take(caller string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	bucket := l.buckets[caller]
	if bucket == nil {
		l.forget(now)
		bucket = rate.NewLimiter(l.rate, l.burst)
		l.buckets[caller] = bucket
	}
	r := bucket.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	f := refuse(http.StatusTooManyRequests, "too many requests: at most %g a second", float64(l.rate))
	f.retryAfter = wait
	return f
}

// forget drops the buckets that are full again: a new one is the same.
func (l *limiter) forget(now time.Time) {
	if len(l.buckets) < l.most {
		return
	}
	for caller, bucket := range l.buckets {
		if bucket.TokensAt(now) >= float64(l.burst) {
			delete(l.buckets, caller)
		}
	}
	l.most = max(minCallers, 2*len(l.buckets))
}
