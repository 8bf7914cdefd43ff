package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.uber.org/goleak"
)

func TestStartAndStopTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on the way")
	listen := ""
	for round := range 2 {
		s, err := Start(t.Context(), Options{Dir: dir, Listen: listen, Buckets: []string{"demo", "other", "demo"}})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		r := connect(t, s)
		if round == 1 {
			if _, err := r.head("k0"); err != nil {
				t.Errorf("the object of the first round: %v", err)
			}
		}
		r.put(fmt.Sprintf("k%d", round), "x")
		if listen != "" && s.URL() != "http://"+listen {
			t.Errorf("URL %s, want %s", s.URL(), listen)
		}
		listen = strings.TrimPrefix(s.URL(), "http://") // which is free again
		for range 2 {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		select {
		case <-s.Done():
		default:
			t.Error("not done after Close")
		}
		if s.Err() != nil {
			t.Errorf("Err after Close = %v", s.Err())
		}
		if conn, err := net.Dial("tcp", listen); err == nil {
			conn.Close()
			t.Error("still listening after Close")
		}
	}
}

func TestCloseLeavesOnlyTheLibrarysGoroutines(t *testing.T) {
	opts := append(libraryLeftovers(), goleak.IgnoreCurrent())
	for range 3 {
		s, err := Start(t.Context(), Options{Dir: t.TempDir(), Buckets: []string{"demo"}})
		if err != nil {
			t.Fatal(err)
		}
		r := connect(t, s)
		r.put("k", "x") // and its connection stays open while the server closes
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("an idle connection held Close up for %v", took)
		}
		r.http.CloseIdleConnections()
	}
	goleak.VerifyNone(t, opts...)
}

func TestSecondStartIsRefused(t *testing.T) {
	r := start(t, Options{})
	completing := filepath.Join(r.Dir(), "demo", uploadFolder("k", "id")+".etag"+inProgress)
	if err := os.MkdirAll(completing, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{t.TempDir(), r.Dir()} {
		if _, err := Start(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrRunning) {
			t.Fatalf("second Start = %v, want ErrRunning", err)
		}
	}
	if _, err := os.Stat(completing); err != nil {
		t.Errorf("a refused Start touched an upload of the running one: %v", err)
	}
	r.put("k", "the first one still serves")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, Options{}).put("k", "x")
}

func TestKeys(t *testing.T) {
	a := start(t, Options{})
	a.Close()
	b := start(t, Options{})
	b.Close()
	if a.AccessKey() == b.AccessKey() || a.SecretKey() == b.SecretKey() {
		t.Errorf("keys are not random: %s %s", a.AccessKey(), b.AccessKey())
	}
	if len(a.AccessKey()) != 20 || len(a.SecretKey()) != 40 {
		t.Errorf("keys of %d and %d characters, want AWS's 20 and 40", len(a.AccessKey()), len(a.SecretKey()))
	}
	c := start(t, Options{AccessKey: "me", SecretKey: "my secret"})
	want := []string{"AWS_ACCESS_KEY_ID=me", "AWS_SECRET_ACCESS_KEY=my secret", "AWS_SESSION_TOKEN=", "AWS_REGION=us-east-1", "AWS_ENDPOINT_URL_S3=" + c.URL()}
	if got := c.Environment(); !slices.Equal(got, want) {
		t.Errorf("Environment = %q, want %q", got, want)
	}
	c.put("k", "x")
}

func TestStartRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		o    Options
		want func(error) bool
	}{
		"another interface": {t.Context(), Options{Listen: "0.0.0.0:0"}, is[*ListenError]},
		"a taken port":      {t.Context(), Options{Listen: taken.Addr().String()}, is[*net.OpError]},
		"a file for folder": {t.Context(), Options{Dir: file}, is[*os.PathError]},
		"a bad bucket name": {t.Context(), Options{Buckets: []string{"demo", "Bad_Name"}}, is[*BucketNameError]},
		"a dead context":    {cancelled, Options{}, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			if c.o.Dir == "" {
				c.o.Dir = t.TempDir()
			}
			s, err := Start(c.ctx, c.o)
			if s != nil || !c.want(err) {
				t.Errorf("Start = %v, %v (%T)", s, err, err)
			}
			t.Log(err)
		})
	}
	start(t, Options{}) // none of them left one running
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestCreateBucket(t *testing.T) {
	r := start(t, Options{})
	for name, ok := range map[string]bool{
		"new": true, "demo": true, "a.b-c9": true, strings.Repeat("a", 63): true,
		"": false, "ab": false, strings.Repeat("a", 64): false, "Demo": false, "a_b": false,
		"-ab": false, "..": false, "../up": false, "a/b": false, "127.0.0.1": false, ".chunkup": false,
	} {
		err := r.CreateBucket(t.Context(), name)
		if e, typed := errors.AsType[*BucketNameError](err); (err == nil) != ok || !ok && (!typed || e.Name != name) {
			t.Errorf("CreateBucket(%q) = %v", name, err)
		}
	}
	if err := os.Mkdir(filepath.Join(r.Dir(), "by-hand"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.CreateBucket(t.Context(), "by-hand"); err != nil {
		t.Error(err)
	}
	out, err := r.s3.ListBuckets(t.Context(), &s3.ListBucketsInput{})
	if err != nil || len(out.Buckets) != 5 {
		t.Errorf("buckets = %v, %v; want the three new ones, demo and by-hand", out.Buckets, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.CreateBucket(cancelled, "late"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a dead context: %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir(), "late")); err == nil {
		t.Error("a dead context made a bucket")
	}
}

// The posix backend would change into the folder it serves.
func TestWorkingDirectoryIsTheCallers(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	s, err := Start(t.Context(), Options{Buckets: []string{"demo"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Dir() != filepath.Join(here, "chunkup-sandbox") {
		t.Errorf("Dir = %s", s.Dir())
	}
	if wd, err := os.Getwd(); err != nil || wd != here {
		t.Errorf("Start moved to %s", wd)
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	r := connect(t, s)
	r.put("k", "x")
	r.upload("dir/k", nil, pattern(5*mib+1))
	if _, err := r.head("k"); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{elsewhere, here} {
		for _, name := range names(dir) {
			if name != "chunkup-sandbox" {
				t.Errorf("%s appeared in a working directory", name)
			}
		}
	}
}

func TestAnotherPortWhenTheFreeOneIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for attempts, ok := range map[int]bool{1: false, 2: true} {
		s, err := prepare(Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		err = s.launch(attempts, func() (string, error) {
			if asked++; asked == 1 {
				return taken.Addr().String(), nil
			}
			return address("127.0.0.1", freePort)
		})
		if (err == nil) != ok || asked != attempts {
			t.Errorf("%d attempts: %v after %d", attempts, err, asked)
		}
		if err == nil {
			s.Close()
		}
	}
}

func TestEndsByItself(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct{ from, want error }{
		"with an error":    {broken, broken},
		"without a reason": {nil, errStopped},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := &Server{store: &store{root: dir, attributes: newAttributes(dir)}}
			end := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			s.supervise(ctx, cancel, func(context.Context) error { <-end; return c.from })
			if s.Err() != nil {
				t.Errorf("Err while it runs = %v", s.Err())
			}
			close(end)
			<-s.Done()
			if !errors.Is(s.Err(), c.want) || !errors.Is(s.Close(), c.want) {
				t.Errorf("Err = %v, Close = %v, want %v", s.Err(), s.Close(), c.want)
			}
		})
	}
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{}
		end := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		s.supervise(ctx, cancel, func(context.Context) error { <-end; return nil })
		began := time.Now()
		if err := s.Close(); !errors.Is(err, errCloseLimit) || time.Since(began) != 15*time.Second {
			t.Errorf("Close = %v after %v", err, time.Since(began))
		}
		close(end)
		<-s.Done()
	})
}
