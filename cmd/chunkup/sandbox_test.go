package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/breaker"
)

// Every way to cut a file and to prove it, with an embedded store that checks.
func TestSandboxScheme(t *testing.T) {
	isolate(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	big, err := os.ReadFile(os.Args[0]) // the largest file at hand
	if err != nil {
		t.Fatal(err)
	}
	big = big[:11<<20]
	source, small, empty := file(t, "big", string(big)), file(t, "small", "content"), file(t, "empty", "")
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args, source, key string
		says              string
	}{
		{"--multipart-threshold 1MiB --part-size 5MiB", source, "parts", "11 MiB in 3 parts of 5 MiB"},
		{"--multipart-threshold 1GiB", source, "put", "11 MiB in one PUT"},
		{"--multipart-threshold 0", small, "part", "7 B in 1 part,"},
		{"--multipart-threshold 0", empty, "empty", "0 B in one PUT"},
		{"--multipart-threshold 0 --checksum-algorithm crc32", source, "crc32", "crc32 "},
		{"--multipart-threshold 0 --checksum-algorithm crc32c", source, "crc32c", "crc32c "},
		{"--multipart-threshold 0 --checksum-algorithm sha256", source, "sha256", "verified"},
		{"--multipart-threshold 0 --checksum-algorithm md5", source, "md5", "verified"},
		{"--multipart-threshold 0 --checksum-algorithm none", source, "none", "verified"},
		{"--checksum-algorithm sha256", small, "sha256-put", "sha256 "},
		{"", small, "a b+c?d#e%2F&ü", "crc64nvme lhVdXyVQTGE=  verified"},
	} {
		args := append([]string{"cp", c.source, "sandbox://demo/" + c.key}, strings.Fields(c.args)...)
		r := world{}.run(t, args...).want(t, exitOK)
		if !strings.Contains(r.stdout, c.says) || !strings.Contains(r.stdout, " → sandbox://demo/"+c.key+"  ") {
			t.Errorf("%v: %q does not say %q", args, r.stdout, c.says)
		}
		want, _ := os.ReadFile(c.source)
		got, err := os.ReadFile(filepath.Join("chunkup-sandbox/demo", c.key))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: the object is another than the file: %v", args, err)
		}
	}
}

// The embedded store has the deadlines of any other.
func TestSandboxDeadlines(t *testing.T) {
	isolate(t)
	source := file(t, "small", "content")
	t.Chdir(t.TempDir())
	world{}.run(t, "cp", source, "sandbox://demo/key", "--answer-timeout", "1ns", "--max-attempts", "1").
		want(t, exitFailed).oneLine(t, "no answer within 1ns")
}

// Properties with anything in them are signed as they are sent.
func TestSandboxProperties(t *testing.T) {
	isolate(t)
	source := file(t, "small", "content")
	t.Chdir(t.TempDir())
	for _, threshold := range []string{"0", "1MiB"} {
		world{}.run(t, "cp", source, "sandbox://demo/key", "--multipart-threshold", threshold, "--metadata", `a=b  c, "d"`,
			"--tag", "a b=c+d", "--cache-control", "no-cache, max-age=0", "--content-disposition", `attachment; filename="x y"`).want(t, exitOK)
	}
}

// What the store says of the object is held against what was sent.
func TestVerify(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		name   string
		head   func(http.ResponseWriter)
		exit   int
		proved bool
	}{
		{"the same", func(w http.ResponseWriter) { sayObject(w, "7", "lhVdXyVQTGE=") }, exitOK, true},
		{"without a checksum", func(w http.ResponseWriter) { sayObject(w, "7", "") }, exitOK, true},
		{"another size", func(w http.ResponseWriter) { sayObject(w, "8", "lhVdXyVQTGE=") }, exitIntegrity, false},
		{"another checksum", func(w http.ResponseWriter) { sayObject(w, "7", "lhVdXyVQTGA=") }, exitIntegrity, false},
		{"nothing", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, exitFailed, false},
	} {
		f := newFake(t)
		f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
			if op == "head" {
				c.head(w)
			}
			return op == "head"
		})
		flags, _, err := parse(t, "--endpoint-url", f.URL, "--provider", "versitygw")
		if err != nil {
			t.Fatal(err)
		}
		src, err := flags.prepare(t.Context(), env{}, []string{file(t, "small", "content"), "s3://bucket/key"}, -1)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := connect(t.Context(), &flags.store, &flags.tuning, src.dest, func(string, breaker.State, breaker.State) {})
		if err != nil {
			t.Fatal(err)
		}
		conn.verify = true
		s := &session{flags: flags, env: env{begun: &inFlight{}}, connection: conn, printer: newPlain(io.Discard, io.Discard, outputFlags{})}
		if o := s.upload(t.Context(), src.named[0]); exitCode(o.err) != c.exit || o.verified != c.proved {
			t.Errorf("%s: %v, verified %v", c.name, o.err, o.verified)
		}
	}
}

func sayObject(w http.ResponseWriter, size, crc string) {
	w.Header().Set("Content-Length", size)
	if crc != "" {
		w.Header().Set("X-Amz-Checksum-Crc64nvme", crc)
		w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
}

// The variables that are printed are what a shell reads back.
func TestPrintEnvironment(t *testing.T) {
	var b bytes.Buffer
	if err := printEnvironment(&b, []string{"A=plain/x+y=", "B=it's $(a) b", "C="}); err != nil {
		t.Fatal(err)
	}
	if want := "export A=plain/x+y=\nexport B='it'\\''s $(a) b'\nexport C=''\n"; b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
}

// watched does something once a text has been written to it.
type watched struct {
	bytes.Buffer
	text string
	then func()
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if strings.Contains(w.String(), w.text) {
		w.then()
	}
	return n, err
}

// An interrupt is how a sandbox ends.
func TestSandboxEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	var stdout bytes.Buffer
	stderr := &watched{text: "until interrupted", then: func() { cancel(errInterrupted) }}
	code := run(ctx, env{
		args:   []string{"sandbox", "--dir", "here", "--access-key", "AK", "--secret-key", "SK", "--bucket", "one", "--bucket", "two"},
		stdout: &stdout, stderr: stderr,
		getenv:   func(name string) string { return map[string]string{"CHUNKUP_LISTEN": "127.0.0.1:0"}[name] },
		terminal: func(io.Writer) bool { return false },
	})
	r := ran{code, stdout.String(), stderr.String()}.want(t, exitOK)
	want := regexp.MustCompile(`^export AWS_ACCESS_KEY_ID=AK\nexport AWS_SECRET_ACCESS_KEY=SK\nexport AWS_SESSION_TOKEN=''\nexport AWS_REGION=us-east-1\nexport AWS_ENDPOINT_URL_S3=http://127\.0\.0\.1:[0-9]+\n$`)
	if !want.MatchString(r.stdout) || !strings.Contains(r.stderr, "until interrupted") {
		t.Errorf("standard output %q, standard error %q", r.stdout, r.stderr)
	}
	for _, bucket := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join("here", bucket)); err != nil {
			t.Error(err)
		}
	}
}
