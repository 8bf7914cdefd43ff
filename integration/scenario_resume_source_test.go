//go:build unix

package integration

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// killed is an upload of 12 parts that was killed when 5 had been answered.
type killed struct {
	*resumeLab
	src  check.Source // what the file holds now
	file string       // what the next run uploads
	id   string       // of the upload
}

const killedBytes = 96 * mib

func newKilled(t *testing.T, command string) *killed {
	t.Helper()
	k := &killed{resumeLab: newResumeLab(t, command), src: check.Random(t, killedBytes)}
	k.file = check.TempFile(t, k.src)
	var run atomic.Pointer[resumeRun]
	var passed atomic.Int64
	begun := make(chan struct{})
	k.proxy.Watch(func(m faultproxy.Moment, q faultproxy.Request) bool {
		if m == faultproxy.Passed && q.Op == faultproxy.PutPart && passed.Add(1) == 5 {
			<-begun
			run.Load().kill()
		}
		return true
	})
	run.Store(k.start(t, nil, k.cp(k.file)...))
	close(begun)
	if code := run.Load().ended(t); code != -1 {
		t.Fatalf("it ended by itself, with %d: %s", code, run.Load().stderr.String())
	}
	k.quiet(t)
	k.proxy.Watch(func(faultproxy.Moment, faultproxy.Request) bool { return true })
	if open, kept := k.uploads(t, "key"), k.journals(t); len(open) != 1 || len(kept) != 1 || kept[0].Record.UploadID != open[0] || kept[0].Live {
		t.Fatalf("uploads %v are open, journals %+v", open, kept)
	}
	k.id = k.uploads(t, "key")[0]
	return k
}

// rewrite puts other bytes into the file, past its old ones, or into a new file.
func rewrite(t *testing.T, path string, src check.Source) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(f, io.NewSectionReader(src, 0, src.Size()))
	if cerr := f.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

// edit changes the journal's file.
func (k *killed) edit(t *testing.T, f func([]byte) []byte) {
	t.Helper()
	path := k.journals(t)[0].Path
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// change is what happens to the file or the journal between two runs.
type change struct {
	name    string
	do      func(*testing.T, *killed)
	most    int  // parts that may be sent again; 12: none may be kept
	creates int  // uploads that are begun besides the killed one
	lost    bool // the journal, and with it what it owned
}

var changes = []change{
	{name: "a: rewritten, with the old size and time", do: rewriteAsOld, most: 12},
	{name: "b: another file renamed onto the path", most: 12, do: func(t *testing.T, k *killed) {
		k.src = check.Random(t, killedBytes)
		if err := os.Rename(check.TempFile(t, k.src), k.file); err != nil {
			t.Fatal(err)
		}
	}},
	// Of the 7 that are left, those in flight may have arrived.
	{name: "c: untouched", most: 7, do: func(*testing.T, *killed) {}},
	{name: "d: touched", most: 7, do: func(t *testing.T, k *killed) {
		later := time.Now().Add(time.Second)
		if err := os.Chtimes(k.file, later, later); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "e: journal cut", most: 12, creates: 1, lost: true, do: func(t *testing.T, k *killed) {
		k.edit(t, func(text []byte) []byte { return text[:len(text)/2] })
	}},
	{name: "e: journal of another version", most: 12, creates: 1, lost: true, do: func(t *testing.T, k *killed) {
		k.edit(t, func(text []byte) []byte {
			other := journalVersion.ReplaceAll(text, []byte(`${1}99`))
			if bytes.Equal(text, other) {
				t.Fatalf("the journal tells no version: %.100s", text)
			}
			return other
		})
	}},
	{name: "f: another source", most: 12, creates: 1, do: func(t *testing.T, k *killed) {
		k.src = check.Random(t, killedBytes)
		k.file = check.TempFile(t, k.src)
	}},
}

var journalVersion = regexp.MustCompile(`^(\s*\{\s*"version":\s*)1\b`)

// A resume after a crash mixed two revisions of the local file, because only the
// remote session was looked at (R23,
// https://github.com/abraunegg/onedrive/issues/3861). Killed with kill -9 after 5 of 12
// parts, an upload always becomes the file as it is now, and what is the same is not
// sent again.
func TestR23ResumeIsOfTheFileAsItIsNow(t *testing.T) {
	path := command(t)
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			k := newKilled(t, path)
			c.do(t, k)
			before := k.proxy.Requests()
			r := k.run(t, k.cp(k.file)...)
			if c.lost {
				k.cleanedUp(t, r)
			}
			k.holds(t, k.src)
			sent, creates := 0, 0
			for _, q := range k.proxy.Requests()[len(before):] {
				switch q.Op {
				case faultproxy.PutPart:
					sent++
				case faultproxy.Create:
					creates++
				}
			}
			if sent > c.most || c.most == 12 && sent < 12 || creates != c.creates {
				t.Errorf("%d parts were sent again and %d uploads begun, want at most %d and %d: %s", sent, creates, c.most, c.creates, r.stderr.String())
			}
		})
	}
}

