package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	webpage "github.com/chunkup/chunkup/cmd/chunkup/page"
	"github.com/chunkup/chunkup/integration/browser"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/mint"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// webToken is what the page has to know, webKey where its files go.
const (
	webToken = "let-me-in"
	webKey   = "web/object"
)

// web is a page in a browser, and the service that it belongs to, whose URLs lead to
// MinIO through the lab's proxy.
type web struct {
	*lab
	ctx     context.Context // of the tab
	address string

	mu     sync.Mutex
	calls  map[string]int // to the service, by route and status
	errors []string       // on the browser's console
}

func newWeb(t *testing.T, rules ...faultproxy.Rule) *web {
	t.Helper()
	l := newLab(t, wire.Limits{}, rules...)
	w := &web{lab: l, calls: map[string]int{}}
	profile, err := s3store.ByName("minio")
	if err != nil {
		t.Fatal(err)
	}
	service, err := mint.NewHandler(mint.Options{
		Control:      s3store.New(l.client, profile, l.wire),
		Provider:     s3presign.New(l.client, time.Minute),
		Bucket:       l.bucket,
		Authenticate: mint.Bearer(map[string]mint.Caller{webToken: {Name: "browser"}}),
		Key:          func(mint.Caller, string) (string, error) { return webKey, nil },
		OnEvent:      w.served,
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/s3/", service)
	mux.Handle("/", webpage.Handler(webpage.Options{MaxSize: 64 * mib}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.address = server.URL
	w.ctx = browser.Open(t)
	w.watch(t)
	return w
}

func (w *web) served(e mint.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[fmt.Sprint(e.Route, " ", e.Status)]++
}

// seen is what the browser complained about, and what the service was asked.
func (w *web) seen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("the browser said %q, the service %v", w.errors, w.calls)
}

// watch collects what the browser complains about.
func (w *web) watch(t *testing.T) {
	t.Helper()
	complain := func(s string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.errors = append(w.errors, s)
	}
	err := chromedp.Listen(w.ctx, func(ev any) {
		switch ev := ev.(type) {
		case *log.EventEntryAdded:
			address, _, _ := strings.Cut(ev.Entry.URL, "?") // without a signature
			complain(fmt.Sprint(ev.Entry.Source, ": ", ev.Entry.Text, " ", address))
		case *runtime.EventExceptionThrown:
			complain("exception: " + ev.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// do fails the test, and keeps a picture of the page, if a step does not go well.
func (w *web) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(w.ctx, steps...); err != nil {
		w.keep(t, "failed.png")
		t.Fatalf("%v; %s", err, w.seen())
	}
}

// value is what the expression gives in the page.
func value[T any](t *testing.T, w *web, expression string) T {
	t.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// keep keeps a picture of the whole page.
func (w *web) keep(t *testing.T, name string) {
	t.Helper()
	picture, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Errorf("no picture: %v", err)
		return
	}
	browser.Keep(t, name, picture)
}

// enter gives the page a token, by hand.
func enter(token string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		chromedp.WaitVisible(chromedp.CSS("#token")),
		chromedp.SendKeys(chromedp.CSS("#token"), token+"\n"),
	)
}

// shows waits until the element's text contains the words.
func shows(selector, words string) chromedp.Action[chromedp.Void] {
	return chromedp.Poll[chromedp.Void](fmt.Sprintf("document.querySelector(%q).textContent.includes(%q)", selector, words),
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute))
}

// Uppy 5.1.0 sends a file in parts to MinIO. One part is refused because its URL is
// said to have expired, the connection of another one breaks: each of them is signed
// again, and sent again. The connection breaks twice, because Chromium itself sends a
// request again, unseen by the page, if the connection had been in use before.
//
// @uppy/aws-s3 6 was written anew, and with a Companion behaves otherwise (read in
// 6.3.1, https://github.com/transloadit/uppy/tree/main/packages/%40uppy/aws-s3): it asks for one URL a part and
// sends it up to four times with that; an answer of 4xx other than 429, which an
// expired URL gets, ends the upload until the user tries again. It sends one part of a
// file at a time, no header of its user's (so no token), none that the service asks
// for, and ETags without quotes in complete.
func TestUppyUploadsThroughExpiryAndReset(t *testing.T) {
	w := newWeb(t,
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, Status: 403, Code: "AccessDenied", Message: "Request has expired",
			Header: http.Header{"Access-Control-Allow-Origin": {"*"}}},
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 3, Reset: true, After: 1 * mib, Count: 2},
	)
	src := check.Random(t, 57*mib+123) // four parts of 16 MiB and less
	path := check.TempFile(t, src)

	w.do(t, chromedp.Navigate(w.address), enter("wrong"), shows("#problem", "refused the token"))
	w.keep(t, "1-refused.png")
	begin := time.Now()
	w.do(t, enter(webToken),
		chromedp.SetUploadFiles(chromedp.CSS(".uppy-Dashboard-input"), []string{path}),
		chromedp.Click(chromedp.CSS(".uppy-StatusBar-actionBtn--upload"), chromedp.NodeVisible),
		shows("#events", "complete"),
		chromedp.WaitVisible(chromedp.CSS(".uppy-StatusBar.is-complete")),
	)
	t.Logf("%d bytes in %v, %s", src.Size(), time.Since(begin).Round(time.Millisecond), w.seen())
	w.keep(t, "2-complete.png")

	check.Equal(t, w.server.Client(), w.bucket, webKey, src, src.Size())
	check.NoUploads(t, w.server.Client(), w.bucket, webKey)
	w.sentAgain(t, map[int]int{1: 1, 2: 2, 3: 3, 4: 1})
	name := filepath.Base(path)
	events := value[string](t, w, "document.querySelector('#events').textContent")
	for _, want := range []string{
		name + ", part 2: sent again (its link had expired)",
		name + ", part 3: sent again (the connection was lost)",
	} {
		if !strings.Contains(events, want) {
			t.Errorf("the page does not say %q but %q", want, events)
		}
	}
	if row := value[string](t, w, "document.querySelector('#files li').textContent"); !strings.Contains(row, "4 of 4 parts") {
		t.Errorf("the page says %q", row)
	}
	w.clean(t)
}

// sentAgain fails unless each part was sent as often as told.
func (w *web) sentAgain(t *testing.T, want map[int]int) {
	t.Helper()
	for part, n := range want {
		if got := w.attempts(part); len(got) != n {
			t.Errorf("part %d was sent %d times, want %d: %+v", part, len(got), n, got)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// One a part, one for each failure that the page has seen.
	if w.calls["sign 200"] < 4+2 {
		t.Errorf("parts were not signed again: %v", w.calls)
	}
	if w.calls["create 200"] != 1 || w.calls["complete 200"] != 1 || w.calls["abort 200"] != 0 {
		t.Errorf("calls %v", w.calls)
	}
}

// clean fails if the browser found something that the page must not do.
func (w *web) clean(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.errors {
		if !strings.HasPrefix(e, "network: ") { // refusals, which the test makes
			t.Errorf("the browser complains: %s", e)
		}
	}
}

// The page with the token in its address, in the dark, as narrow as a page has to be
// usable (https://www.w3.org/TR/WCAG22/#reflow).
func TestPageOnASmallDarkScreen(t *testing.T) {
	w := newWeb(t)
	dark := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}
	if _, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, dark); err != nil {
		t.Fatal(err)
	}
	path := check.TempFile(t, check.Pattern(6*mib))
	w.do(t, chromedp.EmulateViewport(320, 800), chromedp.Navigate(w.address+"/#token="+webToken),
		chromedp.SetUploadFiles(chromedp.CSS(".uppy-Dashboard-input"), []string{path}),
		chromedp.Click(chromedp.CSS(".uppy-StatusBar-actionBtn--upload"), chromedp.NodeVisible),
		shows("#events", "complete"),
	)
	w.keep(t, "done.png")
	check.Equal(t, w.server.Client(), w.bucket, webKey, check.Pattern(6*mib), 6*mib)
	if address := value[string](t, w, "location.href"); strings.Contains(address, webToken) {
		t.Errorf("the token is still in the address %s", address)
	}
	if width := value[int](t, w, "document.documentElement.scrollWidth"); width > 320 {
		t.Errorf("the page is %d pixels wide", width)
	}
	if back := value[string](t, w, "getComputedStyle(document.body).backgroundColor"); back != "rgb(21, 24, 27)" {
		t.Errorf("the background is %s", back)
	}
	if missing := value[[]string](t, w, nameless); len(missing) > 0 {
		t.Errorf("controls without a name: %q", missing)
	}
	w.clean(t)
}

// nameless are the controls of the page that can be seen and that a screen reader would
// have no name for.
const nameless = `[...document.querySelectorAll('button, input, a[href], progress')]
	.filter((e) => e.checkVisibility())
	.filter((e) => !(e.ariaLabel || e.title || e.textContent.trim() || e.labels?.length))
	.map((e) => e.outerHTML.slice(0, 120))`
