package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shell runs a line that was printed, as somebody does who pastes it.
func shell(t *testing.T, line string, variables ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH")}, awsEnvironment(t.TempDir()), variables)
	cmd.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// printed is a command line that was printed behind a label.
func (r ran) printed(t *testing.T, label string) string {
	t.Helper()
	for l := range strings.Lines(r.stderr) {
		if line, ok := strings.CutPrefix(l, label+": "); ok {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("standard error %q has no line %q", r.stderr, label)
	return ""
}

// failing refuses the third part.
func failing(w http.ResponseWriter, r *http.Request, op string) bool {
	return op == "part" && r.URL.Query().Get("partNumber") == "3" && refuse(w, 500, "InternalError")
}

// inThree are the flags that send 12 MiB in three parts and give up soon.
var inThree = []string{"--part-size", "5MiB", "--multipart-threshold", "0", "--max-attempts", "1", "-c", "1"}

// Bytes go up under their own hash, whatever the file had been when it was begun.
func TestResumeOfChangedFile(t *testing.T) {
	isolate(t)
	f, state := newFake(t), t.TempDir()
	f.on(failing)
	source := sparse(t, "big.iso", 12<<20)
	first := f.cp(t, append([]string{source, "s3://bucket/{sha256}.{ext}", "--provider", "minio", "--state-dir", state}, inThree...)...).want(t, exitIncomplete)
	f.on(nil)
	write(t, source, "other bytes")
	for name, again := range map[string]func() ran{
		"pasted":       func() ran { return shell(t, first.printed(t, "resume")) },
		"state resume": func() ran { return world{}.run(t, "state", "resume", source, "--state-dir", state) },
	} {
		f.forget()
		again().want(t, exitOK)
		sum := sha256.Sum256([]byte("other bytes"))
		if o, ok := f.object("/bucket/" + hex.EncodeToString(sum[:]) + ".iso"); !ok || string(o.content) != "other bytes" || len(f.keys()) != 1 {
			t.Errorf("%s: the store has %v", name, f.keys())
		}
	}
}

// The same bytes go on where they had stopped.
func TestResumeByHash(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.on(failing)
	source := sparse(t, "big", 12<<20)
	first := f.cp(t, append([]string{source, "s3://bucket/{sha256}/", "--provider", "minio", "--state-dir", t.TempDir()}, inThree...)...).want(t, exitIncomplete)
	f.on(nil)
	if r := shell(t, first.printed(t, "resume")).want(t, exitOK); !strings.Contains(r.stdout, "resumed: ") {
		t.Errorf("standard output %q", r.stdout)
	}
}

// A name may have anything in it, a line that was printed all the same brings it back.
func TestResumeOfStrangeNames(t *testing.T) {
	isolate(t)
	for _, name := range []string{"a\nb", "end\n", "it's $(x) %s\t"} {
		f := newFake(t)
		f.on(failing)
		source := sparse(t, name, 12<<20)
		first := f.cp(t, append([]string{source, "s3://bucket/", "--provider", "minio", "--state-dir", t.TempDir()}, inThree...)...).want(t, exitIncomplete)
		f.on(nil)
		if r := shell(t, first.printed(t, "resume")).want(t, exitOK); !strings.Contains(r.stdout, "resumed: ") {
			t.Errorf("%q: standard output %q", name, r.stdout)
		}
		if _, ok := f.object("/bucket/" + name); !ok {
			t.Errorf("%q: the store has %v", name, f.keys())
		}
		first.printed(t, "abort")
	}
}

// A variable that says nothing about this kind of store is not in the commands, which
// would be refused with it.
func TestVariablesOfAnotherStore(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), t.TempDir()
	t.Chdir(dir)
	w := world{variables: map[string]string{"CHUNKUP_SANDBOX_DIR": "elsewhere", "CHUNKUP_ENDPOINT_URL": f.URL, "CHUNKUP_STATE_DIR": t.TempDir(), "CHUNKUP_ADDRESSING": "path"}}
	f.on(failing)
	source := sparse(t, "big", 12<<20)
	r := w.run(t, append([]string{"cp", source, "s3://bucket/key", "--provider", "minio"}, inThree...)...).want(t, exitIncomplete)
	f.on(nil)
	if strings.Contains(r.stderr, "--sandbox-dir") || strings.Count(r.stderr, "--addressing path") != 2 {
		t.Errorf("standard error %q", r.stderr)
	}
	shell(t, r.printed(t, "resume")).want(t, exitOK)
	shell(t, r.printed(t, "abort")).want(t, exitOK)

	r = w.run(t, append([]string{"cp", source, "sandbox://demo/key", "--bwlimit", "5MB/s", "--timeout", "1500ms"}, inThree...)...).want(t, exitIncomplete)
	if strings.Contains(r.stderr, "--endpoint-url") || strings.Count(r.stderr, "--sandbox-dir "+filepath.Join(dir, "elsewhere")) != 2 {
		t.Errorf("standard error %q", r.stderr)
	}
	r.oneLine(t, " sandbox://demo/key: ")
	shell(t, r.printed(t, "abort")).want(t, exitOK)
}

// A recorded command does what it says, whatever the environment is when it is resumed.
func TestResumeIgnoresVariables(t *testing.T) {
	state := t.TempDir()
	f, _, _ := halfway(t, state)
	w := world{variables: map[string]string{"CHUNKUP_STATE_DIR": state, "CHUNKUP_DRY_RUN": "1", "CHUNKUP_PART_SIZE": "6MiB", "CHUNKUP_CACHE_CONTROL": "no-store"}}
	if r := w.run(t, "state", "resume", "--all").want(t, exitOK); !strings.Contains(r.stdout, "resumed: 2 of 3 parts were there") {
		t.Errorf("standard output %q", r.stdout)
	}
	if _, ok := f.object("/bucket/a b"); !ok {
		t.Error("there is no object")
	}
}

// What the AWS environment had said goes into the commands.
func TestFoundProfile(t *testing.T) {
	home := isolate(t)
	write(t, filepath.Join(home, "credentials"), "[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = x\n[other]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = x\n")
	for _, c := range []struct{ profile, byDefault, flag, want string }{
		{"work", "", "", "--profile work"},
		{"", "work", "", "--profile work"},
		{"work", "other", "", "--profile work"},
		{"work", "other", "other", "--profile other"},
	} {
		f := newFake(t)
		f.on(failing)
		t.Setenv("AWS_PROFILE", c.profile)
		t.Setenv("AWS_DEFAULT_PROFILE", c.byDefault)
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		args := append([]string{sparse(t, "big", 12<<20), "s3://bucket/key", "--provider", "minio", "--region", "eu-west-1"}, inThree...)
		if c.flag != "" {
			args = append(args, "--profile", c.flag)
		}
		r := f.cp(t, args...).want(t, exitIncomplete)
		if n := strings.Count(r.stderr, c.want); n < 1 || strings.Count(r.stderr, "--profile") != 2 && c.flag != "" {
			t.Errorf("%+v: standard error %q", c, r.stderr)
		}
		if want := "AKID" + strings.ToUpper(strings.TrimPrefix(c.want, "--profile ")) + "/"; !strings.HasPrefix(scope(f.of("create")[0]), want) {
			t.Errorf("%+v: signed by %s", c, scope(f.of("create")[0]))
		}
	}
}
