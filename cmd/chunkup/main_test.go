package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary stand in for the command, and for one whose output
// is uploaded, as well.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"chunkup": main, produce: producing})
}

// awsEnvironment has credentials, and nothing of the machine's own.
func awsEnvironment(home string) []string {
	return []string{
		"HOME=" + home,
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + filepath.Join(home, "config"),
		"AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(home, "credentials"),
		"AWS_ACCESS_KEY_ID=AKIDTEST",
		"AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=", "AWS_DEFAULT_REGION=", "AWS_PROFILE=", "AWS_DEFAULT_PROFILE=", "AWS_CA_BUNDLE=", "AWS_SESSION_TOKEN=",
		"AWS_ENDPOINT_URL=", "AWS_ENDPOINT_URL_S3=",
	}
}

// isolate gives the AWS SDK that environment, in this process.
func isolate(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, v := range awsEnvironment(home) {
		name, text, _ := strings.Cut(v, "=")
		t.Setenv(name, text)
		if text == "" {
			os.Unsetenv(name) // restored by Setenv's clean-up
		}
	}
	return home
}

// ran is how the command ended.
type ran struct {
	code           int
	stdout, stderr string
}

// world is what the command is given besides its arguments.
type world struct {
	ctx       context.Context
	variables map[string]string
	terminal  bool // standard error is one
	stdin     io.Reader
	begun     *inFlight
	collect   func(percent int)
}

// shared is a buffer that the command and what it has started write to, as they do to
// a file.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (w world) run(t *testing.T, args ...string) ran {
	t.Helper()
	var stdout, stderr shared
	ctx := w.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	state := t.TempDir()
	code := run(ctx, env{
		args: args, stdin: w.stdin, stdout: &stdout, stderr: &stderr, begun: w.begun,
		getenv: func(name string) string {
			if text, ok := w.variables[name]; ok || name != "XDG_STATE_HOME" {
				return text
			}
			return state // not the user's own
		},
		terminal: func(f io.Writer) bool { return w.terminal && f == io.Writer(&stderr) },
		collect:  w.collect,
	})
	return ran{code, stdout.String(), stderr.String()}
}

// cp runs chunkup cp against the store of a fake.
func (f *fake) cp(t *testing.T, args ...string) ran {
	t.Helper()
	return world{}.run(t, f.args(args...)...)
}

func (f *fake) args(args ...string) []string {
	return append([]string{"cp", "--endpoint-url", f.URL}, args...)
}

func (r ran) want(t *testing.T, code int) ran {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
	return r
}

// oneLine is for failures, of which the user gets a sentence, and below it how to
// go on and how to clean up where there is something.
func (r ran) oneLine(t *testing.T, parts ...string) {
	t.Helper()
	first, hints, _ := strings.Cut(r.stderr, "\n")
	for line := range strings.Lines(hints) {
		if !strings.HasPrefix(line, "resume: chunkup cp ") && !strings.HasPrefix(line, "abort:  chunkup uploads abort ") && !strings.HasPrefix(line, "header: ") {
			t.Errorf("standard error is not one line of chunkup's and hints: %q", r.stderr)
		}
	}
	if !strings.HasPrefix(first, "chunkup: ") {
		t.Errorf("standard error is not one line of chunkup's: %q", r.stderr)
	}
	for _, p := range parts {
		if !strings.Contains(first, p) {
			t.Errorf("standard error %q does not say %q", r.stderr, p)
		}
	}
}

// file writes a file and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// sparse makes a file of zeros that takes no room.
func sparse(t *testing.T, name string, size int64) string {
	t.Helper()
	path := file(t, name, "")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }
