package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/journal"
)

// asking are the commands that ask a store, and what each asks first.
func (f *fake) asking(t *testing.T) map[string][]string {
	source := file(t, "big", "content")
	f.lay("/bucket/key", stored{content: []byte("content"), etag: `"x"`})
	return map[string][]string{
		"uploads": {"uploads", "ls", "s3://bucket/key"},
		"list":    {"uploads", "abort", "s3://bucket/key", "--upload-id", "U1"},
		"head":    {"verify", source, "s3://bucket/key"},
		"get":     {"verify", source, "s3://bucket/key", "--read"},
	}
}

// What the flags say of waiting and trying again counts where nothing is uploaded.
func TestRetriesOfAskingCommands(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		name         string
		args         []string
		hang         bool
		requests     int           // 0: that is of no interest
		least, below time.Duration // it takes
		says         string
	}{
		{"as often as was said", []string{"--max-attempts", "3", "--backoff-base", "1ms"}, false, 3, 0, 5 * time.Second, "too many attempts"},
		{"no jitter", []string{"--max-attempts", "5", "--backoff-base", "30ms", "--jitter", "none"}, false, 5, 450 * time.Millisecond, 10 * time.Second, "too many attempts"},
		{"no longer than was said", []string{"--max-attempts", "10000", "--max-elapsed", "200ms", "--backoff-base", "20ms", "--backoff-cap", "20ms", "--retry-budget", "10000", "--breaker-failures", "10000"}, false, 0, 0, 10 * time.Second, "no progress for too long"},
		{"a command that has its time", []string{"--timeout", "100ms"}, true, 0, 100 * time.Millisecond, 10 * time.Second, "the time limit of 100ms (--timeout) is over"},
		{"an answer that does not come", []string{"--answer-timeout", "50ms", "--max-attempts", "2", "--backoff-base", "1ms"}, true, 2, 100 * time.Millisecond, 10 * time.Second, "no answer within 50ms"},
	} {
		for op := range newFake(t).asking(t) {
			f := newFake(t)
			args := append(f.asking(t)[op], "--endpoint-url", f.URL, "--provider", "minio")
			f.on(func(w http.ResponseWriter, r *http.Request, is string) bool {
				switch {
				case is != op:
					return false
				case c.hang:
					<-r.Context().Done()
				default:
					refuse(w, 500, "InternalError")
				}
				return true
			})
			began := time.Now()
			world{}.run(t, append(args, c.args...)...).want(t, exitFailed).oneLine(t, c.says)
			if took := time.Since(began); took < c.least || took > c.below {
				t.Errorf("%s, %s: it took %v", c.name, op, took)
			}
			if n := len(f.of(op)); c.requests != 0 && n != c.requests {
				t.Errorf("%s, %s: %d requests, want %d", c.name, op, n, c.requests)
			}
		}
	}
}

// A flag that would do nothing is none.
func TestFlagsOfAskingCommands(t *testing.T) {
	isolate(t)
	f := newFake(t)
	source := file(t, "big", "x")
	for _, flag := range []string{"--state-dir=x", "--stall-timeout=1s", "--part-size=8MiB"} {
		f.verify(t, source, "s3://bucket/key", flag).want(t, exitUsage).oneLine(t, "unknown flag")
	}
	for _, flag := range []string{"--min-rate=1MB", "--overhead=1s", "--stall-timeout=1s", "--checksum-algorithm=md5"} {
		for _, command := range []string{"ls", "abort", "cleanup"} {
			f.uploadsOf(t, journal.Open(t.TempDir()), command, "s3://bucket/key", flag).want(t, exitUsage).oneLine(t, "unknown flag")
		}
	}
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}

// Of cp's flags an aborting command has those that it knows.
func TestAbortCommandOfChecksum(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.on(failing)
	r := f.cp(t, append([]string{sparse(t, "big", 12<<20), "s3://bucket/key", "--provider", "minio", "--checksum-algorithm", "crc32c", "--state-dir", t.TempDir()}, inThree...)...).want(t, exitIncomplete)
	f.on(nil)
	if r := shell(t, r.printed(t, "abort")).want(t, exitOK); !strings.HasPrefix(r.stdout, "aborted ") {
		t.Errorf("standard output %q", r.stdout)
	}
	f.empty(t)
}

// Only cp makes a sandbox.
func TestSandboxThatIsNotThere(t *testing.T) {
	isolate(t)
	source := file(t, "big", "content")
	t.Chdir(t.TempDir())
	if err := os.Mkdir("there", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"uploads", "ls", "sandbox://typo"}, {"uploads", "cleanup", "sandbox://typo", "-n"}, {"uploads", "abort", "sandbox://typo/key", "--upload-id", "U"},
		{"verify", source, "sandbox://typo/key"}, {"uploads", "ls", "sandbox://typo", "--sandbox-dir", "there"},
	} {
		world{}.run(t, args...).want(t, exitUsage).oneLine(t, "there is no sandbox://typo/")
	}
	for _, path := range []string{"chunkup-sandbox", filepath.Join("there", "typo")} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was made: %v", path, err)
		}
	}
	world{}.run(t, "cp", source, "sandbox://typo/key").want(t, exitOK)
	world{}.run(t, "uploads", "ls", "sandbox://typo").want(t, exitOK)
	world{}.run(t, "uploads", "ls", "sandbox://typo", "--connect-timeout", "1ns", "--max-attempts", "1").want(t, exitFailed).oneLine(t, " sandbox://typo/: ")
	world{}.run(t, "verify", source, "sandbox://typo/none").want(t, exitFailed).oneLine(t, " sandbox://typo/none: ")
}

// A difference says what was compared.
func TestVerifyNamesBoth(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.lay("/bucket/key", stored{content: []byte("CONTENT"), etag: `"x"`})
	source := file(t, "big", "content")
	for _, args := range [][]string{nil, {"--read"}} {
		f.verify(t, slices.Concat([]string{source, "s3://bucket/key"}, args)...).want(t, exitIntegrity).oneLine(t, source+" is not s3://bucket/key: ", " mismatch: ")
	}
}
