package browser

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// The test binary also plays npm and node: ROLE says that it does.
func TestMain(m *testing.M) {
	if os.Getenv("ROLE") == "" {
		os.Exit(m.Run())
	}
	fake()
}

// fake notes that it was called, as what and where, and does as told.
func fake() {
	name := filepath.Base(os.Args[0])
	log, err := os.OpenFile(os.Getenv("CALLS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(log, name, strings.Join(os.Args[1:], " "))
	log.Close()
	if name == "node" {
		fmt.Println(os.Getenv("NODE_VERSION"))
		return
	}
	if os.Getenv("ROLE") == "broken" {
		fmt.Println("npm error network")
		os.Exit(1)
	}
	bin := filepath.Join("node_modules", "node-of-a-kind", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "node"), nil, 0o700); err != nil {
		panic(err)
	}
}

// programs puts npm and node that are played by this binary on the path, and returns
// npm's and how often each was called.
func programs(t *testing.T, role string) (npm string, calls func(prefix string) int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"npm", "node"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Skipf("no links to play a program with: %v", err)
		}
	}
	log := filepath.Join(dir, "calls")
	t.Setenv("ROLE", role)
	t.Setenv("CALLS", log)
	t.Setenv("PATH", dir)
	return filepath.Join(dir, "npm"), func(prefix string) int {
		content, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count("\n"+string(content), "\n"+prefix)
	}
}

// folder writes the files into a folder of that name and returns its path.
func folder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInstallOnceForTheSameFiles(t *testing.T) {
	npm, calls := programs(t, "works")
	cache := t.TempDir()
	src := folder(t, "app", map[string]string{"package.json": "{}", "server.mjs": "1"})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dir, err := install(t.Context(), cache, src, npm)
			if err != nil {
				t.Error(err)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "server.mjs")); err != nil || string(content) != "1" {
				t.Errorf("%s: server.mjs is %q, %v", dir, content, err)
			}
		})
	}
	wg.Wait()
	if n := calls("npm ci --ignore-scripts "); n != 1 {
		t.Errorf("npm was called %d times", n)
	}
	changed := folder(t, "app", map[string]string{"package.json": "{}", "server.mjs": "2"})
	if _, err := install(t.Context(), cache, changed, npm); err != nil {
		t.Error(err)
	}
	if n := calls("npm ci"); n != 2 {
		t.Errorf("npm was called %d times, after a change", n)
	}
}

func TestInstallThatFailsLeavesNothing(t *testing.T) {
	npm, _ := programs(t, "broken")
	cache := t.TempDir()
	src := folder(t, "app", map[string]string{"package.json": "{}"})
	_, err := install(t.Context(), cache, src, npm)
	if err == nil || !strings.Contains(err.Error(), "npm error network") {
		t.Errorf("error %v", err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "npm-*"))
	if err != nil || len(left) != 1 || filepath.Ext(left[0]) != ".lock" {
		t.Errorf("left over: %v, %v", left, err)
	}
	if _, err := install(t.Context(), cache, src, "npm-that-is-not-there"); !errors.Is(err, errNoNPM) {
		t.Errorf("without npm: %v", err)
	}
}

func TestNewEnough(t *testing.T) {
	for version, want := range map[string]bool{
		"v18.20.4": false, "v20.19.2": false, "v20.19.3\n": true, "v20.20.0": true, "v21.7.3": false,
		"v22.0.0": true, "v26.12.1": true, "v23.0.0-nightly2024": false, "": false, "none": false,
	} {
		if got := newEnough(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

func TestNodeOfTheSystemOrOfNPM(t *testing.T) {
	for version, fromNPM := range map[string]int{"v22.1.0": 0, "v18.20.4": 1} {
		t.Run(version, func(t *testing.T) {
			npm, calls := programs(t, "works")
			t.Setenv("NODE_VERSION", version)
			testdata := filepath.Dir(folder(t, "node", map[string]string{"package.json": "{}"}))
			cache := t.TempDir()
			path, err := node(t.Context(), cache, testdata, npm)
			if err != nil || strings.HasPrefix(path, cache) != (fromNPM == 1) || calls("npm ci") != fromNPM {
				t.Errorf("%s, %v, npm was called %d times", path, err, calls("npm ci"))
			}
		})
	}
}

func TestChromiumIsAskedFor(t *testing.T) {
	t.Setenv("CHUNKUP_CHROMIUM", "")
	t.Setenv("PATH", t.TempDir())
	if _, err := os.Stat("/Applications/Google Chrome.app"); err == nil {
		t.Skip("this system has a Chrome out of the path")
	}
	if path, err := chromium(); !errors.Is(err, errNoChromium) {
		t.Errorf("%s, %v", path, err)
	}
	t.Setenv("CHUNKUP_CHROMIUM", "mine")
	if path, err := chromium(); path != "mine" || err != nil {
		t.Errorf("%s, %v", path, err)
	}
}

func TestOpenReachesLoopbackOnly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<title>here</title>")
	}))
	defer server.Close()
	ctx := Open(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	title, err := chromedp.Run(ctx, chromedp.Title())
	if err != nil || title != "here" {
		t.Errorf("title %q, %v", title, err)
	}
	// Every name is unknown there, even the one that is here on every system.
	err = chromedp.Do(ctx, chromedp.Navigate(strings.Replace(server.URL, "127.0.0.1", "localhost", 1)))
	if err == nil || !strings.Contains(err.Error(), "ERR_NAME_NOT_RESOLVED") {
		t.Errorf("elsewhere: %v", err)
	}
}

func TestScanFindsTheAddress(t *testing.T) {
	for text, want := range map[string]string{
		"starting\nhttp://127.0.0.1:1\nmore\n": "http://127.0.0.1:1",
		"starting\nsee http://127.0.0.1:1\n":   "",
	} {
		address := make(chan string, 1)
		scan(strings.NewReader(text), address)
		if got := <-address; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
