//go:build !windows

package journal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// runChild has another process of this binary do a job in a folder, and returns
// what it says.
func runChild(t *testing.T, job string, d *Dir) string {
	t.Helper()
	out, err := child(t, job, d).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", job, err, out)
	}
	return string(out)
}

func child(t *testing.T, job string, d *Dir) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, d.Path())
	cmd.Env = append(os.Environ(), childKey+"="+job, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// runJob is the child's side of it.
func runJob(job string, d *Dir) {
	map[string]func(*Dir){"save": childSave, "full": childFull, "readonly": childReadOnly, "unreadable": childUnreadable}[job](d)
}

// must ends a child that cannot do its job.
func must(err error) {
	if err != nil {
		fmt.Println("child:", err)
		os.Exit(1)
	}
}

// A disk full while a record is written. A small file system would need the
// right to mount one, and no test may depend on that; a limit on the size of
// files makes the kernel refuse the same write, in the middle, for everybody and
// root too. It is a process's own and cannot be taken back, hence the child.
func TestDiskFull(t *testing.T) {
	d := Open(t.TempDir())
	c := mustClaim(t, d)
	old := validRecord(t)
	mustSave(t, c, old)
	mustRelease(t, c)
	out := runChild(t, "full", d)
	if !strings.Contains(out, "journal "+c.Path()) || !strings.Contains(out, "free space there") || !strings.Contains(out, "file too large") {
		t.Errorf("the error is %q", out)
	}
	mustHold(t, d, file(".json"))
	c = mustClaim(t, d)
	got, ok := c.Record()
	if !ok || len(got.Parts) != len(old.Parts) || c.Warning() != nil {
		t.Errorf("got %+v, %v", got, c.Warning())
	}
	for _, err := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if text := (&WriteError{Path: "/p", Err: err}).Error(); !strings.Contains(text, "free space there") {
			t.Error(text)
		}
	}
}

func childFull(d *Dir) {
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}))
	c, err := d.Claim(endpoint, bucket, key)
	must(err)
	r, ok := c.Record()
	if !ok {
		must(errors.New("no record"))
	}
	r.Metadata = map[string]string{"long": strings.Repeat("x", 1<<20)}
	err = c.Save(r)
	if _, ok := errors.AsType[*WriteError](err); !ok {
		must(fmt.Errorf("not a *WriteError: %v", err))
	}
	fmt.Println(err)
	must(c.Release())
}

// publicDir returns a folder that other users can reach and write to, which the
// one for tests need not be.
func publicDir(t *testing.T) *Dir {
	t.Helper()
	path, err := os.MkdirTemp("/tmp", "journal-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mustChmod(t, path, 0o700)
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	mustChmod(t, path, 0o777)
	return Open(path)
}

func mustChmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// A folder that is not ours to write to. Root may write everywhere, so that the
// child is nobody.
func TestReadOnlyFolder(t *testing.T) {
	d := publicDir(t)
	c := mustClaim(t, d)
	mustSave(t, c, validRecord(t))
	mustRelease(t, c)
	mustChmod(t, d.Path(), 0o555)
	out := runChild(t, "readonly", d)
	if !strings.Contains(out, "journal "+c.Path()) || !strings.Contains(out, "make its folder writable") || !strings.Contains(out, "permission denied") {
		t.Errorf("the error is %q", out)
	}
	mustHold(t, d, file(".json"))
}

func childReadOnly(d *Dir) {
	if os.Getuid() == 0 {
		must(syscall.Setuid(65534))
	}
	_, err := d.Claim(endpoint, bucket, key)
	if _, ok := errors.AsType[*WriteError](err); !ok {
		must(fmt.Errorf("not a *WriteError: %v", err))
	}
	fmt.Println(err)
	if !d.Exists(endpoint, bucket, key) {
		must(errors.New("the journal is not seen"))
	}
}

// A pipe under the journal's name is set aside, not waited for.
func TestPipe(t *testing.T) {
	d := Open(t.TempDir())
	if err := syscall.Mkfifo(d.journal(file("")), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := mustClaim(t, d); c.Warning() == nil {
		t.Error("no warning")
	}
}

// A journal that cannot be read may be good: it is not moved, and nobody starts
// afresh over it.
func TestUnreadable(t *testing.T) {
	d := publicDir(t)
	c := mustClaim(t, d)
	mustSave(t, c, validRecord(t))
	mustRelease(t, c)
	mustChmod(t, c.Path(), 0)
	if out := runChild(t, "unreadable", d); !strings.Contains(out, "permission denied") {
		t.Errorf("the error is %q", out)
	}
	mustHold(t, d, file(".json"))
}

func childUnreadable(d *Dir) {
	if os.Getuid() == 0 {
		must(syscall.Setuid(65534))
	}
	list, err := d.List()
	must(err)
	if len(list) != 1 || list[0].Err == nil {
		must(fmt.Errorf("listed %+v", list))
	}
	if c, err := d.Claim(endpoint, bucket, key); err != nil {
		fmt.Println(err)
	} else {
		must(fmt.Errorf("claimed, with %v", c.Warning()))
	}
}
