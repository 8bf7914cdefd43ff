package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/multipart"
)

func TestResultLine(t *testing.T) {
	isolate(t)
	f := newFake(t)
	source := sparse(t, "big", 11<<20)
	r := f.cp(t, source, "s3://bucket/a/", "--multipart-threshold", "1MiB", "--part-size", "5MiB", "--provider", "minio").want(t, exitOK)
	for _, want := range []string{"uploaded " + source + " → s3://bucket/a/big  11 MiB in 3 parts of 5 MiB, ", "B/s\n", `etag "whole-1"  crc64nvme `} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q does not say %q", r.stdout, want)
		}
	}
	if r.stderr != "" || strings.Contains(r.stdout, "retries") {
		t.Errorf("standard error %q, standard output %q", r.stderr, r.stdout)
	}
	if r := f.cp(t, file(t, "small", "content"), "s3://bucket/key").want(t, exitOK); !strings.Contains(r.stdout, "7 B in one PUT, ") {
		t.Errorf("standard output %q", r.stdout)
	}
	if r := f.cp(t, "--quiet", file(t, "small", "content"), "s3://bucket/key").want(t, exitOK); r.stdout+r.stderr != "" {
		t.Errorf("not quiet: %q, %q", r.stdout, r.stderr)
	}
}

func TestVerbose(t *testing.T) {
	isolate(t)
	source := file(t, "big", "content")
	fails := func() *fake {
		f := newFake(t)
		f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
			return op == "part" && len(f.of("part")) <= 2 && refuse(w, 500, "InternalError")
		})
		return f
	}
	args := []string{source, "s3://bucket/key", "--multipart-threshold", "0", "--backoff-base", "3ms", "--jitter", "none"}
	r := fails().cp(t, append(args, "-v")...).want(t, exitOK)
	if want := "retry: upload part 1 of s3://bucket/key: attempt 1 failed (retry): status 500 InternalError: no; again in 3ms\n" +
		"retry: upload part 1 of s3://bucket/key: attempt 2 failed (retry): status 500 InternalError: no; again in 6ms\n"; r.stderr != want {
		t.Errorf("standard error %q, want %q", r.stderr, want)
	}
	if !strings.Contains(r.stdout, ", 2 retries\n") {
		t.Errorf("standard output %q", r.stdout)
	}
	if r := fails().cp(t, args...).want(t, exitOK); r.stderr != "" {
		t.Errorf("without -v: %q", r.stderr)
	}
}

// A source that is refused because its key is another's does not disturb that one.
func TestVerboseAfterRefusal(t *testing.T) {
	var stderr strings.Builder
	p, first := newPlain(io.Discard, &stderr, outputFlags{verbose: true}), job{dest: "s3://bucket/key"}
	p.event(first, multipart.Event{Kind: multipart.Attempted, Attempt: 1, Err: io.ErrUnexpectedEOF})
	p.result(outcome{job: first, err: io.EOF, unbegun: true})
	p.event(first, multipart.Event{Kind: multipart.Waited, Reason: "backoff"})
	if !strings.Contains(stderr.String(), "attempt 1 failed") {
		t.Errorf("standard error %q", stderr.String())
	}
}

func TestDryRun(t *testing.T) {
	isolate(t)
	source := sparse(t, "big", 40<<20)
	for _, name := range []string{"-n", "--dry-run", "--dryrun"} {
		f := newFake(t)
		r := f.cp(t, name, source, file(t, "empty", ""), "s3://bucket/a/", "--multipart-threshold", "0").want(t, exitOK)
		if want := fmt.Sprintf("would upload %s → s3://bucket/a/big  40 MiB in 5 parts of 8 MiB\n", source); !strings.HasPrefix(r.stdout, want) {
			t.Errorf("%s: standard output %q, want %q", name, r.stdout, want)
		}
		if !strings.Contains(r.stdout, "empty → s3://bucket/a/empty  0 B in one PUT\n") || len(f.requests) != 0 {
			t.Errorf("%s: %d requests, standard output %q", name, len(f.requests), r.stdout)
		}
	}
	dir := t.TempDir()
	t.Chdir(dir)
	world{}.run(t, "cp", "-n", source, "sandbox://demo/big").want(t, exitOK)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("a dry run left %v", left)
	}
}

