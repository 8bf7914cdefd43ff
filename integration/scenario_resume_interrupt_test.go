//go:build unix

package integration

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
)

const (
	interruptedBytes = 64 * mib
	interruptedAt    = interruptedBytes * 4 / 10
	interruptedRate  = 32 * mib
)

// interrupted is an upload of 64 MiB that is interrupted at 40 %.
type interrupted struct {
	*resumeLab
	src  check.Source
	file string
	id   string
	took time.Duration // from the last signal to the end
}

func newInterrupted(t *testing.T, command string, rules ...faultproxy.Rule) *interrupted {
	t.Helper()
	i := &interrupted{resumeLab: newResumeLab(t, command, rules...), src: check.Random(t, interruptedBytes)}
	i.file = check.TempFile(t, i.src)
	i.proxy.Limit(interruptedRate)
	return i
}

// at40 waits until 40 % of the bytes have arrived, and learns the upload's id. With two
// lanes some parts are done then.
func (i *interrupted) at40(t *testing.T) {
	t.Helper()
	i.until(t, "40 % have arrived", func(all []faultproxy.Request) bool { return body(all) >= interruptedAt })
	i.learn(t)
}

func (i *interrupted) learn(t *testing.T) {
	t.Helper()
	for _, q := range i.proxy.Requests() {
		if q.Op == faultproxy.PutPart {
			i.id = q.UploadID
			return
		}
	}
	t.Fatal("there is no upload")
}

// within fails the test unless the command said 130 in time.
func (i *interrupted) within(t *testing.T, r *resumeRun, limit time.Duration) {
	t.Helper()
	t.Logf("ended %v after the last signal", i.took.Round(time.Millisecond))
	if code := r.ended(t); code != 130 || i.took > limit {
		t.Errorf("exit code %d after %v, want 130 within %v: %s", code, i.took, limit, r.stderr.String())
	}
	check.Absent(t, i.server.Client(), i.bucket, "key")
}

// dropped fails the test unless nothing is left, at the store or here.
func (i *interrupted) dropped(t *testing.T) {
	t.Helper()
	i.quiet(t)
	check.NoUploads(t, i.server.Client(), i.bucket, "key")
	i.nothingKept(t)
}

// resumes runs the command line that the interrupted one has printed, in a shell and
// another folder, and fails the test unless that ends well.
func (i *interrupted) resumes(t *testing.T, r *resumeRun) {
	t.Helper()
	_, line, _ := strings.Cut("\n"+r.stderr.String(), "\nresume: ")
	line, _, _ = strings.Cut(line, "\n")
	if line == "" {
		t.Fatalf("no command is said to resume: %s", r.stderr.String())
	}
	if open, kept := i.uploads(t, "key"), i.journals(t); len(open) != 1 || len(kept) != 1 || kept[0].Record.UploadID != open[0] || kept[0].Live {
		t.Fatalf("uploads %v are open, journals %+v", open, kept)
	}
	i.quiet(t)
	done := len(answered(i.proxy.Requests()))
	i.proxy.Limit(0)
	i.proxy.Reset()
	shell := exec.Command("sh", "-c", line)
	shell.Dir = t.TempDir()
	shell.Env = []string{"PATH=" + filepath.Dir(i.command) + ":" + os.Getenv("PATH")}
	again := i.startCmd(t, nil, shell)
	if code := again.ended(t); code != 0 {
		t.Fatalf("%s: exit code %d: %s", line, code, again.stderr.String())
	}
	i.holds(t, i.src)
	if sent := i.proxy.Count(faultproxy.PutPart); sent > 8-done || done == 0 || i.proxy.Count(faultproxy.Create) != 0 {
		t.Errorf("%d of 8 parts were there and %d were sent", done, sent)
	}
}

// Ctrl-C left the upload open at the store (R40,
// https://github.com/rclone/rclone/issues/4300). Now it is dropped, or the command that
// goes on is printed, and nobody waits for it.
func TestR40Interrupt(t *testing.T) {
	path := command(t)
	t.Run("once", func(t *testing.T) { interruptOnce(t, path) })
	t.Run("twice", func(t *testing.T) { interruptTwice(t, path) })
	t.Run("while stdin is blocked", func(t *testing.T) { interruptBlocked(t, path) })
	t.Run("in Retry-After", func(t *testing.T) { interruptAsleep(t, path) })
}