// rewriteAsOld is what a tool does that keeps times, or a clock that was put back.
func rewriteAsOld(t *testing.T, k *killed) {
	old, err := os.Stat(k.file)
	if err != nil {
		t.Fatal(err)
	}
	k.src = check.Random(t, killedBytes)
	rewrite(t, k.file, k.src)
	if err := os.Chtimes(k.file, old.ModTime(), old.ModTime()); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(k.file); err != nil || now.Size() != old.Size() || !now.ModTime().Equal(old.ModTime()) || !os.SameFile(now, old) {
		t.Fatalf("the file does not look as before: %v", err)
	}
}

// cleanedUp removes what a journal that cannot be read had owned. The id of its
// upload cannot be known any more, so the next run leaves it alone: it is the
// cleanup that drops it, and the user who deletes what was set aside.
func (k *killed) cleanedUp(t *testing.T, r *resumeRun) {
	t.Helper()
	if open := k.uploads(t, "key"); len(open) != 1 || open[0] != k.id {
		t.Errorf("uploads %v are open, want that of the lost journal, %s", open, k.id)
	}
	aside, err := filepath.Glob(filepath.Join(k.state, "*.bad-*"))
	if err != nil || len(aside) != 1 || !bytes.Contains(r.stderr.Bytes(), []byte(aside[0])) {
		t.Fatalf("set aside: %q, %v; the command says %s", aside, err, r.stderr.String())
	}
	k.run(t, "uploads", "cleanup", "--max-age=0s", "--state-dir", k.state, k.dest())
	if err := os.Remove(aside[0]); err != nil {
		t.Error(err)
	}
}

// The journal is ahead of the store: what an effect needs to be found again is on
// disk before the request is sent (R23, https://github.com/abraunegg/onedrive/issues/3861).
func TestR23JournalComesFirst(t *testing.T) {
	l := newLab(t, wire.Limits{})
	dir := journal.Open(t.TempDir())
	l.options.Journal = dir
	want := map[faultproxy.Op]journal.State{faultproxy.Create: journal.Creating, faultproxy.PutPart: journal.Uploading, faultproxy.Complete: journal.Completing}
	var looked atomic.Int64
	l.proxy.Watch(func(m faultproxy.Moment, q faultproxy.Request) bool {
		if state, ok := want[q.Op]; ok && m == faultproxy.Arrived {
			looked.Add(1)
			list, err := dir.List()
			if err != nil || len(list) != 1 || list[0].Err != nil || !list[0].Live || list[0].Record.Token == "" ||
				list[0].Record.State != state || list[0].Record.UploadID != q.UploadID {
				t.Errorf("when %v %d arrives the journals are %+v, %v", q.Op, q.Part, list, err)
			}
		}
		return true
	})
	l.uploaded(t, check.Random(t, 15*mib), requests{creates: 1, parts: 3, completes: 1})
	if list, err := dir.List(); err != nil || len(list) != 0 || looked.Load() != 5 {
		t.Errorf("journals are left: %+v, %v, after %d looks", list, err, looked.Load())
	}
}
