package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStandardInput(t *testing.T) {
	isolate(t)
	content := strings.Repeat("0123456789abcdef", 12<<20/16)
	for _, c := range []struct {
		name, stdin string
		args        []string
		says        string
	}{
		{"in parts", content, []string{"--part-size", "5MiB"}, "uploaded standard input → s3://bucket/key  12 MiB in "},
		{"of an expected size", content, []string{"--expected-size", "12MiB"}, "12 MiB in "},
		{"more than expected", content, []string{"--expected-size", "6MiB", "--part-size", "5MiB"}, "12 MiB in "},
		{"empty", "", nil, "0 B in "},
	} {
		f := newFake(t)
		r := world{stdin: strings.NewReader(c.stdin)}.run(t, f.args(append([]string{"-", "s3://bucket/key", "--provider", "minio"}, c.args...)...)...).want(t, exitOK)
		o, ok := f.object("/bucket/key")
		if !ok || string(o.content) != c.stdin {
			t.Errorf("%s: the object has %d bytes, want %d", c.name, len(o.content), len(c.stdin))
		}
		if !strings.Contains(r.stdout, c.says) {
			t.Errorf("%s: standard output %q does not say %q", c.name, r.stdout, c.says)
		}
	}
}

// Of what comes from a stream nobody knows the total, unless it is expected.
func TestStandardInputJSON(t *testing.T) {
	isolate(t)
	for size, args := range map[float64][]string{0: nil, 10: {"--expected-size", "10"}} {
		f := newFake(t)
		r := world{stdin: strings.NewReader("0123456789")}.run(t, f.args(append([]string{"-", "s3://bucket/key", "--json"}, args...)...)...).want(t, exitOK)
		for _, l := range jsonLines(t, r.stdout) {
			_, eta := l["eta_ms"]
			switch {
			case l["type"] == "plan" && (l["source"] != "-" || l["size"] != size), l["type"] == "progress" && (l["total"] != size || eta && size == 0):
				t.Errorf("expecting %v: %v", size, l)
			case l["type"] == "result" && (l["size"] != 10. || l["ok"] != true):
				t.Errorf("expecting %v: %v", size, l)
			}
		}
	}
}

func TestDryRunOfStream(t *testing.T) {
	isolate(t)
	f := newFake(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "would upload standard input → s3://bucket/key  in parts of 16 MiB at first\n"},
		{[]string{"--expected-size", "1GiB"}, "would upload standard input → s3://bucket/key  1 GiB expected, in parts of 16 MiB\n"},
		{[]string{"--", "touch", filepath.Join(t.TempDir(), "ran")}, "would upload the output of touch → s3://bucket/key  in parts of 16 MiB at first\n"},
	} {
		args := append([]string{"-n", "-", "s3://bucket/key"}, c.args...)
		if r := (world{stdin: brokenReader{}}).run(t, f.args(args...)...).want(t, exitOK); r.stdout != c.want {
			t.Errorf("%v: %q, want %q", c.args, r.stdout, c.want)
		}
		if n := len(c.args); n == 3 {
			if _, err := os.Stat(c.args[2]); err == nil {
				t.Error("a dry run ran the command")
			}
		}
	}
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// R22 (https://github.com/aws/aws-sdk-go/issues/780): a source that breaks makes
// no object, whatever its error is.
func TestBrokenStandardInput(t *testing.T) {
	isolate(t)
	f := newFake(t)
	stdin := io.MultiReader(strings.NewReader(strings.Repeat("x", 12<<20)), brokenReader{})
	r := world{stdin: stdin}.run(t, f.args("-", "s3://bucket/key", "--part-size", "5MiB", "--provider", "minio")...).want(t, exitFailed)
	r.oneLine(t, "unexpected EOF")
	f.empty(t)
}

// empty checks that nothing is left at the store.
func (f *fake) empty(t *testing.T) {
	t.Helper()
	if ids := f.unfinished(); len(ids) != 0 || len(f.keys()) != 0 {
		t.Errorf("the store has uploads %v and %d objects", ids, len(f.keys()))
	}
}

// produce is a command of the tests, which runs this binary again.
const produce = "chunkup-produce"

// producing is that command: it writes so many bytes, and ends with a code, or
// hangs.
func producing() {
	var size, code int
	hang := ""
	for i, to := range []*int{&size, &code} {
		if len(os.Args) > i+1 {
			for _, c := range os.Args[i+1] {
				*to = *to*10 + int(c-'0')
			}
		}
	}
	if len(os.Args) > 3 {
		hang = os.Args[3]
	}
	_, _ = os.Stdout.WriteString(strings.Repeat("x", size))
	_, _ = os.Stderr.WriteString("on standard error\n")
	if hang != "" {
		_ = os.WriteFile(hang, nil, 0o600)
		time.Sleep(time.Minute)
	}
	os.Exit(code)
}

// R22 (https://github.com/aws/aws-sdk-go/issues/780): the output of a command is an
// object only if it exits 0.
func TestCommand(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		code, size string
		exit       int
	}{{"0", "12582912", exitOK}, {"3", "12582912", exitFailed}, {"3", "0", exitFailed}, {"0", "0", exitOK}} {
		f := newFake(t)
		r := f.cp(t, "-", "s3://bucket/key", "--part-size", "5MiB", "--provider", "minio", "--", produce, c.size, c.code).want(t, c.exit)
		if !strings.Contains(r.stderr, "on standard error\n") {
			t.Errorf("standard error %q", r.stderr)
		}
		if c.exit == exitOK {
			if o, ok := f.object("/bucket/key"); !ok || c.size != "0" && len(o.content) != 12<<20 {
				t.Errorf("the object has %d bytes", len(o.content))
			}
			continue
		}
		if !strings.Contains(r.stderr, "command "+produce+" ended with exit status 3") {
			t.Errorf("standard error %q", r.stderr)
		}
		f.empty(t)
	}
}