func interruptOnce(t *testing.T, path string) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run("plain, "+s.String(), func(t *testing.T) {
			i := newInterrupted(t, path)
			r := i.start(t, nil, i.cp(i.file, "--no-resume", "-c2")...)
			i.at40(t)
			i.took = r.interrupt(t, s)
			i.within(t, r, 2*time.Second)
			i.dropped(t)
		})
		t.Run("with resume, "+s.String(), func(t *testing.T) {
			i := newInterrupted(t, path)
			cmd := exec.Command(i.command, i.cp(filepath.Base(i.file), "-c2")...)
			cmd.Dir = filepath.Dir(i.file)
			r := i.startCmd(t, nil, cmd)
			i.at40(t)
			i.took = r.interrupt(t, s)
			i.within(t, r, time.Second)
			i.resumes(t, r)
		})
	}
}

// A second Ctrl-C ends the command at once, however long the clean-up would take,
// and the id of the upload is said.
func interruptTwice(t *testing.T, path string) {
	deaf := []faultproxy.Rule{{Op: faultproxy.Abort, Count: -1, Stall: true}}
	for name, tc := range map[string]struct {
		args  []string
		rules []faultproxy.Rule
	}{
		"plain, and no abort is answered": {args: []string{"--no-resume"}, rules: deaf},
		"plain":                           {args: []string{"--no-resume"}},
		"with resume":                     {},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInterrupted(t, path, tc.rules...)
			r := i.start(t, nil, append(i.cp(i.file, tc.args...), "-c2")...)
			i.at40(t)
			i.took = r.interrupt(t, syscall.SIGINT, syscall.SIGINT)
			i.within(t, r, 500*time.Millisecond)
			i.quiet(t)
			// Whoever was quick enough to clean up has nothing to say.
			if open := i.uploads(t, "key"); (len(open) > 0 || tc.rules != nil) && !strings.Contains(r.stderr.String(), i.id) {
				t.Errorf("uploads %v are open, want %s to be told of: %s", open, i.id, r.stderr.String())
			}
			if tc.args == nil {
				i.resumes(t, r)
			}
		})
	}
}

// Standard input that gives nothing any more is not waited for. It cannot be read
// again, so what was sent is dropped, journal or not.
func interruptBlocked(t *testing.T, path string) {
	for _, more := range [][]string{nil, {"--no-resume"}} {
		t.Run(strings.Join(more, ""), func(t *testing.T) {
			i := newInterrupted(t, path)
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			r := i.start(t, in, i.cp("-", more...)...)
			in.Close()
			text := make([]byte, interruptedAt)
			if _, err := i.src.ReadAt(text, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write(text); err != nil {
				t.Fatal(err)
			}
			whole := interruptedAt / (8 * mib)
			i.until(t, "all whole parts have arrived", func(all []faultproxy.Request) bool { return len(answered(all)) == whole })
			i.took = r.interrupt(t, syscall.SIGINT)
			i.within(t, r, 2*time.Second)
			i.dropped(t)
		})
	}
}

// A store that asks for 30 s of patience is not obeyed by whoever is told to end.
func interruptAsleep(t *testing.T, path string) {
	// 3 of 8 parts are 37 %; the next one is refused, and then all wait.
	busy := faultproxy.Rule{Op: faultproxy.PutPart, From: 4, Count: -1, Together: true, Status: 503, Code: "SlowDown", Header: http.Header{"Retry-After": {"30"}}}
	for name, limit := range map[string]time.Duration{"plain": 2 * time.Second, "with resume": time.Second} {
		t.Run(name, func(t *testing.T) {
			i := newInterrupted(t, path, busy)
			args := i.cp(i.file)
			if name == "plain" {
				args = append(args, "--no-resume")
			}
			r := i.start(t, nil, args...)
			i.until(t, "the store asks for patience", func(all []faultproxy.Request) bool {
				slow := slices.ContainsFunc(all, func(q faultproxy.Request) bool { return q.Status == 503 })
				return slow && len(answered(all)) == 3
			})
			i.quiet(t)
			<-time.After(300 * time.Millisecond) // it sleeps now
			i.quiet(t)
			i.learn(t)
			i.took = r.interrupt(t, syscall.SIGINT)
			i.within(t, r, limit)
			if name == "plain" {
				i.dropped(t)
				return
			}
			i.resumes(t, r)
		})
	}
}
