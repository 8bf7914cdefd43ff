//go:build unix

package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// apartFrom prepares the command in a process of its own.
func apartFrom(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("chunkup", args...)
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH")}, awsEnvironment(t.TempDir()))
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	return cmd, stderr
}

// A terminal that is closed ends the command in good order: the last words are said,
// and what it had started ends with it.
func TestHangUp(t *testing.T) {
	f, pid := newFake(t), filepath.Join(t.TempDir(), "pid")
	reached := f.hang(t, "part")
	cmd, stderr := apartFrom(t, "cp", "-", "s3://bucket/key", "--part-size", "5MiB", "--endpoint-url", f.URL, "--provider", "minio", "--",
		"sh", "-c", "echo $$ > "+pid+"; head -c 12000000 /dev/zero; sleep 60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(stderr.String(), ": interrupted") {
		t.Errorf("exit code %d, standard error %q", code, stderr)
	}
	f.empty(t)
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(5 * time.Second); syscall.Kill(-child, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the command that was started runs on")
		}
	}
}

// What nohup protects goes on.
func TestNoHangUp(t *testing.T) {
	f := newFake(t)
	reached, over := make(chan struct{}), make(chan struct{})
	f.on(func(_ http.ResponseWriter, _ *http.Request, op string) bool {
		if op == "put" {
			close(reached)
			<-over
		}
		return false
	})
	cmd, stderr := apartFrom(t, "cp", file(t, "big", "x"), "s3://bucket/key", "--endpoint-url", f.URL)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec chunkup "$@"`}, cmd.Args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // for what must not happen
	close(over)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Whoever read the results may go: the uploads do not end of it, and the exit code
// says at the end that they could not be told. A command that is run dies of its own
// broken pipe, as ever.
func TestBrokenPipe(t *testing.T) {
	for _, args := range [][]string{nil, {"--json"}} {
		f := newFake(t)
		read, written, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close()
		cmd, stderr := apartFrom(t, append([]string{"cp", "-", "s3://bucket/key", "--endpoint-url", f.URL, "--provider", "minio"}, append(args, "--", "sh", "-c",
			`grep SigIgn: /proc/self/status >&2; echo content`)...)...)
		cmd.Stdout = written
		_ = cmd.Run()
		written.Close()
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), "chunkup: write standard output: ") {
			t.Errorf("%v: exit code %d, standard error %q", args, code, stderr)
		}
		if o, _ := f.object("/bucket/key"); string(o.content) != "content\n" {
			t.Errorf("%v: the object is %q", args, o.content)
		}
		if _, ignored, ok := strings.Cut(stderr.String(), "SigIgn:\t"); ok {
			ignored, _, _ = strings.Cut(ignored, "\n")
			if mask, err := strconv.ParseUint(ignored, 16, 64); err != nil || mask&(1<<(syscall.SIGPIPE-1)) != 0 {
				t.Errorf("the command ignores %s, %v", ignored, err)
			}
		}
	}
}

// An interrupt is heard at once, unless nobody wants to hear of it.
func TestInterruptIsHeard(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{{nil, true}, {[]string{"--quiet"}, false}, {[]string{"--json"}, false}} {
		f := newFake(t)
		reached := f.hang(t, "part")
		cmd, stderr := apartFrom(t, append([]string{"cp", file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--endpoint-url", f.URL}, c.args...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-reached
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := strings.HasPrefix(stderr.String(), "chunkup: interrupted: cleaning up; interrupt again to end at once\n"); got != c.want || strings.Contains(stderr.String(), "cleaning up") != c.want {
			t.Errorf("%v: standard error %q", c.args, stderr)
		}
	}
}
