package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// tuned is everything that the tuning flags become.
type tuned struct {
	Limits   wire.Limits
	Endpoint multipart.EndpointOptions
	Uploader multipart.Options
	Timeout  time.Duration
	Workers  int
}

// defaults are those of docs/cli.md, as the library takes them.
func defaults() tuned {
	return tuned{
		Limits: wire.Limits{Connect: 10 * time.Second, MinRate: 200_000, Overhead: 15 * time.Second,
			Stall: 15 * time.Second, Answer: 70 * time.Second},
		Endpoint: multipart.EndpointOptions{
			Budget:  budget.Options{Ratio: 0.1, Floor: 0.5},
			Breaker: breaker.Options{Failures: 5, Cooldown: time.Second, MaxCooldown: 30 * time.Second},
		},
		Uploader: multipart.Options{Threshold: 16 << 20,
			Backoff:     multipart.Backoff{Base: 500 * time.Millisecond, Cap: 15 * time.Second, Jitter: multipart.FullJitter},
			MaxAttempts: 5, MaxElapsed: 3 * time.Minute, RetryAfterCap: time.Minute, WaitOpen: true, Memory: 256 << 20},
	}
}

// parse reads the flags of cp.
func parse(t *testing.T, args ...string) (*cpFlags, *pflag.FlagSet, error) {
	t.Helper()
	f, cmd := &cpFlags{}, &cobra.Command{}
	f.define(cmd)
	return f, cmd.Flags(), cmd.Flags().Parse(args)
}

func TestTuningFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want func(*tuned)
	}{
		{"", func(*tuned) {}},
		{"--part-size auto", func(*tuned) {}},
		{"--part-size 64MiB", func(w *tuned) { w.Uploader.PartSize = 64 << 20 }},
		{"--part-size 5GiB", func(w *tuned) { w.Uploader.PartSize = 5 << 30 }},
		{"--multipart-threshold 1MB", func(w *tuned) { w.Uploader.Threshold = 1e6 }},
		{"--multipart-threshold 0", func(w *tuned) { w.Uploader.Threshold = -1 }},
		{"--multipart-threshold 5GiB", func(w *tuned) { w.Uploader.Threshold = 5 << 30 }},
		{"--concurrency 3", func(w *tuned) { w.Endpoint.Lanes = 3 }},
		{"-c 3", func(w *tuned) { w.Endpoint.Lanes = 3 }},
		{"--bwlimit 10MiB/s", func(w *tuned) { w.Endpoint.Bandwidth = 10 << 20 }},
		{"--bwlimit none", func(*tuned) {}},
		{"--memory 64MiB", func(w *tuned) { w.Uploader.Memory = 64 << 20 }},
		{"--workers 2", func(w *tuned) { w.Workers = 2 }},
		{"--workers 0", func(*tuned) {}},
		{"--connect-timeout 3s", func(w *tuned) { w.Limits.Connect = 3 * time.Second }},
		{"--min-rate 10MiB/s", func(w *tuned) { w.Limits.MinRate = 10 << 20 }},
		{"--overhead 1m", func(w *tuned) { w.Limits.Overhead = time.Minute }},
		{"--stall-timeout 5s", func(w *tuned) { w.Limits.Stall = 5 * time.Second }},
		{"--answer-timeout 1m30s", func(w *tuned) { w.Limits.Answer = 90 * time.Second }},
		{"--timeout 2h", func(w *tuned) { w.Timeout = 2 * time.Hour }},
		{"--max-attempts 1", func(w *tuned) { w.Uploader.MaxAttempts = 1 }},
		{"--max-elapsed 10m", func(w *tuned) { w.Uploader.MaxElapsed = 10 * time.Minute }},
		{"--max-elapsed 0", func(w *tuned) { w.Uploader.MaxElapsed = -1 }},
		{"--backoff-base 1ms", func(w *tuned) { w.Uploader.Backoff.Base = time.Millisecond }},
		{"--backoff-cap 1m", func(w *tuned) { w.Uploader.Backoff.Cap = time.Minute }},
		{"--jitter none", func(w *tuned) { w.Uploader.Backoff.Jitter = multipart.NoJitter }},
		{"--jitter equal", func(w *tuned) { w.Uploader.Backoff.Jitter = multipart.EqualJitter }},
		{"--jitter full", func(*tuned) {}},
		{"--retry-after-cap 5m", func(w *tuned) { w.Uploader.RetryAfterCap = 5 * time.Minute }},
		{"--retry-budget 4", func(w *tuned) { w.Endpoint.Budget.Retries = 4 }},
		{"--retry-budget auto", func(*tuned) {}},
		{"--retry-ratio 0.2", func(w *tuned) { w.Endpoint.Budget.Ratio = 0.2 }},
		{"--retry-ratio 0", func(w *tuned) { w.Endpoint.Budget.Ratio = -1 }},
		{"--retry-floor 2", func(w *tuned) { w.Endpoint.Budget.Floor = 2 }},
		{"--retry-floor 0", func(w *tuned) { w.Endpoint.Budget.Floor = -1 }},
		{"--breaker-failures 2", func(w *tuned) { w.Endpoint.Breaker.Failures = 2 }},
		{"--breaker-cooldown 3s", func(w *tuned) { w.Endpoint.Breaker.Cooldown = 3 * time.Second }},
		{"--breaker-max-cooldown 2m", func(w *tuned) { w.Endpoint.Breaker.MaxCooldown = 2 * time.Minute }},
	} {
		f, _, err := parse(t, strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		want := defaults()
		c.want(&want)
		got := tuned{f.tuning.limits(), f.tuning.endpoint(), f.tuning.uploader(), f.tuning.timeout, f.tuning.workers}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(wire.Client{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}

// Where there are many files there may be more lanes, but no more retries.
func TestLanesOfManyFiles(t *testing.T) {
	isolate(t)
	folder := tree(t, "a")
	for _, c := range []struct {
		args    string
		source  string
		lanes   int
		retries float64
	}{
		{"-r", folder, 256, 10},
		{"-r -c 300", folder, 300, 0},
		{"-r --retry-budget 20", folder, 256, 20},
		{"", filepath.Join(folder, "a"), 0, 0},
	} {
		f, _, err := parse(t, strings.Fields(c.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.prepare(t.Context(), env{}, []string{c.source, "s3://bucket/p/"}, -1); err != nil {
			t.Fatal(err)
		}
		if o := f.tuning.endpoint(); o.Lanes != c.lanes || o.Budget.Retries != c.retries {
			t.Errorf("%s: %d lanes, %v retries", c.args, o.Lanes, o.Budget.Retries)
		}
	}
}

// Who may not open many files has fewer lanes, rather than an error in the middle.
func TestLanesForFewFiles(t *testing.T) {
	for files, want := range map[int]int{0: 8, 100: 23, 300: 90, 798: 256, 1 << 20: 256} {
		if got := lanesFor(files); got != want {
			t.Errorf("%d files: %d lanes, want %d", files, got, want)
		}
	}
	if got := openFiles(); got < 100 || got > enoughFiles {
		t.Errorf("%d files may be open", got)
	}
}

func TestBadFlags(t *testing.T) {
	isolate(t)
	source := file(t, "big", "x")
	for _, arg := range []string{
		"--part-size=1MiB", "--part-size=6GiB", "--part-size=0", "--part-size=-1", "--part-size=", "--part-size=big", "--part-size=10KB",
		"--multipart-threshold=6GiB", "--multipart-threshold=x", "--concurrency=-1", "--concurrency=x", "--workers=-1", "--workers=1.5",
		"--connect-timeout=0", "--connect-timeout=-1s", "--connect-timeout=5", "--min-rate=0", "--min-rate=0MiB/s", "--min-rate=x",
		"--overhead=0", "--stall-timeout=0s", "--answer-timeout=0", "--timeout=-1s", "--max-attempts=0", "--max-attempts=x",
		"--max-elapsed=-1s", "--backoff-base=0", "--backoff-cap=0", "--jitter=some", "--retry-after-cap=0",
		"--retry-budget=0", "--retry-budget=-1", "--retry-budget=NaN", "--retry-ratio=-0.1", "--retry-ratio=Inf", "--retry-floor=x", "--bwlimit=0", "--bwlimit=-1", "--bwlimit=fast",
		"--breaker-failures=0", "--breaker-cooldown=0", "--breaker-max-cooldown=0",
		"--endpoint-url=", "--endpoint-url=example.com", "--endpoint-url=ftp://x", "--endpoint-url=http://", "--endpoint-url=http://u:p@host",
		"--endpoint-url=http://host?x=1", "--provider=azure", "--addressing=round", "--checksum-algorithm=crc16",
		"--content-type=", "--content-type=a\nb", "--cache-control=\r", "--acl=a\x00", "--storage-class=\x7f", "--expires=tomorrow",
		"--metadata=k", "--metadata==v", "--metadata=a b=v", "--metadata=k=a\nb", "--metadata=Chunkup-Token=x", "--metadata=ü=v",
		"--memory=9MiB", "--memory=x", "--expected-size=1MiB", "--expected-size=x", "--state-dir=", "--sandbox-dir=", "--sandbox-dir=x",
		"--tag=k", "--tag=k=\n", "--sse-kms-key-id=k", "--no-such-flag", "-x", "--json=maybe",
	} {
		r := world{}.run(t, "cp", source, "s3://bucket/key", arg)
		if r.code != exitUsage || r.stdout != "" {
			t.Errorf("%q: exit code %d, standard output %q", arg, r.code, r.stdout)
		}
		name, _, _ := strings.Cut(arg, "=")
		r.oneLine(t, strings.TrimLeft(name, "-"))
	}
}

// samples are a value that is not the default for every flag of cp.
var samples = map[string]string{
	"endpoint-url": "http://127.0.0.1:1", "region": "eu-west-1", "profile": "work", "no-verify-ssl": "true", "ca-bundle": "ca.pem",
	"mint-url": "http://127.0.0.1:1", "mint-header": "Authorization: Bearer x", "provider": "minio", "addressing": "path", "checksum-algorithm": "sha256",
	"content-type": "text/x", "cache-control": "no-store", "content-disposition": "inline", "content-encoding": "gzip",
	"content-language": "de", "expires": "Thu, 01 Jan 2026 00:00:00 GMT", "metadata": "k=v", "tag": "k=v", "acl": "private",
	"storage-class": "GLACIER", "sse": "AES256", "sse-kms-key-id": "k",
	"part-size": "6MiB", "multipart-threshold": "1MiB", "concurrency": "2", "workers": "3", "bwlimit": "1MB/s",
	"memory": "64MiB", "expected-size": "1GiB", "state-dir": "states", "no-resume": "true", "no-overwrite": "true", "sandbox-dir": "box",
	"connect-timeout": "1s", "min-rate": "1MB/s", "overhead": "1s", "stall-timeout": "1s", "answer-timeout": "1s", "timeout": "1h",
	"max-attempts": "2", "max-elapsed": "1h", "backoff-base": "1s", "backoff-cap": "1m", "jitter": "none", "retry-after-cap": "1m",
	"retry-budget": "3", "retry-ratio": "0.3", "retry-floor": "1", "breaker-failures": "3", "breaker-cooldown": "2s", "breaker-max-cooldown": "1m",
	"recursive": "true", "include": "*.go", "exclude": "*", "follow-symlinks": "true", "files-from": "list", "null": "true",
	"json": "true", "quiet": "true", "no-progress": "true", "verbose": "true", "dry-run": "true",
}

// Every flag can be set from the environment, and a flag beats it.
func TestFlagsFromEnvironment(t *testing.T) {
	_, set, _ := parse(t)
	set.VisitAll(func(f *pflag.Flag) {
		text, ok := samples[f.Name]
		if !ok {
			t.Errorf("--%s has no sample", f.Name)
			return
		}
		name := "CHUNKUP_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		given, byFlag, err := parse(t, "--"+f.Name+"="+text)
		if err != nil {
			t.Fatal(err)
		}
		got, byName, _ := parse(t)
		getenv := func(v string) string { return map[string]string{name: text}[v] }
		if err := fromEnvironment(byName, getenv); err != nil {
			t.Fatal(err)
		}
		if byFlag.Lookup(f.Name).Value.String() != byName.Lookup(f.Name).Value.String() || !sameFlags(given, got) {
			t.Errorf("%s does not set --%s", name, f.Name)
		}
		if byName.Changed(f.Name) {
			t.Errorf("--%s counts as given", f.Name)
		}
		other := func(v string) string { return map[string]string{name: "must not be read"}[v] }
		if err := fromEnvironment(byFlag, other); err != nil {
			t.Errorf("%s beats --%s: %v", name, f.Name, err)
		}
	})
}

func sameFlags(a, b *cpFlags) bool {
	return cmp.Equal(a, b, cmp.AllowUnexported(cpFlags{}, storeFlags{}, objectFlags{}, tuningFlags{}, stateFlags{}, outputFlags{}, sourceFlags{}, patterns{}, pattern{}, pairs{}, mintURLFlags{}, secretHeader{}),
		cmpopts.IgnoreFields(patterns{}, "variables"), cmpopts.IgnoreFields(pairs{}, "check"), cmpopts.IgnoreFields(cpFlags{}, "given"))
}

func TestBadEnvironment(t *testing.T) {
	isolate(t)
	source := file(t, "big", "x")
	w := world{variables: map[string]string{"CHUNKUP_PART_SIZE": "1MiB"}}
	w.run(t, "cp", source, "s3://bucket/key").want(t, exitUsage).oneLine(t, "CHUNKUP_PART_SIZE", "below the minimum")
	w = world{variables: map[string]string{"CHUNKUP_JSON": ""}}
	if r := w.run(t, "cp", "-n", source, "s3://bucket/key").want(t, exitOK); strings.Contains(r.stdout, "{") {
		t.Errorf("an empty variable sets its flag: %s", r.stdout)
	}
}
