package mint

import (
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// leastOffset is how far two clocks may be apart and pass for one: the Date of an
// answer has whole seconds, and the way takes its time.
const leastOffset = 2 * time.Second

// clock is how far the service's is ahead of this machine's. Its zero value knows
// nothing and takes them for equal. It is safe for concurrent use.
type clock struct{ offset atomic.Int64 }

// saw learns from an answer. The service is taken to have written it half way
// through the round trip, and in the middle of the second that it names. An answer
// from a cache tells nothing.
func (c *clock) saw(h http.Header, sent, got time.Time) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || h.Get("Age") != "" {
		return
	}
	if got.Sub(sent) > 2*leastOffset {
		return // a server names the time when it begins to answer: half way tells nothing
	}
	half := got.Sub(sent) / 2
	offset := date.Add(time.Second / 2).Sub(sent.Add(half))
	if offset.Abs() <= leastOffset {
		offset = 0
	}
	c.offset.Store(int64(offset))
}

// here is a time of the service's by this machine's clock.
func (c *clock) here(t time.Time) time.Time { return t.Add(-time.Duration(c.offset.Load())) }

// maxLife bounds what is believed of how long a request lives. Stores take no more
// than seven days (protocols with signatures of version 4); older signatures go on
// for years.
const maxLife = 100 * 365 * 24 * time.Hour

// urlEnd reads out of a presigned URL when it ends, by the signer's clock; zero if it
// does not say. It knows the signatures of version 4
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html,
// https://cloud.google.com/storage/docs/access-control/signed-urls) and those of
// version 2, which name the end itself.
func urlEnd(u *url.URL) time.Time {
	q := u.Query()
	for _, prefix := range []string{"X-Amz-", "X-Goog-"} {
		begin, err := time.Parse("20060102T150405Z", q.Get(prefix+"Date"))
		life, ok := lifeOf(q.Get(prefix + "Expires"))
		if err == nil && ok {
			return begin.Add(life)
		}
	}
	if since, ok := lifeOf(q.Get("Expires")); ok {
		return time.Unix(0, 0).UTC().Add(since)
	}
	return time.Time{}
}

// lifeOf reads a number of seconds.
func lifeOf(text string) (time.Duration, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > int64(maxLife/time.Second) {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}
