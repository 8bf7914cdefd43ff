package minio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

const (
	module  = "github.com/minio/minio"
	version = "v0.0.0-20260212201848-7aac2a2c5b7c"

	// A build takes three minutes on two cores; whoever waits for another
	// process's build waits as long.
	buildTimeout = 15 * time.Minute
)

// binary returns the path of the server's program and builds it first if need
// be. It fails the test if it cannot.
func binary(t testing.TB) string {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	path, err := install(ctx, dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// cacheDir is the folder for this version of the server.
func cacheDir() (string, error) {
	dir := os.Getenv("CHUNKUP_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("minio: no cache folder, set CHUNKUP_CACHE to one: %w", err)
		}
		dir = filepath.Join(user, "chunkup")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("minio: cache folder: %w", err)
	}
	return filepath.Join(dir, "minio-"+version), nil
}

// install returns the program in dir, built with the given go command unless
// it is there. Processes that need it at the same time build it once.
func install(ctx context.Context, dir, goCommand string) (string, error) {
	path := filepath.Join(dir, program())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("minio: cache folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "build.lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("minio: waiting for another process to build it: %w", err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil // the other process has built it
	}
	if err := build(ctx, path, goCommand); err != nil {
		return "", fmt.Errorf("minio could not be built: %w\n"+
			"Install it by hand, then run the tests again:\n\tGOBIN=%s CGO_ENABLED=0 GOFLAGS= go install %s@%s",
			err, dir, module, version)
	}
	return path, nil
}

// build makes the program beside its place and moves it there, so that nobody
// ever sees half of one.
func build(ctx context.Context, path, goCommand string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, goCommand, "install", module+"@"+version)
	cmd.Dir = tmp // outside of any module
	cmd.Env = append(buildEnv(os.Environ()), "GOBIN="+tmp, "CGO_ENABLED=0")
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), errors.Join(ctx.Err(), err), out)
	}
	return os.Rename(filepath.Join(tmp, program()), path)
}

// buildEnv drops from env what belongs to the build of the tests.
func buildEnv(env []string) []string {
	own := []string{"GOFLAGS", "GOBIN", "GOWORK", "GOOS", "GOARCH", "CGO_ENABLED", "GOEXPERIMENT", "GOCOVERDIR"}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(own, name)
	})
	return append(env, "GOFLAGS=", "GOWORK=off")
}

func program() string {
	if runtime.GOOS == "windows" {
		return "minio.exe"
	}
	return "minio"
}
