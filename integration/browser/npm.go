package browser

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// installTimeout bounds one npm, and the wait for another process's.
const installTimeout = 10 * time.Minute

var errNoNPM = errors.New("npm is not installed: install it (apt-get install nodejs npm)")

// install makes a folder of the cache that has the files of src, which a package.json
// and its lock are among, and the packages that the lock names. The same files give the
// same folder; processes that need it at the same time make it once. Packages run no
// script of theirs.
func install(ctx context.Context, cache, src, npm string) (string, error) {
	sum, err := contentSum(src)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "npm-"+filepath.Base(src)+"-"+sum)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("browser: cache folder: %w", err)
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("browser: waiting for another process to install %s: %w", src, err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // the other process has installed it
	}
	return dir, npmCI(ctx, dir, src, npm)
}

// npmCI installs beside dir and moves the result there, so that nobody ever sees half
// of it.
func npmCI(ctx context.Context, dir, src, npm string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "npm-")
	if err != nil {
		return fmt.Errorf("browser: cache folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	work := filepath.Join(tmp, "work")
	if err := os.CopyFS(work, os.DirFS(src)); err != nil {
		return fmt.Errorf("browser: cache folder: %w", err)
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errNoNPM
	case err != nil:
		return fmt.Errorf("browser: %s in a copy of %s: %w\n%s", cmd, src, errors.Join(ctx.Err(), err), out)
	}
	return os.Rename(work, dir)
}

// contentSum tells folders of files apart, and platforms: packages may be for one.
func contentSum(dir string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("browser: %w", err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", fmt.Errorf("browser: %w", err)
		}
		fmt.Fprintf(hash, "%q %d\n", e.Name(), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// cacheDir is where installed packages are kept.
func cacheDir() (string, error) {
	if dir := os.Getenv("CHUNKUP_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("browser: no cache folder, set CHUNKUP_CACHE to one: %w", err)
	}
	return filepath.Join(user, "chunkup"), nil
}
