package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// openTimeout bounds all that a test does in its browser.
const openTimeout = 3 * time.Minute

var errNoChromium = errors.New("no Chromium and no Chrome found: install one (apt-get install chromium), " +
	"or set CHUNKUP_CHROMIUM to its program")

// Open starts a headless Chromium, in which the test finds one empty tab by the
// context. It reaches nothing but 127.0.0.1, knows no user, and ends with the test.
// What it prints is logged if the test fails.
func Open(t testing.TB) context.Context {
	t.Helper()
	program, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.CombinedOutput(outputFile(t, program)),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-dev-shm-usage", true), // it is too small in containers
		chromedp.WindowSize(1000, 1000),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to have one for root
	}
	ctx, cancel := context.WithTimeout(t.Context(), openTimeout)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		closeTab()
		stop()
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("browser: start %s: %v", program, err)
	}
	return ctx
}

// chromium returns the path of the browser's program.
func chromium() (string, error) {
	if path := os.Getenv("CHUNKUP_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		filepath.Join(os.Getenv("ProgramFiles"), `Google\Chrome\Application\chrome.exe`),
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoChromium
}

// Keep writes content to a file of that name, which outlives the test, and logs where
// it is: in $CHUNKUP_ARTEFACTS if set, else in chunkup-artefacts in the system's
// temporary folder.
func Keep(t testing.TB, name string, content []byte) {
	t.Helper()
	dir := os.Getenv("CHUNKUP_ARTEFACTS")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "chunkup-artefacts")
	}
	path := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+"-"+name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("kept %s", path)
}
