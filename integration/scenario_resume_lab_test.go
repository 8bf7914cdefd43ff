//go:build unix

package integration

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/integration/minio"
	"github.com/chunkup/chunkup/multipart/journal"
)

// resumeLab is the command at work on one key of a bucket of MinIO, through a proxy.
type resumeLab struct {
	server  *minio.Server
	proxy   *faultproxy.Proxy
	bucket  string
	command string // its path
	state   string // folder of the journals
	env     []string
}

func newResumeLab(t *testing.T, command string, rules ...faultproxy.Rule) *resumeLab {
	t.Helper()
	l := &resumeLab{server: store.Server(t), command: command, state: t.TempDir()}
	l.bucket = l.server.Bucket(t)
	check.Leaks(t)
	proxy, err := faultproxy.Start(l.server.URL, rules...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	l.proxy = proxy
	l.env = environment(t, "AWS_ACCESS_KEY_ID="+l.server.AccessKey, "AWS_SECRET_ACCESS_KEY="+l.server.SecretKey, "AWS_ENDPOINT_URL_S3="+proxy.URL())
	return l
}

func (l *resumeLab) dest() string { return "s3://" + l.bucket + "/key" }

// cp are the arguments of an upload in parts of 8 MiB, four at a time.
func (l *resumeLab) cp(source string, more ...string) []string {
	return append([]string{"cp", "--no-progress", "-c4", "--part-size=8MiB", "--state-dir", l.state, source, l.dest()}, more...)
}

// resumeRun is one run of the command.
type resumeRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{} // closed when it has ended
}

// start begins a run. stdin may be nil.
func (l *resumeLab) start(t *testing.T, stdin *os.File, args ...string) *resumeRun {
	t.Helper()
	return l.startCmd(t, stdin, exec.Command(l.command, args...))
}

func (l *resumeLab) startCmd(t *testing.T, stdin *os.File, cmd *exec.Cmd) *resumeRun {
	t.Helper()
	r := &resumeRun{cmd: cmd, done: make(chan struct{})}
	cmd.Env, cmd.Stdout, cmd.Stderr = append(l.env, cmd.Env...), &r.stdout, &r.stderr
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		_ = cmd.Wait() // the state of the process says the same
	}()
	t.Cleanup(r.kill)
	return r
}

// kill ends the process on the spot, and returns when there is none.
func (r *resumeRun) kill() {
	_ = r.cmd.Process.Kill() // an error means that it has ended
	<-r.done
}

// ended waits for the end and returns the exit code; -1 if a signal ended it.
func (r *resumeRun) ended(t *testing.T) int {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		r.kill()
		t.Fatalf("it does not come to an end: %s", r.stderr.String())
	}
	return r.cmd.ProcessState.ExitCode()
}

// run runs the command and fails the test unless it ends well.
func (l *resumeLab) run(t *testing.T, args ...string) *resumeRun {
	t.Helper()
	r := l.start(t, nil, args...)
	if code := r.ended(t); code != 0 {
		t.Fatalf("%v: exit code %d: %s%s", args, code, r.stdout.String(), r.stderr.String())
	}
	return r
}

// until waits until what is told has come true.
func (l *resumeLab) until(t *testing.T, what string, is func([]faultproxy.Request) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(l.proxy.Requests()); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// quiet waits until the proxy is at no request.
func (l *resumeLab) quiet(t *testing.T) {
	t.Helper()
	l.until(t, "all requests have ended", func(all []faultproxy.Request) bool {
		return !slices.ContainsFunc(all, func(q faultproxy.Request) bool { return q.End.IsZero() })
	})
}

// body is how many bytes of parts have arrived.
func body(all []faultproxy.Request) (n int64) {
	for _, q := range all {
		if q.Op == faultproxy.PutPart {
			n += q.BodyBytes
		}
	}
	return n
}

// answered are the requests for parts to which the store has said yes.
func answered(all []faultproxy.Request) []faultproxy.Request {
	return slices.DeleteFunc(slices.Clone(all), func(q faultproxy.Request) bool { return q.Op != faultproxy.PutPart || q.Status != 200 })
}

// uploads are the ids of the uploads of a key that are open at the store.
func (l *resumeLab) uploads(t *testing.T, key string) (ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	out, err := l.server.Client().ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &l.bucket, Prefix: &key})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range out.Uploads {
		ids = append(ids, *u.UploadId)
	}
	return ids
}

// journals are those in the folder of the lab.
func (l *resumeLab) journals(t *testing.T) []journal.Entry {
	t.Helper()
	list, err := journal.Open(l.state).List()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// nothingKept fails the test if there is a file in the folder of the journals.
func (l *resumeLab) nothingKept(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(l.state, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder of the journals: %s (%v)", strings.Join(left, ", "), err)
	}
}

// holds fails the test unless the object is the source, and nothing else is left.
func (l *resumeLab) holds(t *testing.T, src check.Source) {
	t.Helper()
	check.Equal(t, l.server.Client(), l.bucket, "key", src, src.Size())
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
	l.nothingKept(t)
}

// interrupt sends signals, 50 ms apart, and returns how long the command goes on
// after the last.
func (r *resumeRun) interrupt(t *testing.T, signals ...syscall.Signal) time.Duration {
	t.Helper()
	var last time.Time
	for i, s := range signals {
		if i > 0 {
			<-time.After(50 * time.Millisecond)
		}
		last = time.Now()
		if err := r.cmd.Process.Signal(s); err != nil && !(i > 0 && errors.Is(err, os.ErrProcessDone)) {
			t.Fatalf("%v: %v: %s", s, err, r.stderr.String())
		}
	}
	r.ended(t)
	return time.Since(last)
}
