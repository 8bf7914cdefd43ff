package mint

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The service's clock is wrong by an hour, and the end of a request is told by it:
// here it is an hour earlier or later, whoever's clock is the right one.
func TestClientClockOffset(t *testing.T) {
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour, 3 * time.Second, -3 * time.Second, time.Second} {
		for _, from := range []string{"notAfter", "X-Amz", "X-Goog", "Expires"} {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{about: fakeAbout, offset: offset}
				s.answer = slowly(400*time.Millisecond, func(fakeCall) (*http.Response, error) {
					now := time.Now().Add(offset).UTC().Truncate(time.Second)
					end := now.Add(time.Minute)
					answer := signedRequest{URL: map[string]string{"notAfter": "https://store/x",
						"X-Amz":   "https://store/x?X-Amz-Expires=60&X-Amz-Date=" + now.Format("20060102T150405Z"),
						"X-Goog":  "https://store/x?X-Goog-Expires=60&X-Goog-Date=" + now.Format("20060102T150405Z"),
						"Expires": fmt.Sprintf("https://store/x?AWSAccessKeyId=me&Expires=%d", end.Unix())}[from]}
					if from == "notAfter" {
						answer.NotAfter = &end
					}
					return replyJSON(t, answer), nil
				})
				c := dialFake(t, s)
				r, err := c.Presign(t.Context(), somePart)
				slack := time.Second // of a Date
				if offset.Abs() == time.Second {
					slack = 2 * time.Second // taken for equal
				}
				if left := time.Until(r.NotAfter); err != nil || (left-time.Minute).Abs() > slack {
					t.Errorf("%v, %s: %v left, %v", offset, from, left, err)
				}
			})
		}
	}
}

// Without any other word on when it ends, the request's life is counted from when it
// was asked for.
func TestClientExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, offset: time.Hour, answer: slowly(5*time.Second, func(fakeCall) (*http.Response, error) {
			return reply(200, `{"url":"https://store/x","expires":60}`), nil
		})}
		if r, err := dialFake(t, s).Presign(t.Context(), somePart); err != nil || time.Until(r.NotAfter) != 55*time.Second {
			t.Errorf("%v left, %v", time.Until(r.NotAfter), err)
		}
	})
}

func TestClientClock(t *testing.T) {
	sent := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	got := sent.Add(2 * time.Second)
	for name, tt := range map[string]struct {
		date, age string
		want      time.Duration
	}{
		"none":              {"", "", 0},
		"junk":              {"yesterday", "", 0},
		"equal":             {"Mon, 30 Nov 2026 12:00:01 GMT", "", 0},
		"near":              {"Mon, 30 Nov 2026 12:00:02 GMT", "", 0},
		"ahead":             {"Mon, 30 Nov 2026 13:00:01 GMT", "", time.Hour + 500*time.Millisecond},
		"behind":            {"Mon, 30 Nov 2026 11:00:01 GMT", "", -time.Hour + 500*time.Millisecond},
		"ahead, by a cache": {"Mon, 30 Nov 2026 13:00:01 GMT", "1", 0},
	} {
		var c clock
		h := http.Header{}
		for k, v := range map[string]string{"Date": tt.date, "Age": tt.age} {
			if v != "" {
				h.Set(k, v)
			}
		}
		c.saw(h, sent, got)
		if here := c.here(sent); sent.Sub(here) != tt.want {
			t.Errorf("%s: offset %v, want %v", name, sent.Sub(here), tt.want)
		}
	}
}

// A clock that was set right is believed again.
func TestClientClockRecovers(t *testing.T) {
	var c clock
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, offset := range []time.Duration{time.Hour, 0} {
		c.saw(http.Header{"Date": {now.Add(offset).Format(http.TimeFormat)}}, now, now)
	}
	if c.here(now) != now {
		t.Errorf("off by %v", now.Sub(c.here(now)))
	}
}

func TestURLEnd(t *testing.T) {
	for query, want := range map[string]string{
		"X-Amz-Date=20261130T120000Z&X-Amz-Expires=900":                    "2026-11-30T12:15:00Z",
		"X-Goog-Date=20261130T120000Z&X-Goog-Expires=1":                    "2026-11-30T12:00:01Z",
		"Expires=1796040000&Signature=x":                                   "2026-11-30T12:00:00Z",
		"X-Amz-Date=20261130T120000Z&X-Amz-Expires=0":                      "2026-11-30T12:00:00Z",
		"X-Amz-Date=20261130T120000Z":                                      "",
		"X-Amz-Expires=900":                                                "",
		"X-Amz-Date=junk&X-Amz-Expires=900":                                "",
		"X-Amz-Date=20261130T120000Z&X-Amz-Expires=-1":                     "",
		"X-Amz-Date=20261130T120000Z&X-Amz-Expires=9999999999999999999999": "",
		"X-Amz-Date=20261130T120000Z&X-Amz-Expires=9223372036854775807":    "",
		"Expires=Mon":            "",
		"Expires=99999999999999": "",
		"":                       "",
		"X-Amz-Date=20261399T120000Z&X-Amz-Expires=900&Expires=1796040000": "2026-11-30T12:00:00Z",
	} {
		got := urlEnd(&url.URL{RawQuery: query})
		if text := got.Format(time.RFC3339); text != want && !(want == "" && got.IsZero()) {
			t.Errorf("%s: %s, want %q", query, text, want)
		}
	}
}

// Whatever a URL says, its end is none, or one that can be reckoned with; and the same
// URL says the same.
func FuzzNotAfter(f *testing.F) {
	for _, seed := range []string{"https://store/k?X-Amz-Date=20261130T120000Z&X-Amz-Expires=900", "http://s/?Expires=1796040000",
		"https://s?X-Goog-Date=00010101T000000Z&X-Goog-Expires=1", "https://s?X-Amz-Date=99991231T235959Z&X-Amz-Expires=3153600000", "%", ""} {
		f.Add(seed, int64(60))
	}
	c := &Client{caller: &caller{name: "https://mint"}}
	f.Fuzz(func(t *testing.T, address string, expires int64) {
		asked := time.Now()
		r, err := c.requestOf(signedRequest{URL: address, Expires: expires}, somePart, asked)
		if err != nil {
			return
		}
		if r.URL != address || r.Method != http.MethodPut {
			t.Errorf("%q became %s %q", address, r.Method, r.URL)
		}
		if year := r.NotAfter.Year(); year > 10_100 || year < -1 {
			t.Errorf("%q ends in the year %d", address, year)
		}
		if u, _ := url.Parse(address); urlEnd(u).IsZero() && expires <= 0 && !r.NotAfter.IsZero() {
			t.Errorf("%q ends at %v, and nobody says so", address, r.NotAfter)
		}
	})
}

// The end of a URL is what was put into it, whatever else is in it.
func TestURLEndProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "begin"), 0).UTC()
		life := rapid.Int64Range(0, 7*24*3600).Draw(t, "life")
		prefix := rapid.SampledFrom([]string{"X-Amz-", "X-Goog-"}).Draw(t, "prefix")
		q := url.Values{prefix + "Date": {begin.Format("20060102T150405Z")}, prefix + "Expires": {fmt.Sprint(life)},
			"partNumber": {"1"}, "Expires": {"5"}, prefix + "Signature": {rapid.String().Draw(t, "signature")}}
		if got := urlEnd(&url.URL{RawQuery: q.Encode()}); !got.Equal(begin.Add(time.Duration(life) * time.Second)) {
			t.Fatalf("%s ends at %v", q.Encode(), got)
		}
	})
}
