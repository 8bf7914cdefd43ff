//go:build !windows

package journal

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A process is killed at any moment of endless saves, again and again. What is
// on the disk is always a whole record, no older than the last one that Save had
// returned for; the lock is free at once, and the next claim clears up.
func TestKilled(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 8
	}
	d := Open(t.TempDir())
	left, last := 0, 0
	for n := 0; n < rounds || left == 0 && n < 10*rounds; n++ {
		saved, pid := killOne(t, d)
		got, err := d.read(file(""))
		if err != nil {
			t.Fatalf("killed after save %d: %v", saved, err)
		}
		n, err := strconv.Atoi(got.UploadID)
		if err != nil || n < saved || n <= last || got.PID != pid || len(got.Parts) != n%500 {
			t.Fatalf("after save %d by %d there is %q by %d with %d parts", saved, pid, got.UploadID, got.PID, len(got.Parts))
		}
		files, err := os.ReadDir(d.Path())
		if err != nil {
			t.Fatal(err)
		}
		left, last = left+len(files)-2, n
		c := mustClaim(t, d)
		if r, ok := c.Record(); !ok || r.UploadID != got.UploadID || c.Warning() != nil {
			t.Fatalf("claimed %q, %v", r.UploadID, c.Warning())
		}
		mustHold(t, d, file(".json"), file(".lock"))
		mustRelease(t, c)
	}
	if left == 0 {
		t.Error("no kill was in the middle of a save")
	}
	t.Logf("%d kills, %d saves, %d half-written files", rounds, last, left)
}

// killOne starts a process that saves, kills it some time after its first save,
// and returns its last save that it told of.
func killOne(t *testing.T, d *Dir) (saved, pid int) {
	t.Helper()
	cmd := child(t, "save", d)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the child says %q", lines.Text())
		}
		if saved == 0 {
			// It must be locked now, by that process.
			_, err := d.Claim(endpoint, bucket, key)
			if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != cmd.Process.Pid {
				t.Fatalf("got %v while process %d has it", err, cmd.Process.Pid)
			}
			time.AfterFunc(rand.N(10*time.Millisecond), func() { _ = cmd.Process.Kill() })
		}
		saved = n
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return saved, cmd.Process.Pid
}

// childSave saves records of changing sizes and tells of each.
func childSave(d *Dir) {
	c, err := d.Claim(endpoint, bucket, key)
	must(err)
	r, ok := c.Record()
	n := 0
	if ok {
		n, err = strconv.Atoi(r.UploadID)
		must(err)
	}
	r = Record{State: Uploading, Endpoint: endpoint, Bucket: bucket, Key: key, Token: "t"}
	for {
		n++
		r.UploadID, r.Parts = strconv.Itoa(n), nil
		for i := range n % 500 {
			r.Parts = append(r.Parts, Part{Number: i + 1, Size: 1 << 20, ETag: "e"})
		}
		must(c.Save(r))
		fmt.Println(n)
	}
}