// A dry run reads a list for no longer than an upload would.
func TestDryRunEnds(t *testing.T) {
	isolate(t)
	read, written := io.Pipe()
	defer written.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // if nothing else ends it
	defer cancel()
	w := world{ctx: ctx, stdin: read}
	w.run(t, newFake(t).args("-n", "--files-from", "-", "s3://bucket/", "--timeout", "20ms")...).want(t, exitFailed).oneLine(t, "--timeout")
}

// A file that was found and cannot be opened would not be uploaded.
func TestDryRunOpens(t *testing.T) {
	isolate(t)
	var stdout, stderr strings.Builder
	f := &cpFlags{given: pflag.NewFlagSet("cp", pflag.ContinueOnError)}
	f.groups(f.given)
	dest := destination{scheme: schemeS3, bucket: "bucket"}
	found := job{source: filepath.Join(t.TempDir(), "gone"), under: "gone"}
	s := &session{flags: f, sources: &sources{dest: dest, named: []job{found}}, printer: newPlain(&stdout, &stderr, outputFlags{})}
	s.rehearse(t.Context())
	if err, ok := errors.AsType[*toldError](s.end(nil)); !ok || exitCode(err) != exitFailed {
		t.Errorf("it ends with %v", err)
	}
	if stdout.String() != "" || !strings.Contains(stderr.String(), "gone: no such file") {
		t.Errorf("standard output %q, standard error %q", stdout.String(), stderr.String())
	}
}

func TestSources(t *testing.T) {
	isolate(t)
	f := newFake(t)
	dir := t.TempDir()
	a, b := file(t, "a", "content"), file(t, "a", "content")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{filepath.Join(dir, "none"), "s3://bucket/key"}, "none: no such file"},
		{[]string{a, filepath.Join(dir, "none"), "s3://bucket/"}, "none: no such file"},
		{[]string{dir, "s3://bucket/key"}, "is a directory"},
		{[]string{"-", "s3://bucket/dir/"}, "standard input has no name"},
		{[]string{a, "-", "s3://bucket/dir/"}, "standard input has no name"},
		{[]string{"-", "-", "s3://bucket/key"}, "several sources"},
		{[]string{"-", "s3://bucket/{sha256}"}, "{sha256} of standard input"},
		{[]string{"-", "s3://bucket/x.{ext}"}, "no name for {name} or {ext}"},
		{[]string{"-", "s3://bucket/key", "--part-size", "200MiB"}, "standard input: "},
		{[]string{"-", "s3://bucket/key", "--"}, "no command after --"},
		{[]string{"-", "s3://bucket/key", "--", filepath.Join(dir, "none")}, "no such file"},
		{[]string{a, "s3://bucket/key", "--", "cat"}, "needs - as the only SOURCE"},
		{[]string{a, "s3://bucket/key", "--expected-size", "1MiB"}, "--expected-size is for standard input"},
		{[]string{a, "s3://bucket/key", "--memory", "9MiB"}, "two parts"},
		{[]string{a, "s3://bucket/{md5}"}, "unknown placeholder {md5}"},
		{[]string{a, "s3://bucket/{ext}"}, "no name of an object"},
		{[]string{a, "s3://bucket/key", "--no-overwrite", "--provider", "generic"}, "--no-overwrite"},
		{[]string{a, "s3://bucket/key", "--multipart-threshold", "0", "--state-dir", "/dev/null/x"}, "--state-dir: "},
		{[]string{"/dev/null", "s3://bucket/key"}, "not a regular file"},
		{[]string{a, b, "s3://bucket/key"}, "several sources"},
		{[]string{a, b, "s3://bucket/"}, "would both become s3://bucket/a"},
		{[]string{a, "bucket/key"}, "destination bucket/key"},
		{[]string{a}, "at least one SOURCE and a DEST"},
		{[]string{a, "sandbox://demo/x"}, "--endpoint-url makes no sense with sandbox://"},
	} {
		f.cp(t, c.args...).want(t, exitUsage).oneLine(t, c.says)
	}
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}

