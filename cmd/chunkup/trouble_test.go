package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/breaker"
)

func TestConcurrency(t *testing.T) {
	isolate(t)
	source := sparse(t, "big", 20<<20)
	for _, c := range []struct{ lanes, want int }{{1, 1}, {3, 3}} {
		f := newFake(t)
		b := newBarrier(c.want + 1) // so that one too many would be seen
		f.on(func(_ http.ResponseWriter, _ *http.Request, op string) bool {
			if op == "part" {
				b.wait()
			}
			return false
		})
		f.cp(t, source, "s3://bucket/key", "--part-size", "5MiB", "--checksum-algorithm", "none", "-c", fmt.Sprint(c.lanes)).want(t, exitOK)
		if f.most != c.want {
			t.Errorf("-c %d: %d parts at once", c.lanes, f.most)
		}
	}
}

func TestWorkers(t *testing.T) {
	isolate(t)
	var sources []string
	for i := range 5 {
		sources = append(sources, file(t, fmt.Sprint("f", i), "content"))
	}
	for _, c := range []struct {
		args []string
		want int
	}{{[]string{"--workers", "1"}, 1}, {[]string{"--workers", "2"}, 2}, {nil, 5}} {
		f := newFake(t)
		b := newBarrier(c.want + 1) // so that one too many would be seen
		f.on(func(_ http.ResponseWriter, _ *http.Request, op string) bool {
			if op == "put" {
				b.wait()
			}
			return false
		})
		r := f.cp(t, append(append(c.args, sources...), "s3://bucket/")...).want(t, exitOK)
		if f.mostKeys != c.want {
			t.Errorf("%v: %d files at once", c.args, f.mostKeys)
		}
		if n := strings.Count(r.stdout, "uploaded "); n != 5 {
			t.Errorf("%v: %d results", c.args, n)
		}
	}
}

// The worst of several sources counts, and one failure does not end the others.
func TestSeveralSources(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.on(func(w http.ResponseWriter, r *http.Request, op string) bool {
		switch {
		case op == "put" && strings.HasSuffix(r.URL.Path, "/denied"):
			return refuse(w, 403, "AccessDenied")
		case op == "put" && strings.HasSuffix(r.URL.Path, "/failed"):
			return refuse(w, 404, "NoSuchBucket")
		}
		return false
	})
	r := f.cp(t, file(t, "failed", "x"), file(t, "denied", "x"), file(t, "good", "x"), "s3://bucket/", "--workers", "1").want(t, exitDenied)
	if !strings.Contains(r.stdout, "uploaded ") || strings.Count(r.stderr, "chunkup: ") != 2 {
		t.Errorf("standard output %q, standard error %q", r.stdout, r.stderr)
	}
	f.cp(t, file(t, "failed", "x"), file(t, "good", "x"), "s3://bucket/").want(t, exitFailed)
}

func TestClosedPort(t *testing.T) {
	isolate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	world{}.run(t, "cp", file(t, "big", "x"), "s3://bucket/key", "--endpoint-url", "http://"+address,
		"--max-attempts", "2", "--backoff-base", "1ms").want(t, exitFailed).
		oneLine(t, "connection refused", "2 attempts", address)
}

// No connection is left behind: one that is open and not used would keep the
// sandbox from closing.
func TestConnectionsAreClosed(t *testing.T) {
	isolate(t)
	f := unstartedFake(t)
	open, closed := 0, make(chan struct{}, 100)
	f.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open++ // told by the one goroutine that accepts
		case http.StateClosed:
			closed <- struct{}{}
		}
	}
	f.Start()
	f.cp(t, file(t, "big", "x"), "s3://bucket/key").want(t, exitOK)
	f.Listener.Close()
	for i := range open {
		select {
		case <-closed:
		case <-time.After(5 * time.Second):
			t.Fatalf("%d of %d connections are still open", open-i, open)
		}
	}
}

func TestMaxAttempts(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "put" && refuse(w, 500, "InternalError")
	})
	f.cp(t, file(t, "big", "x"), "s3://bucket/key", "--max-attempts", "3", "--backoff-base", "1ms").want(t, exitFailed)
	if n := len(f.of("put")); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
}

// hang answers nothing to op until the test is over.
func (f *fake) hang(t *testing.T, op string) (reached chan struct{}) {
	reached, over := make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { close(over) })
	f.on(func(_ http.ResponseWriter, r *http.Request, is string) bool {
		if is != op {
			return false
		}
		reached <- struct{}{}
		select {
		case <-over:
		case <-r.Context().Done():
		}
		return true
	})
	return reached
}

func TestAnswerTimeout(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.hang(t, "create")
	f.cp(t, file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--answer-timeout", "50ms", "--max-attempts", "1").
		want(t, exitFailed).oneLine(t, "no answer within 50ms")
}

func TestTimeout(t *testing.T) {
	isolate(t)
	for _, op := range []string{"probe", "create"} {
		f := newFake(t)
		f.hang(t, op)
		f.cp(t, file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--timeout", "50ms").
			want(t, exitFailed).oneLine(t, "the time limit of 50ms (--timeout) is over")
	}
}

// All files of an interrupted run end, those that had not begun without a word
// each; what was begun at the store is kept and the commands that go on and that
// clean up are printed, or it is dropped if no journal is wanted.
// R40 (https://github.com/rclone/rclone/issues/4300)
func TestInterrupt(t *testing.T) {
	for _, resume := range []bool{true, false} {
		t.Run(fmt.Sprint("resume ", resume), func(t *testing.T) { interrupt(t, resume) })
	}
}

func interrupt(t *testing.T, resume bool) {
	isolate(t)
	f := newFake(t)
	reached := f.hang(t, "part")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-reached
		cancel(errInterrupted)
	}()
	began := time.Now()
	first := file(t, "a", "x")
	r := world{ctx: ctx}.run(t, f.args("--multipart-threshold", "0", "--workers", "1", fmt.Sprint("--no-resume=", !resume), first, file(t, "b", "x"), file(t, "c", "x"), "s3://bucket/")...)
	r.want(t, exitInterrupted)
	hints := ""
	if resume {
		hints = "resume: chunkup cp " + first + " s3://bucket/a --endpoint-url " + f.URL + " --multipart-threshold 0 --no-resume=false --workers 1\n" +
			"abort:  chunkup uploads abort s3://bucket/a --upload-id U1 --endpoint-url " + f.URL + "\n"
	}
	if r.stderr != "chunkup: interrupted: cleaning up; interrupt again to end at once\nchunkup: upload part 1 of s3://bucket/a: interrupted\n"+hints+"chunkup: interrupted\n" {
		t.Errorf("standard error %q", r.stderr)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := len(f.unfinished()); (n == 1) != resume || n > 1 {
		t.Errorf("%d uploads are open", n)
	}
	if len(f.of("create")) != 1 {
		t.Error("an upload was begun after the interrupt")
	}
}

// Somebody waits for the clean-up.
func TestCleanUpIsShort(t *testing.T) {
	isolate(t)
	flags, _, err := parse(t, "--endpoint-url", newFake(t).URL, "--provider", "minio")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := connect(t.Context(), &flags.store, &flags.tuning, destination{schemeS3, "bucket", "key"}, func(string, breaker.State, breaker.State) {})
	if err != nil {
		t.Fatal(err)
	}
	if o := (&session{flags: flags, connection: conn}).options(); o.AbortTimeout != 10*time.Second {
		t.Errorf("the clean-up takes up to %v", o.AbortTimeout)
	}
}
