//go:build unix

package integration

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/integration/minio"
)

// crashLab is one upload with the command, through a proxy that sees what goes on.
type crashLab struct {
	server *minio.Server
	proxy  *faultproxy.Proxy
	bucket string
	src    check.Source
	state  string // folder of the journals
	args   []string
	env    []string

	run atomic.Pointer[crashRun]
}

// crashRun is one run of the command.
type crashRun struct {
	lab    *crashLab
	window window
	t      *testing.T

	cmd   *exec.Cmd
	out   bytes.Buffer
	alive chan struct{} // closed when it has begun
	dead  chan struct{} // closed when it has ended
	once  sync.Once     // kills it

	parts  atomic.Int64 // requests for parts that have arrived
	passed atomic.Int64 // of them answered
}

// newCrashLab puts up what the rounds of the command at path need.
func newCrashLab(t *testing.T, path string, size int64, perSecond int, args ...string) *crashLab {
	t.Helper()
	l := &crashLab{server: store.Server(t), src: check.Random(t, size), state: t.TempDir()}
	l.bucket = l.server.Bucket(t)
	check.Leaks(t)
	proxy, err := faultproxy.Start(l.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	l.proxy = proxy
	proxy.Limit(perSecond)
	proxy.Watch(func(m faultproxy.Moment, q faultproxy.Request) bool {
		r := l.run.Load()
		return r == nil || r.reached(m, q)
	})
	l.args = append([]string{path, "cp", "--endpoint-url", proxy.URL(), "--state-dir", l.state, "--part-size", "5MiB"}, args...)
	l.args = append(l.args, check.TempFile(t, l.src), "s3://"+l.bucket+"/key")
	l.env = environment(t, "AWS_ACCESS_KEY_ID="+l.server.AccessKey, "AWS_SECRET_ACCESS_KEY="+l.server.SecretKey)
	return l
}

// start begins a run, which is killed when its window is there.
func (l *crashLab) start(t *testing.T, w window) *crashRun {
	t.Helper()
	r := &crashRun{lab: l, window: w, t: t, cmd: exec.Command(l.args[0], l.args[1:]...),
		alive: make(chan struct{}), dead: make(chan struct{})}
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = l.env, &r.out, &r.out
	l.run.Store(r)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(r.alive)
	go func() {
		defer close(r.dead)
		_ = r.cmd.Wait() // the state of the process says the same
	}()
	return r
}

// finish waits for the end of a run, and of all its requests, and tells whether it
// was killed. One that ended by itself must have done so well.
func (r *crashRun) finish() (killed bool) {
	r.t.Helper()
	var timer <-chan time.Time
	if r.window.after > 0 {
		timer = time.After(r.window.after)
	}
	select {
	case <-r.dead:
	case <-timer:
		r.kill()
	case <-time.After(5 * time.Minute):
		r.kill()
		r.t.Fatalf("it does not come to an end: %s", r.out.String())
	}
	for deadline := time.Now().Add(time.Minute); r.lab.busy(); {
		if time.Now().After(deadline) {
			r.t.Fatal("a request does not end with the process that made it")
		}
		<-time.After(time.Millisecond)
	}
	if r.cmd.ProcessState.ExitCode() > 0 {
		r.t.Fatalf("%v: %s", r.cmd.ProcessState, r.out.String())
	}
	return !r.cmd.ProcessState.Exited()
}

// kill ends the process on the spot, and returns when there is none.
func (r *crashRun) kill() {
	<-r.alive
	r.once.Do(func() { _ = r.cmd.Process.Kill() }) // an error means that it has ended
	<-r.dead
}

// reached is the proxy's watcher.
func (r *crashRun) reached(m faultproxy.Moment, q faultproxy.Request) bool {
	if q.Op == faultproxy.PutPart {
		switch m {
		case faultproxy.Arrived:
			r.parts.Add(1)
			if !r.lab.journalNames(q.UploadID) {
				r.t.Errorf("part %d was sent before the upload was in the journal", q.Part)
			}
		case faultproxy.Passed:
			r.passed.Add(1)
		}
	}
	if r.window.due == nil || !r.window.due(r, m, q) {
		return true
	}
	r.kill()
	return false
}

// busy reports that the proxy is at a request.
func (l *crashLab) busy() bool {
	for _, q := range l.proxy.Requests() {
		if q.End.IsZero() {
			return true
		}
	}
	return false
}

// uploadID asks the store for the upload that is open.
func (l *crashLab) uploadID() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	key := "key"
	out, err := l.server.Client().ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &l.bucket, Prefix: &key})
	if err != nil {
		return "", err
	}
	if len(out.Uploads) == 0 {
		return "", fmt.Errorf("no upload is open")
	}
	last := out.Uploads[0]
	for _, u := range out.Uploads {
		if u.Initiated.After(*last.Initiated) {
			last = u
		}
	}
	return *last.UploadId, nil
}

// files are all that is in the folder of the journals.
func (l *crashLab) files() (paths []string) {
	// What vanishes meanwhile is none.
	_ = filepath.WalkDir(l.state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// journalNames reports that one of them names the upload.
func (l *crashLab) journalNames(id string) bool {
	for _, path := range l.files() {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), id) {
			return true
		}
	}
	return false
}