// A store whose largest part is smaller than S3's is known only once it is asked.
func TestLimitsOfTheStore(t *testing.T) {
	isolate(t)
	f := newFake(t)
	source := file(t, "big", "content")
	r := f.cp(t, source, "s3://bucket/key", "--part-size", "5GiB").want(t, exitUsage)
	r.oneLine(t, source, "part size of 5368709120 bytes (5 GiB) is above the maximum")
	r = f.cp(t, source, "s3://bucket/key", "--part-size", "5GiB", "--json").want(t, exitUsage)
	if r.stdout != "" {
		t.Errorf("standard output %q", r.stdout)
	}
	if probes := len(f.of("probe")); probes != len(f.requests) {
		t.Errorf("%d requests, of them %d probes", len(f.requests), probes)
	}
	n := len(f.requests)
	f.cp(t, source, "s3://bucket/key", "--part-size", "5GiB", "--provider", "generic").want(t, exitUsage)
	if len(f.requests) != n {
		t.Error("the store was asked although --provider says what it is")
	}
}

// A file that changes while it is read is told from one that only grows.
func TestSourceChanges(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		name, becomes string
		exit          int
		says          string
	}{
		{"changed", "CONTENT", exitIntegrity, "the source changed while it was read"},
		{"grown", "content, and more", exitOK, "warning: "},
	} {
		for _, quiet := range []bool{false, true} {
			f := newFake(t)
			source := file(t, "big", "content")
			f.on(func(_ http.ResponseWriter, r *http.Request, op string) bool {
				if op == "part" {
					body, _ := io.ReadAll(r.Body) // the bytes have been read when it changes
					r.Body = io.NopCloser(bytes.NewReader(body))
					overwrite(t, source, c.becomes)
				}
				return false
			})
			r := f.cp(t, source, "s3://bucket/key", "--multipart-threshold", "0", fmt.Sprintf("--quiet=%v", quiet)).want(t, c.exit)
			if quiet && c.exit == exitOK {
				if r.stderr != "" {
					t.Errorf("%s: not quiet: %q", c.name, r.stderr)
				}
				continue
			}
			r.oneLine(t, c.says)
		}
	}
}

// overwrite writes over a file in place, and makes sure that it shows.
func overwrite(t *testing.T, path, content string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Error(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Error(err)
	}
}

// What cannot be written on standard output is no success.
func TestBrokenOutput(t *testing.T) {
	isolate(t)
	f := newFake(t)
	for _, args := range [][]string{nil, {"--json"}, {"-n"}} {
		var stderr strings.Builder
		code := run(t.Context(), env{
			args:   append(f.args(file(t, "big", "x"), "s3://bucket/key"), args...),
			stdout: brokenPipe{}, stderr: &stderr,
			getenv: func(string) string { return "" }, terminal: func(io.Writer) bool { return false },
		})
		if code != exitFailed || !strings.Contains(stderr.String(), "standard output") {
			t.Errorf("%v: exit code %d, %q", args, code, stderr.String())
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A command that cannot be started is a failure as any other, and the store has
// nothing.
func TestCommandThatIsNone(t *testing.T) {
	isolate(t)
	f := newFake(t)
	path := file(t, "data", "no program")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	f.cp(t, "-", "s3://bucket/key", "--provider", "minio", "--", path).want(t, exitFailed).oneLine(t, "exec format error")
	lines := jsonLines(t, f.cp(t, "--json", "-", "s3://bucket/key", "--provider", "minio", "--", path).want(t, exitFailed).stdout)
	if n := len(lines); n != 2 || lines[0]["exit"] != 1. || lines[1]["exit"] != 1. {
		t.Errorf("%v", lines)
	}
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}
