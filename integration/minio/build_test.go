package minio

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// pretend makes the test binary the go command; it returns the file with its
// calls and the one whose existence lets it build.
func pretend(t *testing.T) (calls, gate string) {
	t.Helper()
	dir := t.TempDir()
	calls, gate = filepath.Join(dir, "calls"), filepath.Join(dir, "gate")
	t.Setenv("ROLE", "go")
	t.Setenv("CALLS", calls)
	t.Setenv("GATE", gate)
	t.Setenv("GOFLAGS", "-race")
	t.Setenv("CGO_ENABLED", "1")
	return calls, gate
}

func TestInstallBuildsOnce(t *testing.T) {
	calls, gate := pretend(t)
	dir := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := install(t.Context(), dir, self(t))
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := os.ReadFile(path); string(got) != "built" {
				t.Errorf("%s holds %q, %v", path, got, err)
			}
		})
	}
	awaitFile(calls)
	if _, err := os.Stat(filepath.Join(dir, program())); err == nil {
		t.Error("the program is in its place before it is built")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	log, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if want := "install " + module + "@" + version + " 0 \n"; string(log) != want {
		t.Errorf("the go command was called with\n%swant\n%s", log, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "build-*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

func TestInstallSaysHowWhenItFails(t *testing.T) {
	pretend(t)
	t.Setenv("GATE", "")
	dir := t.TempDir()
	_, err := install(t.Context(), dir, self(t))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"no required module", "GOBIN=" + dir + " CGO_ENABLED=0", "go install " + module + "@" + version} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestInstallIsBounded(t *testing.T) {
	pretend(t) // and never open the gate
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := install(ctx, t.TempDir(), self(t)); err == nil || ctx.Err() == nil {
		t.Errorf("ended with %v, before its time: %v", err, ctx.Err() == nil)
	}
}

func TestBuildEnvironmentIsItsOwn(t *testing.T) {
	got := buildEnv([]string{"GOOS=plan9", "GOFLAGS=-race", "GOBIN=/x", "GOPROXY=off", "PATH=/bin"})
	if want := []string{"GOPROXY=off", "PATH=/bin", "GOFLAGS=", "GOWORK=off"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCacheFolderCanBeChosen(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CHUNKUP_CACHE", dir)
	if got, err := cacheDir(); got != filepath.Join(dir, "minio-"+version) || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}
