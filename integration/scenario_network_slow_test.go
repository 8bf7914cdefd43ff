package integration

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart/wire"
)

// https://github.com/thanos-io/thanos/issues/8912: one deadline of 30 s held for
// the whole job instead of each request, so that a large file stopped at the same
// part for ever. Everything here is four times as fast as there: a part takes 2 s
// of its 4.5 s, and the job 6 s.
func TestR08DeadlinesArePerAttempt(t *testing.T) {
	src := check.Pattern(24 * mib)
	limits := wire.Limits{MinRate: 2 * mib, Overhead: 500 * time.Millisecond}

	t.Run("no bound on the whole", func(t *testing.T) {
		l := newLab(t, limits)
		l.proxy.Limit(4 * mib)
		l.options.PartSize, l.endpoint.Lanes = 8*mib, 1
		res := l.uploaded(t, src, requests{creates: 1, parts: 3, completes: 1})
		if per := limits.Send(8*mib, 1); res.Elapsed <= per {
			t.Errorf("took %v, no longer than one attempt may (%v)", res.Elapsed, per)
		}
	})

	t.Run("a bound on the whole", func(t *testing.T) {
		server := store.Server(t)
		bucket := server.Bucket(t)
		path := command(t)
		check.Leaks(t)
		proxy, err := faultproxy.Start(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { proxy.Close() })
		proxy.Limit(4 * mib)
		file, env := check.TempFile(t, src), environment(t, "AWS_ACCESS_KEY_ID="+server.AccessKey,
			"AWS_SECRET_ACCESS_KEY="+server.SecretKey, "AWS_ENDPOINT_URL_S3="+proxy.URL())
		run := func(limit string) (*bytes.Buffer, error) {
			cmd := exec.Command(path, "cp", "--timeout="+limit, "-c1", "--part-size=8MiB", "--min-rate=2MiB/s", "--overhead=500ms",
				file, "s3://"+bucket+"/key")
			var out bytes.Buffer
			cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
			return &out, cmd.Run()
		}
		start := time.Now()
		out, err := run("3s")
		took := time.Since(start)
		exit, _ := errors.AsType[*exec.ExitError](err)
		if exit == nil || exit.ExitCode() != 3 {
			t.Fatalf("ended with %v: %s", err, out.String())
		}
		if took < 3*time.Second || took > 5*time.Second {
			t.Errorf("ended after %v", took)
		}
		t.Logf("%s", out.String())
		for _, want := range []string{"upload part", "the time limit of 3s (--timeout) is over", "of 3 parts were done"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q does not say %q", out.String(), want)
			}
		}
		check.Absent(t, server.Client(), bucket, "key")

		// The next run starts where this one ended.
		done := len(partsDone(proxy))
		if out, err := run("1m"); err != nil || done == 0 {
			t.Fatalf("%d parts were done, then %v: %s", done, err, out)
		}
		if all := len(partsDone(proxy)); all != 3 {
			t.Errorf("%d parts were sent whole, of 3", all)
		}
		check.Equal(t, server.Client(), bucket, "key", src, src.Size())
		check.NoUploads(t, server.Client(), bucket, "key")
	})
}

// partsDone are the parts that were stored, as often as each was.
func partsDone(p *faultproxy.Proxy) (parts []int) {
	for _, r := range p.Requests() {
		if r.Op == faultproxy.PutPart && r.Status == 200 {
			parts = append(parts, r.Part)
		}
	}
	return parts
}

// https://github.com/aws/aws-sdk-js/issues/1162: on a thin line each part was cut
// after the same fixed time and started again, for ever, and the parallel parts
// were what made it thin. Everything here is twice as fast as there: each of four
// parts needs 8 s at its share of the link, and is first given 5 s.
func TestR09SharedThinLink(t *testing.T) {
	l := newLab(t, wire.Limits{MinRate: 8 * mib, Overhead: time.Second})
	l.proxy.Limit(4 * mib)
	l.options.PartSize, l.endpoint.Lanes = 8*mib, 4
	src := check.Pattern(32 * mib)
	res, err := l.upload(t, src)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, l.server.Client(), l.bucket, "key", src, src.Size())
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
	logAttempts(t, l.events)
	missed := 0
	for _, e := range l.events {
		if e.Phase == wire.PhaseSend && e.Sent > 0 {
			missed++
		}
	}
	if missed == 0 || missed >= 4 {
		t.Errorf("%d deadlines were missed: none if the link was not thin, and 4 if nobody learned from the first", missed)
	}
	var onWire int64
	for _, r := range l.proxy.Requests() {
		onWire += r.BodyBytes
	}
	ratio := float64(onWire) / float64(src.Size())
	atEnd := inFlightAtEnd(l.proxy.Requests())
	t.Logf("%v, %d missed deadlines, %.2f times the bytes, %d parts in flight at the end, %d lanes",
		res.Elapsed.Round(time.Millisecond), missed, ratio, atEnd, l.used.Lanes())
	if ratio > 1.8 {
		t.Errorf("%.2f times the bytes went over the wire, want at most 1.8", ratio)
	}
	if atEnd > 2 {
		t.Errorf("%d parts were in flight at the end, want at most 2", atEnd)
	}
	breakerStayedClosed(t, l.used, l.events)
}

// inFlightAtEnd is how many parts were on their way when the last one began. One whose
// answer had gone out just then was not: the proxy notes its end after that, on a busy
// machine after the client has begun the next. Here a part takes seconds.
func inFlightAtEnd(all []faultproxy.Request) (n int) {
	const noted = 250 * time.Millisecond
	var last time.Time
	for _, r := range all {
		if r.Op == faultproxy.PutPart && r.Start.After(last) {
			last = r.Start
		}
	}
	for _, r := range all {
		if r.Op == faultproxy.PutPart && !r.Start.After(last) && (r.Start.Equal(last) || r.End.After(last.Add(noted))) {
			n++
		}
	}
	return n
}
