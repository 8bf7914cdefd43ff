//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
)

// terminal is the command on a pseudo-terminal.
type terminal struct {
	cmd *exec.Cmd
	tty *os.File
	end chan struct{} // nothing more will be shown

	mu    sync.Mutex
	shown bytes.Buffer
}

// onTerminal starts chunkup on a terminal of that size; without one the terminal
// does not know its size, as some do not.
func onTerminal(t *testing.T, size *pty.Winsize, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command("chunkup", args...)
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm"}, awsEnvironment(t.TempDir()))
	tty, err := pty.StartWithSize(cmd, size)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{cmd: cmd, tty: tty, end: make(chan struct{})}
	go func() {
		defer close(x.end)
		_, _ = io.Copy(x, tty)
	}()
	t.Cleanup(func() { cmd.Process.Kill(); tty.Close() })
	return x
}

// Write implements io.Writer.
func (x *terminal) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.Write(b)
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.String()
}

// until waits for the terminal to show something.
func (x *terminal) until(t *testing.T, pattern string) {
	t.Helper()
	p, late := regexp.MustCompile(pattern), time.After(20*time.Second)
	for tick := time.Tick(20 * time.Millisecond); !p.MatchString(x.text()); {
		select {
		case <-tick:
		case <-late:
			t.Fatalf("the terminal does not show %q: %q", pattern, x.text())
		}
	}
}

// exit waits for the command's end and returns its exit code.
func (x *terminal) exit() int {
	_ = x.cmd.Wait()
	<-x.end
	return x.cmd.ProcessState.ExitCode()
}

// The bar says for how long nothing has moved, an interrupt from the keyboard
// ends the command, and the terminal is left clean.
func TestBarOnTerminal(t *testing.T) {
	for name, size := range map[string]*pty.Winsize{"of 120 columns": {Rows: 24, Cols: 120}, "without a size": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			reached := f.hang(t, "part")
			x := onTerminal(t, size, "cp", sparse(t, "big", 20<<20), "s3://bucket/key", "--endpoint-url", f.URL)
			<-reached
			x.until(t, `big  [0-9.]+ ([KM]i)?B / 20 MiB +[0-9]+% \[.*\].*elapsed 0s`)
			x.until(t, `nothing moved for 2s.*elapsed [23]s`)
			if _, err := x.tty.WriteString("\x03"); err != nil {
				t.Fatal(err)
			}
			if code := x.exit(); code != exitInterrupted {
				t.Errorf("exit code %d", code)
			}
			left := lines(x.text())
			if left[0] != "chunkup: interrupted: cleaning up; interrupt again to end at once" {
				t.Errorf("the interrupt was not heard: %q", left)
			}
			if left = left[1:]; len(left) != 4 || !strings.HasPrefix(left[0], "chunkup: ") || !strings.Contains(left[0], ": interrupted") ||
				!strings.HasPrefix(left[1], "resume: ") || !strings.HasPrefix(left[2], "abort:  ") || left[3] != "" {
				t.Errorf("at the end the terminal shows %q", left)
			}
			columns := defaultWidth
			if size != nil {
				columns = int(size.Cols)
			}
			if drawn := regexp.MustCompile(`big  .*elapsed 0s`).FindString(x.text()); utf8.RuneCountInString(drawn) != columns {
				t.Errorf("the bar is not %d columns wide: %q", columns, drawn)
			}
			if len(f.unfinished()) != 1 {
				t.Error("the upload was not kept")
			}
		})
	}
}

// Results are printed above the bar, which goes away.
func TestResultOnTerminal(t *testing.T) {
	f := newFake(t)
	x := onTerminal(t, &pty.Winsize{Rows: 24, Cols: 80}, "cp", file(t, "big", "x"), "s3://bucket/key", "--endpoint-url", f.URL)
	if code := x.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	left := lines(x.text())
	if len(left) != 3 || !strings.HasPrefix(left[0], "uploaded ") || !strings.HasPrefix(left[1], `  etag "part"  `) || left[2] != "" {
		t.Errorf("at the end the terminal shows %q", left)
	}
}

// Who interrupts twice does not wait for the clean-up, and is told what is left.
// R40 (https://github.com/rclone/rclone/issues/4300)
func TestSecondInterrupt(t *testing.T) {
	f := newFake(t)
	began := f.hang(t, "part")
	cleaning := make(chan struct{})
	inner := f.answer
	f.on(func(w http.ResponseWriter, r *http.Request, op string) bool {
		if op == "abort" {
			close(cleaning)
			<-r.Context().Done()
			return true
		}
		return inner(w, r, op)
	})
	x := onTerminal(t, nil, "cp", file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--no-resume", "--endpoint-url", f.URL)
	<-began
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cleaning:
	case <-time.After(20 * time.Second):
		t.Fatal("the first interrupt does nothing")
	}
	if err := x.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := x.exit(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	shown := x.text()
	if strings.Contains(shown, ": interrupted\r") {
		t.Errorf("it ended in good order: %q", shown)
	}
	if want := "abort:  chunkup uploads abort s3://bucket/key --upload-id U1 --endpoint-url " + f.URL + "\r\n"; !strings.Contains(shown, "upload U1 of s3://bucket/key is open") ||
		!strings.Contains(shown, want) || strings.Contains(shown, "resume: ") {
		t.Errorf("the terminal shows %q", shown)
	}
}

// R40 (https://github.com/rclone/rclone/issues/4300): an interrupt does not wait
// for a standard input that says nothing, and leaves nothing at the store.
func TestInterruptWhileInputBlocks(t *testing.T) {
	for _, args := range [][]string{nil, {"--", "sh", "-c", "head -c 6000000 /dev/zero; sleep 60"}} {
		f := newFake(t)
		cmd := exec.Command("chunkup", append([]string{"cp", "-", "s3://bucket/key", "--part-size", "5MiB", "--endpoint-url", f.URL, "--provider", "minio"}, args...)...)
		cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH")}, awsEnvironment(t.TempDir()))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		reached := make(chan struct{}, 10)
		f.on(func(_ http.ResponseWriter, _ *http.Request, op string) bool {
			if op == "part" {
				reached <- struct{}{}
			}
			return false
		})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		if args == nil {
			go in.Write(make([]byte, 6_000_000))
		}
		<-reached
		began := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if took, code := time.Since(began), cmd.ProcessState.ExitCode(); code != exitInterrupted || took > 3*time.Second {
			t.Errorf("%v: exit code %d after %v", args, code, took)
		}
		f.empty(t)
	}
}

// An interrupt from the keyboard reaches a command that has the terminal as its
// input too, and is an interrupt all the same.
func TestInterruptOfCommandAtTerminal(t *testing.T) {
	f := newFake(t)
	reached := f.hang(t, "part")
	x := onTerminal(t, nil, "cp", "-", "s3://bucket/key", "--part-size", "5MiB", "--endpoint-url", f.URL, "--provider", "minio", "--", "sh", "-c", "head -c 12000000 /dev/zero; sleep 60")
	<-reached
	if _, err := x.tty.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := x.exit(); code != exitInterrupted {
		t.Errorf("exit code %d: %q", code, x.text())
	}
	f.empty(t)
}
