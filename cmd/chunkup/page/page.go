// Package page is the web page of chunkup mint: Uppy's dashboard, which sends files
// from a browser to the store through URLs that the service signs.
//
// Everything that a browser needs is in the binary; nothing comes from elsewhere. The
// bundle in dist is made from src by make page, and make page-check tells whether it
// is what src gives.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"time"
)

//go:embed dist
var dist embed.FS

var index = template.Must(template.ParseFS(dist, "dist/index.html"))

// policy lets the page run its own code only, and talk to any host: which one the
// store is, only the signed URLs say. Thumbnails are blobs, the dashboard's icons
// data.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' data: blob:; connect-src *; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Options are what the page has to know. The zero value is for a page that the
// service serves itself, below the same path as its API.
type Options struct {
	// Endpoint is the address of the service as browsers see it, to which /s3/… is
	// added. Empty: the folder that the page is in. One of another origin has to
	// allow the page's origin (CORS).
	Endpoint string

	// MaxSize of a file in bytes: the page does not take larger ones. 0: no limit
	// but the service's, which the page asks for.
	MaxSize int64
}

// Handler serves the page at /, and what belongs to it beside it. Everything else is
// not found; http.StripPrefix puts it below another path, which has to end in "/".
// It is safe for concurrent use.
//
// The page asks for a bearer token if the service wants one, and keeps it in the
// tab's session storage; an address that ends in #token=… hands it over.
func Handler(o Options) http.Handler {
	var html bytes.Buffer
	if err := index.Execute(&html, o); err != nil {
		panic(err) // the template is a constant and its values are plain
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", asset("text/html; charset=utf-8", html.Bytes()))
	for name, kind := range map[string]string{
		"page.js":      "text/javascript; charset=utf-8",
		"page.css":     "text/css; charset=utf-8",
		"LICENSES.txt": "text/plain; charset=utf-8",
	} {
		content, err := dist.ReadFile("dist/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		mux.Handle("GET /"+name, asset(kind, content))
	}
	return mux
}

// asset serves the content under headers that let a browser do nothing else with it.
func asset(kind string, content []byte) http.Handler {
	sum := sha256.Sum256(content)
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		h.Set("Etag", etag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
