package mint

import (
	"net/http"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

const page = "https://page.example"

func TestServerPreflight(t *testing.T) {
	for name, c := range map[string]struct {
		origins []string
		headers []string
		status  int
		want    map[string]string
	}{
		"on the list": {[]string{"https://other.example", page}, []string{"Origin: " + page, "Access-Control-Request-Headers: authorization,content-type,x-mine"}, 204,
			map[string]string{"Allow-Origin": page, "Allow-Methods": "GET, POST, DELETE", "Allow-Headers": "authorization,content-type,x-mine", "Max-Age": "600"}},
		"all": {[]string{"*"}, []string{"Origin: " + page}, 204,
			map[string]string{"Allow-Origin": "*", "Allow-Methods": "GET, POST, DELETE", "Allow-Headers": corsHeaders, "Max-Age": "600"}},
		"strange headers": {[]string{page}, []string{"Origin: " + page, "Access-Control-Request-Headers: a;b"}, 204,
			map[string]string{"Allow-Origin": page, "Allow-Methods": "GET, POST, DELETE", "Allow-Headers": corsHeaders, "Max-Age": "600"}},
		"not on the list": {[]string{page}, []string{"Origin: https://page.example.evil"}, 403, map[string]string{}},
		"another scheme":  {[]string{page}, []string{"Origin: http://page.example"}, 403, map[string]string{}},
		"another port":    {[]string{page}, []string{"Origin: https://page.example:444"}, 403, map[string]string{}},
		"null":            {[]string{page}, []string{"Origin: null"}, 403, map[string]string{}},
		"no origin":       {[]string{page}, nil, 403, map[string]string{}},
		"no list":         {nil, []string{"Origin: " + page}, 403, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newServerLab(t, func(o *Options) { o.Origins = c.origins })
			a := l.ask("OPTIONS", pathMultipart, "", append(c.headers, "Authorization", "Access-Control-Request-Method: POST")...)
			if a.status != c.status || l.lastEvent().Route != "preflight" || l.lastEvent().Status != c.status {
				t.Errorf("%d %s, %+v", a.status, a.text, l.lastEvent())
			}
			for _, h := range []string{"Allow-Origin", "Allow-Methods", "Allow-Headers", "Max-Age", "Allow-Credentials", "Expose-Headers"} {
				if got := a.header.Get("Access-Control-" + h); got != c.want[h] {
					t.Errorf("%s: %q instead of %q", h, got, c.want[h])
				}
			}
			if vary := a.header.Values("Vary"); len(c.origins) > 0 && (len(vary) == 0 || vary[0] != "Origin") {
				t.Errorf("Vary %q", vary)
			}
		})
	}
}

// A page that may, reads answers and refusals alike; a page that may not, does nothing,
// even where no token stands in its way.
func TestServerCrossOrigin(t *testing.T) {
	l := newServerLab(t, func(o *Options) {
		o.Origins, o.MaxAge, o.Authenticate = []string{page}, time.Second, Anyone(Caller{Name: "all"})
	})
	for _, c := range []struct {
		headers []string
		status  int
		allowed string
	}{
		{nil, 200, ""},
		{[]string{"Origin: " + page, "Sec-Fetch-Site: cross-site"}, 200, page},
		{[]string{"Origin: http://example.com", "Sec-Fetch-Site: same-origin"}, 200, ""}, // its own page
		{[]string{"Origin: http://example.com"}, 200, ""},
		{[]string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"}, 403, ""},
		{[]string{"Origin: https://evil.example", "Content-Type: text/plain"}, 403, ""},
	} {
		before := l.Count(wire.Create)
		a := l.ask("POST", pathMultipart, `{"filename":"a"}`, c.headers...)
		if a.status != c.status || a.header.Get("Access-Control-Allow-Origin") != c.allowed || l.Count(wire.Create) > before != (c.status == 200) {
			t.Errorf("%q: %d %s %v", c.headers, a.status, a.text, a.header)
		}
	}
	a := l.ask("POST", pathMultipart, `{}`, "Origin: "+page)
	if a.status != 400 || a.header.Get("Access-Control-Allow-Origin") != page || a.header.Get("Access-Control-Expose-Headers") != corsExposed {
		t.Errorf("%d %v", a.status, a.header)
	}
	for _, bad := range []string{"page.example", "https://page.example/x", "null", ""} {
		o := l.o
		if o.Origins = []string{bad}; bad != "" {
			if _, err := NewHandler(o); err == nil {
				t.Errorf("%q is taken for an origin", bad)
			}
		}
	}
	if a := l.ask(http.MethodOptions, pathMultipart, ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("a question that is no preflight: %d", a.status)
	}
}
