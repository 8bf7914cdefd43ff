package integration

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
)

// frugal is the command, which a ledger and the system watch.
type frugal struct {
	path string
	env  []string
}

func newFrugal(t *testing.T) *frugal {
	t.Helper()
	return &frugal{path: command(t), env: environment(t, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "GOMEMLIMIT=300MiB")}
}

// copies runs cp and fails the test unless it ends well within so many bytes of
// resident memory.
func (f *frugal) copies(t *testing.T, most int, stdin io.Reader, l *ledger, args ...string) {
	t.Helper()
	cmd := exec.Command(f.path, append([]string{"cp", "--provider=minio", "--endpoint-url=" + l.url}, args...)...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = f.env, stdin, &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := watchMemory(t, cmd.Process.Pid)
	err := cmd.Wait()
	kb := peak()
	if err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	t.Logf("%v, peak resident memory %d kB of %d", time.Since(start).Round(time.Millisecond), kb, most>>10)
	if kb > most>>10 {
		t.Errorf("peak resident memory %d kB, want at most %d", kb, most>>10)
	}
}

// piped runs cp with a real pipe for its standard input, into which the source is
// written as cat would.
func (f *frugal) piped(t *testing.T, most int, src check.Source, l *ledger, args ...string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, bytesOf(src), make([]byte, 128*kib))
		w.Close()
		written <- err
	}()
	defer r.Close()
	f.copies(t, most, r, l, args...)
	if err := <-written; err != nil {
		t.Errorf("the pipe was not read to its end: %v", err)
	}
	l.holds(t, "/bucket/key", src.Size())
}

// sparse makes a file of zeros that takes no room.
func sparse(t *testing.T, name string, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Truncate(size)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// https://github.com/Altinity/clickhouse-backup/issues/153: parts of 1 GiB took 50 GB
// of memory, because it was part size × concurrency × copies, for each upload. Files
// are read in place here, and all streams share one bound.
func TestR15Memory(t *testing.T) {
	f := newFrugal(t)
	t.Run("a file in large parts", func(t *testing.T) {
		l := newLedger(t, check.Source{})
		f.copies(t, 150*mib, nil, l, "--part-size=256MiB", "-c8", sparse(t, "file", 4*gib), "s3://bucket/key")
		l.holds(t, "/bucket/key", 4*gib)
	})
	t.Run("many files at once", func(t *testing.T) {
		const n, size = 50, 100 * mib
		l := newLedger(t, check.Source{})
		args := []string{"--memory=128MiB", fmt.Sprint("--workers=", n)}
		for i := range n {
			args = append(args, sparse(t, fmt.Sprint("file-", i), size))
		}
		f.copies(t, 128*mib+64*mib, nil, l, append(args, "s3://bucket/")...)
		for i := range n {
			l.holds(t, fmt.Sprint("/bucket/file-", i), size)
		}
	})
}

// The same of a stream.
func TestR15MemoryOfStream(t *testing.T) { largeParts(t, newFrugal(t), 512*mib) }

// largeParts uploads a stream of which no more than two parts fit in memory.
func largeParts(t *testing.T, f *frugal, size int64) {
	src := check.Pattern(size)
	l := newLedger(t, src)
	f.piped(t, 128*mib+64*mib, src, l, "--memory=128MiB", "--part-size=64MiB", "-c8", "-", "s3://bucket/key")
}

// A pipe of any length stays small.
func TestPipeStaysSmall(t *testing.T) { pipeStaysSmall(t, newFrugal(t), 512*mib) }

func pipeStaysSmall(t *testing.T, f *frugal, size int64) {
	src := check.Pattern(size)
	l := newLedger(t, src)
	f.piped(t, 200e6, src, l, "--memory=128MiB", "-", "s3://bucket/key")
}