// The command reads our standard input.
func TestFilter(t *testing.T) {
	isolate(t)
	f := newFake(t)
	world{stdin: strings.NewReader("content")}.run(t, f.args("-", "s3://bucket/key", "--", "cat")...).want(t, exitOK)
	if o, _ := f.object("/bucket/key"); string(o.content) != "content" {
		t.Errorf("the object is %q", o.content)
	}
}

// A command does not outlive its upload.
func TestCommandEndsWithUpload(t *testing.T) {
	isolate(t)
	for _, interrupted := range []bool{false, true} {
		f := newFake(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
			if op == "part" && interrupted {
				cancel(errInterrupted)
			}
			return op == "part" && refuse(w, http.StatusForbidden, "AccessDenied")
		})
		want := map[bool]int{false: exitDenied, true: exitInterrupted}[interrupted]
		began := time.Now()
		world{ctx: ctx}.run(t, f.args("-", "s3://bucket/key", "--part-size", "5MiB", "--provider", "minio", "--",
			produce, "12582912", "0", filepath.Join(t.TempDir(), "hangs"))...).want(t, want)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		f.empty(t)
		cancel(nil)
	}
}

func TestPlaceholders(t *testing.T) {
	isolate(t)
	sum := sha256.Sum256([]byte("content"))
	hash := hex.EncodeToString(sum[:])
	for _, c := range []struct{ name, dest, key string }{
		{"big.tar.gz", "{sha256}.{ext}", hash + ".gz"},
		{"big.iso", "x/{sha256}/", "x/" + hash + "/big.iso"},
		{"big.iso", "{name}-{name}", "big.iso-big.iso"},
		{"big", "a{ext}b", "ab"},
		{".bashrc", "{name}.{ext}x", ".bashrc.x"},
		{".bashrc.old", "{ext}", "old"},
		{"{sha256}", "", "{sha256}"},
		{"{sha256}", "{name}", "{sha256}"},
		{"big", "{lbrace}name} {lbrace}", "{name} {"},
		{"big", "{Name} {} {a b} {{", "{Name} {} {a b} {{"},
	} {
		f := newFake(t)
		source := file(t, c.name, "content")
		f.cp(t, source, "s3://bucket/"+c.dest).want(t, exitOK)
		if _, ok := f.object("/bucket/" + c.key); !ok {
			t.Errorf("%s to %q: the store has %v, want %q", c.name, c.dest, f.keys(), c.key)
		}
		if back := fill(literal(c.key), source, hash); back != c.key {
			t.Errorf("%q is written as %q, which is read as %q", c.key, literal(c.key), back)
		}
	}
}

// A file that changes after it was hashed gets no object under its old hash.
func TestHashedFileChanges(t *testing.T) {
	isolate(t)
	for _, becomes := range []string{"CONTENT", "content, and more"} {
		for _, moment := range []string{"probe", "create", "part"} {
			f := newFake(t)
			source := file(t, "big", "content")
			f.on(func(_ http.ResponseWriter, r *http.Request, op string) bool {
				if op == moment {
					_, _ = io.Copy(io.Discard, r.Body)
					overwrite(t, source, becomes)
				}
				return false
			})
			f.cp(t, source, "s3://bucket/{sha256}", "--multipart-threshold", "0").want(t, exitIntegrity).oneLine(t, "the source changed")
			f.empty(t)
		}
	}
}

func TestNoOverwrite(t *testing.T) {
	isolate(t)
	f := newFake(t)
	same, other := file(t, "same", "content"), file(t, "other", "CONTENT")
	args := []string{"s3://bucket/key", "--no-overwrite", "--provider", "minio"}
	f.cp(t, same, args[0], args[1], args[2], args[3]).want(t, exitOK)
	sent := len(f.of("put"))
	r := f.cp(t, same, args[0], args[1], args[2], args[3]).want(t, exitOK)
	if want := "exists " + same + " = s3://bucket/key  7 B, nothing was sent\n"; !strings.HasPrefix(r.stdout, want) || len(f.of("put")) != sent {
		t.Errorf("standard output %q, want %q; %d PUTs", r.stdout, want, len(f.of("put"))-sent)
	}
	r = f.cp(t, same, args[0], args[1], args[2], args[3], "--json").want(t, exitOK)
	lines := jsonLines(t, r.stdout)
	if l := lines[len(lines)-2]; l["ok"] != true || l["existing"] != true {
		t.Errorf("the result is %v", l)
	}
	f.cp(t, other, args[0], args[1], args[2], args[3]).want(t, exitFailed).oneLine(t, "there is another object under the key")
	if o, _ := f.object("/bucket/key"); string(o.content) != "content" {
		t.Errorf("the object is %q", o.content)
	}
	f.cp(t, other, args[0]).want(t, exitOK)
}

func TestSplitCommand(t *testing.T) {
	for _, c := range []struct {
		args          string
		dash          int
		rest, command string
	}{
		{"a s3://b/k", -1, "a s3://b/k", ""},
		{"-a s3://b/k", 0, "-a s3://b/k", ""},
		{"a -b s3://b/", 1, "a -b s3://b/", ""},
		{"- s3://b/k cat x", 2, "- s3://b/k", "cat x"},
	} {
		rest, command, err := splitCommand(strings.Fields(c.args), c.dash)
		if err != nil || !slices.Equal(rest, strings.Fields(c.rest)) || !slices.Equal(command, strings.Fields(c.command)) {
			t.Errorf("%s with -- after %d: %v, %v, %v", c.args, c.dash, rest, command, err)
		}
	}
}
