package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
)

// halfway uploads 12 MiB in three parts, of which the last fails for good, and
// leaves a journal in the folder.
func halfway(t *testing.T, state string) (f *fake, source string, r ran) {
	t.Helper()
	isolate(t)
	f = newFake(t)
	source = sparse(t, "big", 12<<20)
	f.on(func(w http.ResponseWriter, r *http.Request, op string) bool {
		return op == "part" && r.URL.Query().Get("partNumber") == "3" && refuse(w, 500, "InternalError")
	})
	w := world{variables: map[string]string{"CHUNKUP_STATE_DIR": state, "CHUNKUP_METADATA": "a=it's"}}
	r = w.run(t, f.args(source, "s3://bucket/a b", "--provider", "minio", "--part-size", "5MiB", "--multipart-threshold", "0", "-c", "1",
		"--max-attempts", "2", "--backoff-base", "1ms", "--tag", "k=v")...)
	f.on(nil)
	return f, source, r.want(t, exitIncomplete)
}

// What fails is kept, and the command that is printed goes on from anywhere.
func TestResume(t *testing.T) {
	state := t.TempDir()
	f, source, r := halfway(t, state)
	resume := []string{"cp", source, "s3://bucket/a b", "--backoff-base", "1ms", "--concurrency", "1", "--endpoint-url", f.URL,
		"--max-attempts", "2", "--metadata", "a=it's", "--multipart-threshold", "0", "--part-size", "5MiB", "--provider", "minio", "--state-dir", state, "--tag", "k=v"}
	abort := []string{"uploads", "abort", "s3://bucket/a b", "--upload-id", "U1", "--endpoint-url", f.URL, "--provider", "minio", "--state-dir", state}
	r.oneLine(t, "2 attempts", "(2 of 3 parts were done)")
	if want := "\nresume: chunkup " + shellLine(resume) + "\nabort:  chunkup " + shellLine(abort) + "\n"; !strings.HasSuffix(r.stderr, want) {
		t.Errorf("standard error\n%s does not end with\n%s", r.stderr, want)
	}
	t.Chdir(t.TempDir())
	sent := len(f.of("part"))
	again := world{}.run(t, resume...).want(t, exitOK)
	if !strings.Contains(again.stdout, "resumed: 2 of 3 parts were there") || len(f.of("part"))-sent != 1 || len(f.of("create")) != 1 {
		t.Errorf("standard output %q, %d parts sent, %d uploads begun", again.stdout, len(f.of("part"))-sent, len(f.of("create")))
	}
	if o, _ := f.object("/bucket/a b"); len(o.content) != 12<<20 {
		t.Errorf("the object has %d bytes", len(o.content))
	}
	if left, _ := journal.Open(state).List(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestResumeJSON(t *testing.T) {
	state := t.TempDir()
	f, source, _ := halfway(t, state)
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "part" && refuse(w, 500, "InternalError")
	})
	args := f.args(source, "s3://bucket/a b", "--provider", "minio", "--state-dir", state, "--json", "--metadata", "a=it's", "--tag", "k=v",
		"--max-attempts", "1", "--backoff-base", "1ms")
	r := world{}.run(t, args...).want(t, exitIncomplete)
	lines := jsonLines(t, r.stdout)
	if l := lines[len(lines)-2]; l["exit"] != 3. || !strings.HasPrefix(l["resume"].(string), "chunkup cp /") || !strings.HasPrefix(l["abort"].(string), "chunkup uploads abort ") || l["upload_id"] != "U1" {
		t.Errorf("the result is %v", l)
	}
	f.on(nil)
	r = world{}.run(t, args...).want(t, exitOK)
	found := map[any]map[string]any{}
	for _, l := range jsonLines(t, r.stdout) {
		found[l["type"]] = l
	}
	if l := found["resumed"]; l == nil || l["upload_id"] != "U1" || l["parts"] != 2. || l["bytes"] != float64(10<<20) || l["dest"] != "s3://bucket/a b" {
		t.Errorf("resumed: %v", l)
	}
	if l := found["result"]; l["resumed_parts"] != 2. || l["parts"] != 3. || l["upload_id"] != "U1" || l["resume"] != "" || l["abort"] != "" {
		t.Errorf("the result is %v", l)
	}
}

func TestNoResume(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "part" && refuse(w, 500, "InternalError")
	})
	state := t.TempDir()
	r := f.cp(t, file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--max-attempts", "1", "--no-resume", "--state-dir", state)
	r.want(t, exitFailed)
	if strings.Contains(r.stderr, "resume:") {
		t.Errorf("standard error %q", r.stderr)
	}
	f.empty(t)
	if left, _ := os.ReadDir(state); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Without the usual folder uploads go on, and it is said what that means.
func TestUnusableState(t *testing.T) {
	isolate(t)
	f := newFake(t)
	w := world{variables: map[string]string{"XDG_STATE_HOME": file(t, "no-folder", "")}}
	r := w.run(t, f.args(file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0")...).want(t, exitOK)
	if !strings.Contains(r.stderr, "warning: ") || !strings.Contains(r.stderr, "nothing can be resumed (name a folder with --state-dir, or give --no-resume)") {
		t.Errorf("standard error %q", r.stderr)
	}
	if r := w.run(t, f.args(file(t, "big", "x"), "s3://bucket/key")...).want(t, exitOK); r.stderr != "" {
		t.Errorf("one PUT needs no journal: %q", r.stderr)
	}
}

func TestState(t *testing.T) {
	state := t.TempDir()
	f, source, first := halfway(t, state)
	resume, _, _ := strings.Cut(first.stderr[strings.Index(first.stderr, "resume: "):], "\n")
	w := world{variables: map[string]string{"CHUNKUP_STATE_DIR": state}}
	r := w.run(t, "state", "ls").want(t, exitOK)
	for _, want := range []string{source + " → s3://bucket/a b  uploading  2 of 3 parts done  0s ago\n  " + resume + "\n  abort:  chunkup uploads abort 's3://bucket/a b' --upload-id U1 ", "\n  kept:   " + state + "/"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q does not say %q", r.stdout, want)
		}
	}
	lines := jsonLines(t, w.run(t, "state", "ls", "--json").want(t, exitOK).stdout)
	if len(lines) != 1 {
		t.Fatalf("%v", lines)
	}
	l := lines[0]
	if l["type"] != "state" || l["dest"] != "s3://bucket/a b" || l["source"] != source || l["state"] != "uploading" || l["done_parts"] != 2. ||
		l["parts"] != 3. || l["live"] != false || "resume: "+l["resume"].(string) != resume || l["upload_id"] != "U1" || l["endpoint"] != f.URL {
		t.Errorf("%v", l)
	}
	r = w.run(t, "state", "resume", "--all").want(t, exitOK)
	if !strings.Contains(r.stdout, "resumed: 2 of 3 parts were there") {
		t.Errorf("standard output %q", r.stdout)
	}
	if r := w.run(t, "state", "ls").want(t, exitOK); r.stdout != "" {
		t.Errorf("left behind: %q", r.stdout)
	}
	w.run(t, "state", "resume", "--all").want(t, exitOK)
}

func TestStateByName(t *testing.T) {
	for _, by := range []string{"path", "dest", "source"} {
		state := t.TempDir()
		_, source, _ := halfway(t, state)
		entries, err := journal.Open(state).List()
		if err != nil || len(entries) != 1 {
			t.Fatalf("%v, %v", entries, err)
		}
		name := map[string]string{"path": entries[0].Path, "dest": "s3://bucket/a b", "source": source}[by]
		if r := (world{}).run(t, "state", "resume", name, "--state-dir", state).want(t, exitOK); !strings.Contains(r.stdout, "resumed: ") {
			t.Errorf("by its %s: %q", by, r.stdout)
		}
	}
}

func TestStateRm(t *testing.T) {
	state := t.TempDir()
	f, _, _ := halfway(t, state)
	r := world{}.run(t, "state", "rm", "s3://bucket/a b", "--state-dir", state).want(t, exitOK)
	want := "abort:  chunkup uploads abort 's3://bucket/a b' --upload-id U1 --endpoint-url " + f.URL + " --provider minio --state-dir " + state + "\n"
	if !strings.HasPrefix(r.stdout, "removed "+state) || !strings.HasSuffix(r.stderr, want) || len(f.unfinished()) != 1 {
		t.Errorf("%q, %q, %v", r.stdout, r.stderr, f.unfinished())
	}
	if left, _ := journal.Open(state).List(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	world{}.run(t, "state", "rm", "s3://bucket/a b", "--state-dir", state).want(t, exitUsage)
}

// writeJournal makes a journal in the folder, as an upload that has ended leaves it.
func writeJournal(t *testing.T, dir *journal.Dir, r journal.Record) *journal.Claim {
	t.Helper()
	c, err := dir.Claim(r.Endpoint, r.Bucket, r.Key)
	if err == nil {
		err = c.Save(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Release() })
	return c
}

func record(endpoint, key, id string, s journal.State) journal.Record {
	return journal.Record{State: s, Endpoint: endpoint, Bucket: "bucket", Key: key, Token: "T", UploadID: id,
		Source: journal.Source{}, Plan: chunker.Plan{}, Command: []string{"chunkup", "cp", "-", "s3://bucket/" + key}}
}

// What cannot be resumed is said, and is a failure if it was asked for by name.
func TestNotResumable(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		state journal.State
		live  bool
		says  string
	}{
		{journal.Uploading, false, "from a stream"},
		{journal.Uploading, true, "is being uploaded right now"},
	} {
		dir := journal.Open(t.TempDir())
		claim := writeJournal(t, dir, record("http://store.example", "key", "U1", c.state))
		if !c.live {
			if err := claim.Release(); err != nil {
				t.Fatal(err)
			}
		}
		r := world{}.run(t, "state", "resume", "s3://bucket/key", "--state-dir", dir.Path()).want(t, exitFailed)
		if !strings.Contains(r.stderr, c.says) {
			t.Errorf("standard error %q does not say %q", r.stderr, c.says)
		}
		world{}.run(t, "state", "resume", "--all", "--state-dir", dir.Path()).want(t, exitOK)
		if c.live {
			world{}.run(t, "state", "rm", "s3://bucket/key", "--state-dir", dir.Path()).want(t, exitFailed).oneLine(t, "is running in this process")
			if r := (world{}).run(t, "state", "ls", "--state-dir", dir.Path()).want(t, exitOK); !strings.Contains(r.stdout, "uploading, live") || strings.Contains(r.stdout, "abort: ") {
				t.Errorf("standard output %q", r.stdout)
			}
		}
	}
}

// A journal that cannot be read is told of, and no reason to give up.
func TestBadJournal(t *testing.T) {
	state := t.TempDir()
	_, _, _ = halfway(t, state)
	entries, _ := journal.Open(state).List()
	if err := os.WriteFile(filepath.Join(state, strings.Repeat("0", 64)+filepath.Ext(entries[0].Path)), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := world{}.run(t, "state", "ls", "--state-dir", state).want(t, exitOK)
	if !strings.Contains(r.stdout, "cannot be used") || !strings.Contains(r.stdout, "resume: ") {
		t.Errorf("standard output %q", r.stdout)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	world{ctx: ctx}.run(t, "state", "resume", "--all", "--state-dir", state).want(t, exitInterrupted)
}
