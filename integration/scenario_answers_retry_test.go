package integration

import (
	"bytes"
	"errors"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// R45, https://github.com/juicedata/juicefs/issues/6249: two retry layers multiply,
// and log lines that look like failures do not say who tries again. Here there is
// one layer, and everything that is told says whether another attempt follows.
func TestR45(t *testing.T) {
	src := check.Pattern(3 * 5 * mib)
	always := func(op faultproxy.Op, part int) faultproxy.Rule {
		return faultproxy.Rule{Op: op, Part: part, Count: -1, Status: 500, Code: "InternalError",
			Message: "We encountered an internal error. Please try again."}
	}

	t.Run("a part", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, always(faultproxy.PutPart, 3))
		l.endpoint.Lanes = 1 // else the parts that succeed meanwhile excuse failures
		_, err := l.upload(t, src)
		e := l.givesUp(t, err, wire.PutPart, "upload part 3", "500 InternalError", "request id FAULT", "after 5 attempts", "too many attempts")
		told := tries(l.events, 3)
		if n := len(l.attempts(3)); n != 5 || len(told) != 5 || e.Attempts != 5 {
			t.Fatalf("%d requests, %d told, %d in the error", n, len(told), e.Attempts)
		}
		for i, a := range told {
			if a.Attempt != i+1 || a.Again != (i < 4) {
				t.Errorf("attempt %d is told as %d, again %v", i+1, a.Attempt, a.Again)
			}
		}
	})

	// The calls that go through the SDK, which has retries of its own.
	t.Run("creating", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, always(faultproxy.Create, 0))
		_, err := l.upload(t, src)
		e := l.givesUp(t, err, wire.Create, "500 InternalError", "request id FAULT", "after 5 attempts")
		if n := l.requests().creates; n != 5 || e.Attempts != 5 || !errors.Is(err, multipart.ErrAttempts) {
			t.Errorf("%d requests, err = %v", n, err)
		}
	})

	t.Run("the command", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, always(faultproxy.PutPart, 3))
		cmd := exec.Command(command(t), "cp", "-v", "-c", "1", "--part-size", "5MiB", "--multipart-threshold", "5MiB", "--backoff-base", "10ms", "--no-resume",
			check.TempFile(t, src), "s3://"+l.bucket+"/key")
		cmd.Env = environment(t, "AWS_ACCESS_KEY_ID="+l.server.AccessKey, "AWS_SECRET_ACCESS_KEY="+l.server.SecretKey, "AWS_ENDPOINT_URL_S3="+l.proxy.URL())
		var out, told bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &told
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
			t.Errorf("%v: %s", err, told.String())
		}
		lines := strings.Split(strings.TrimSuffix(told.String(), "\n"), "\n")
		if len(lines) != 5 || out.Len() > 0 {
			t.Fatalf("it says %q and %q", out.String(), lines)
		}
		for i, line := range lines {
			want := []string{"retry: upload part 3 of s3://" + l.bucket + "/key: attempt ", "500 InternalError", "; again in "}
			if i == 4 {
				want = []string{"chunkup: upload part 3 of ", "gave up after 5 attempts", "500 InternalError", "request id FAULT"}
			}
			if slices.ContainsFunc(want, func(s string) bool { return !strings.Contains(line, s) }) {
				t.Errorf("line %d is %q", i+1, line)
			}
		}
		if n := len(l.attempts(3)); n != 5 {
			t.Errorf("%d requests for part 3", n)
		}
		check.Absent(t, l.server.Client(), l.bucket, "key")
		l.ends(t, errors.New(told.String()))
	})
}

// R46, https://github.com/s3ql/s3ql/pull/17: a Retry-After above the client's cap
// was taken for none, so that the most loaded server was asked soonest. Here it is
// cut to the cap, a date is understood, nonsense is ignored, and what one part is
// told holds for all.
func TestR46(t *testing.T) {
	const limit, lanes = 3 * time.Second, 4
	arrived, told := make(chan struct{}), make(chan struct{})
	rule := func(k, status int, after string) faultproxy.Rule {
		return faultproxy.Rule{Op: faultproxy.PutPart, From: k, Status: status, Code: "SlowDown", After: 64 * kib,
			Header: http.Header{"Retry-After": {after}}}
	}
	first := rule(1, 503, "4")
	first.Together = true // whichever part comes first; the other attempts are its own
	first.Hold = arrived
	date := rule(2, 429, "")
	date.Edit = func(h http.Header) {
		h.Set("Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))
	}
	l := newLab(t, wire.Limits{}, first, date, rule(3, 503, "banana"), rule(4, 503, "-1"), rule(5, 503, "99999999999"),
		// The others are on their way when the first answer comes, and end well
		// after it: all that keeps the next from beginning is what the store said.
		faultproxy.Rule{Op: faultproxy.PutPart, Hold: told})
	l.endpoint.Lanes = lanes
	l.options.RetryAfterCap = limit
	src := check.Pattern(10 * 5 * mib)
	go func() {
		defer close(arrived)
		l.awaitParts(t, lanes)
	}()
	tell := sync.OnceFunc(func() { close(told) })
	defer tell()
	_, err := l.uploadTelling(t.Context(), t, src, func(e multipart.Event) {
		if e.Kind == multipart.Attempted && e.Code == "SlowDown" {
			tell()
		}
	})
	l.succeeds(t, src, err)
	l.keepsPauses(t, []pause{
		{limit, limit * 5 / 4, "retry-after", 0},
		{time.Second, 2500 * time.Millisecond, "retry-after", lanes - 1},
		{0, time.Second, "backoff", 0},
		{0, time.Second, "backoff", 0},
		{limit, limit * 5 / 4, "retry-after", lanes - 1},
	})
}

// awaitParts returns when so many requests for parts have arrived.
func (l *lab) awaitParts(t *testing.T, n int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(l.parts()) < n {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
	}
}

// pause is how long a part waits after one of its failures, and why.
type pause struct {
	least, most time.Duration
	reason      string

	// late is how many parts may begin nevertheless: those that had a lane
	// already, and whose bytes were being hashed.
	late int
}

// keepsPauses fails the test unless the one part that failed waited as told, and
// nothing else was begun while the store wanted to be left alone.
func (l *lab) keepsPauses(t *testing.T, want []pause) {
	t.Helper()
	part := l.parts()[0].Part
	attempts, told := l.attempts(part), tries(l.events, part)
	var waits []multipart.Event
	for _, e := range l.events {
		if e.Kind == multipart.Waited && e.Part == part && (e.Reason == "backoff" || e.Reason == "retry-after") {
			waits = append(waits, e)
		}
	}
	if len(attempts) != len(want)+1 || len(told) != len(want)+1 || len(waits) != len(want) {
		t.Fatalf("%d attempts, %d told, waits %v", len(attempts), len(told), waits)
	}
	for i, w := range want {
		gap, wait := attempts[i+1].Start.Sub(told[i].Time), waits[i].Wait
		late := 0
		for _, r := range l.proxy.Requests() {
			if since := r.Start.Sub(told[i].Time); since > 0 && since < w.least {
				late++
			}
		}
		t.Logf("attempt %d came %v after the %d of the one before, having waited %v for %s; %d others began",
			i+2, gap.Round(time.Millisecond), attempts[i].Status, wait.Round(time.Millisecond), waits[i].Reason, late)
		if gap < w.least || wait < w.least || wait > w.most || waits[i].Reason != w.reason {
			t.Errorf("want between %v and %v for %s", w.least, w.most, w.reason)
		}
		if late > w.late {
			t.Errorf("%d requests in the pause", late)
		}
	}
}
