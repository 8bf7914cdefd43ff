package page

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func get(t *testing.T, h http.Handler, method, path string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHandlerServesThePage(t *testing.T) {
	h := Handler(Options{})
	for path, kind := range map[string]string{
		"/":             "text/html; charset=utf-8",
		"/page.js":      "text/javascript; charset=utf-8",
		"/page.css":     "text/css; charset=utf-8",
		"/LICENSES.txt": "text/plain; charset=utf-8",
	} {
		r := get(t, h, http.MethodGet, path, nil)
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != kind || len(body(t, r)) < 1000 {
			t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s: %q", path, name, got)
			}
		}
		again := get(t, h, http.MethodGet, path, http.Header{"If-None-Match": {r.Header.Get("Etag")}})
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its ETag: %d", path, again.StatusCode)
		}
	}
}

func TestHandlerServesNothingElse(t *testing.T) {
	for _, tc := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/dist/page.js", 404},
		{"GET", "/page.go", 404},
		{"GET", "/src/main.js", 404},
		{"GET", "/s3/chunkup", 404},
		{"GET", "/index.html", 404},
		{"HEAD", "/page.js", 200},
		{"POST", "/", 405},
	} {
		if r := get(t, Handler(Options{}), tc.method, tc.path, nil); r.StatusCode != tc.status {
			t.Errorf("%s %s: %d, want %d", tc.method, tc.path, r.StatusCode, tc.status)
		}
	}
}

// What the page may load, and where scripts may come from.
func TestPolicyIsStrict(t *testing.T) {
	rules := map[string]string{}
	for rule := range strings.SplitSeq(policy, "; ") {
		name, sources, _ := strings.Cut(rule, " ")
		rules[name] = sources
	}
	for name, want := range map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'",
		"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
	} {
		if rules[name] != want {
			t.Errorf("%s %s, want %s", name, rules[name], want)
		}
	}
}

func TestOptionsReachThePage(t *testing.T) {
	o := Options{Endpoint: `https://mint.example/a?b="><script>`, MaxSize: 5 << 30}
	html := body(t, get(t, Handler(o), http.MethodGet, "/", nil))
	want := `<body data-endpoint="https://mint.example/a?b=&#34;&gt;&lt;script&gt;" data-max-size="5368709120">`
	if !strings.Contains(html, want) {
		t.Errorf("no %s in\n%s", want, html)
	}
}

var (
	address = regexp.MustCompile("(?i)https?://[a-z0-9.-]+")
	// Attributes, imports and url(…) that load something.
	loads = regexp.MustCompile(`(?i)(?:src|href|action)\s*=\s*"([^"]*)"|@import\s*"?([^";]*)|url\(\s*["']?([^"')]{0,40})`)
)

// The bundle names nothing that lies elsewhere but namespaces of XML and, in
// sentences for developers, Uppy's documentation and repository.
func TestBundleLoadsNothingFromElsewhere(t *testing.T) {
	known := []string{"www.w3.org", "uppy.io", "github.com"}
	for _, name := range []string{"index.html", "page.css", "page.js"} {
		content, err := dist.ReadFile("dist/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range address.FindAllString(string(content), -1) {
			if u, err := url.Parse(found); err != nil || !slices.Contains(known, u.Host) {
				t.Errorf("%s names %s", name, found)
			}
		}
		if name == "page.js" {
			continue // what it may load is the policy's affair
		}
		for _, m := range loads.FindAllStringSubmatch(string(content), -1) {
			target := m[1] + m[2] + m[3]
			if strings.Contains(target, "//") && !strings.HasPrefix(target, "data:") {
				t.Errorf("%s loads %s", name, target)
			}
		}
	}
}

func TestLicensesAreThere(t *testing.T) {
	content, err := dist.ReadFile("dist/LICENSES.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@uppy/core 5.2.0 (MIT)", "@uppy/dashboard 5.1.1 (MIT)", "@uppy/aws-s3 5.1.0 (MIT)",
		"preact ", "Permission is hereby granted"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("no %q", want)
		}
	}
}
