package mint

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a browser may ask and read across origins
// (https://fetch.spec.whatwg.org/#http-cors-protocol).
const (
	corsMethods = "GET, POST, DELETE"
	corsHeaders = "Accept, Authorization, Content-Type, " + HeaderIdempotency + ", " + HeaderAttempt
	corsExposed = "Date, Retry-After"
)

// cors answers browsers' questions about other origins, and keeps pages of those away
// that are not on the list.
type cors struct {
	origins []string
	any     bool
	maxAge  time.Duration
	guard   *http.CrossOriginProtection
}

func newCORS(origins []string, maxAge time.Duration) (*cors, error) {
	c := &cors{origins: slices.Clone(origins), any: slices.Contains(origins, "*"), maxAge: maxAge,
		guard: http.NewCrossOriginProtection()}
	for _, o := range origins {
		if o == "*" {
			continue
		}
		if err := c.guard.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("mint: %q is no origin such as https://example.com: %w", o, err)
		}
	}
	return c, nil
}

// check refuses what a page of a foreign origin may send without having asked first:
// for [Anyone], no token stands in its way.
func (c *cors) check(r *http.Request) error {
	if c.any || c.guard.Check(r) == nil {
		return nil
	}
	return refuse(http.StatusForbidden, "pages of this origin may not use the service")
}

// allow adds to an answer that the page which asked may read it.
func (c *cors) allow(w http.ResponseWriter, r *http.Request) bool {
	if len(c.origins) == 0 {
		return false
	}
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return false
	case c.any:
		origin = "*"
	case !slices.Contains(c.origins, origin):
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", corsExposed)
	return true
}

// isPreflight tells the question that a browser asks before a request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers it. The page may send what headers it likes: an Authenticate of
// one's own may want any, and those that nobody reads do no harm.
func (c *cors) preflight(w http.ResponseWriter, r *http.Request, allowed bool) error {
	w.Header().Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	if !allowed {
		return refuse(http.StatusForbidden, "pages of this origin may not use the service")
	}
	headers := r.Header.Get("Access-Control-Request-Headers")
	if headers == "" || strings.ContainsFunc(headers, notOfList) {
		headers = corsHeaders
	}
	w.Header().Del("Access-Control-Expose-Headers")
	w.Header().Set("Access-Control-Allow-Methods", corsMethods)
	w.Header().Set("Access-Control-Allow-Headers", headers)
	w.Header().Set("Access-Control-Max-Age", strconv.FormatInt(int64(c.maxAge/time.Second), 10))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// notOfList tells the characters that are in no list of names of headers.
func notOfList(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == ',' || r == ' ')
}
