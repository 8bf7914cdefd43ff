package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

var _ inFile = (*chunker.Reader)(nil)

// filed is a source in a file, which counts what is read of it.
type filed struct {
	file   *os.File
	offset int64
	read   atomic.Int64
	asked  int // how often File was called
}

func (f *filed) File() (*os.File, int64, int64) {
	f.asked++
	return f.file, f.offset, math.MaxInt32
}

func (f *filed) Skip(n int64) { f.offset += n }

func (f *filed) Read(p []byte) (int, error) {
	n, err := f.file.ReadAt(p, f.offset)
	f.offset += int64(n)
	f.read.Add(int64(n))
	return n, err
}

// file makes a file of so many bytes that nobody could guess, which is in memory
// whatever the file systems of the machine.
func file(t *testing.T, size int) (*os.File, []byte) {
	t.Helper()
	fd, err := unix.MemfdCreate("source", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "source")
	t.Cleanup(func() { f.Close() })
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(content)
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	return f, content
}

// keeping returns a server that keeps the last body it got.
func keeping(t *testing.T, secure bool) (s *httptest.Server, client *Client, got *[]byte) {
	got = new([]byte)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		*got, _ = io.ReadAll(r.Body)
	}))
	o := Options{Limits: Limits{Answer: 5 * time.Second}}
	if secure {
		s.StartTLS()
		o.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	client = NewClient(o)
	t.Cleanup(client.CloseIdle)
	return s, client, got
}

// What lies in a file goes to a plain connection without being read, but for the piece
// that the head leaves with; all of it arrives, once and in its order.
func TestFileIsSentUnread(t *testing.T) {
	f, content := file(t, 3<<20)
	for _, secure := range []bool{false, true} {
		s, client, got := keeping(t, secure)
		for _, size := range []int{1, 4 << 10, bufferSize - headSize, bufferSize, bufferSize + 1, 64 << 10, sendFileSize + 1, 1<<20 + 3, 3<<20 - 7} {
			source, progress := &filed{file: f, offset: 7}, 0
			answer, err := client.Do(t.Context(), Request{Method: "PUT", URL: s.URL + "/b/k", Size: int64(size),
				Body: source, Progress: func(n int) { progress += n }})
			if err != nil || !bytes.Equal(*got, content[7:7+size]) {
				t.Fatalf("TLS %v, %d bytes: %d arrived, or others: %v", secure, size, len(*got), err)
			}
			if answer.Sent != int64(size) || progress != size || source.offset != int64(7+size) {
				t.Errorf("TLS %v, %d bytes: %d sent, progress of %d, at %d", secure, size, answer.Sent, progress, source.offset)
			}
			if want := int64(min(size, bufferSize)); secure && source.read.Load() != int64(size) || !secure && source.read.Load() > want {
				t.Errorf("TLS %v, %d bytes: %d were read", secure, size, source.read.Load())
			}
		}
	}
}

// asked says what file systems answer to the question whether a file is in memory.
func asked(t *testing.T, f *os.File) (answers, tmpfs bool) {
	t.Helper()
	var of unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &of); err != nil {
		t.Fatal(err)
	}
	_, err := unix.Preadv2(int(f.Fd()), [][]byte{make([]byte, 1)}, 0, unix.RWF_NOWAIT)
	return err != unix.EOPNOTSUPP, of.Type == unix.TMPFS_MAGIC
}

// forgotten returns a new file that the kernel was told to forget.
func forgotten(t *testing.T, size int) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	err := f.Sync()
	for range 3 { // not all at once, if pages wait in the lists of another processor
		err = errors.Join(err, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// What is not known to be in memory is not sent so: it is read, and the clocks stand
// still meanwhile.
func TestOnlyWhatIsInMemoryIsSentUnread(t *testing.T) {
	const size = 1 << 20
	c, _ := sockets(t)
	sends := func(f *os.File, offset int64) bool {
		w, _ := newWatch(Limits{})
		source := &filed{file: f, offset: offset}
		return (&body{source: source, left: 100, watch: w}).sendTo(c.raw, source, 100) > 0
	}
	f := forgotten(t, size)
	answers, tmpfs := asked(t, f)
	for tries := 1; ; tries++ {
		if f = forgotten(t, size); sends(f, size-100) == tmpfs {
			break
		}
		if tries == 10 {
			t.Fatalf("of what the kernel forgot, sent: %v, want %v", !tmpfs, tmpfs)
		}
	}
	if _, err := io.Copy(io.Discard, f); err != nil {
		t.Fatal(err)
	}
	if sends(f, size-100) != (answers || tmpfs) {
		t.Error("what was read just now is not sent")
	}
	if sends(open(t, "/proc/version"), 0) {
		t.Error("a file was sent of which nobody knows where it is")
	}
	f.Close()
	if sends(f, 0) {
		t.Error("a closed file was sent")
	}
}

// After a miss all is read up to the byte that was asked for: the question itself has
// made the kernel fetch that one.
func TestAMissIsReadToItsEnd(t *testing.T) {
	c, _ := sockets(t)
	w, _ := newWatch(Limits{})
	f, _ := file(t, 1000)
	source := &filed{file: f}
	b := &body{source: source, left: 1000, watch: w, readTo: 200}
	for _, want := range []int64{0, 0, 300} {
		if n := b.sendTo(c.raw, source, 300); n != want {
			t.Errorf("from %d on %d bytes were sent, want %d", source.offset, n, want)
		}
		source.offset += 100
	}
	missed := &filed{file: open(t, "/proc/version")}
	b = &body{source: missed, left: 1 << 20, watch: w}
	if b.sendTo(c.raw, missed, 100); b.readTo != math.MaxInt64 {
		t.Errorf("where there is no answer, the question is asked again at %d", b.readTo)
	}
}

// A file that became shorter is read to where it ends, which the source tells of.
func TestShorterFileIsTold(t *testing.T) {
	f, _ := file(t, 1<<20)
	s, client, _ := keeping(t, false)
	if err := f.Truncate(600_000); err != nil {
		t.Fatal(err)
	}
	source := &filed{file: f}
	answer, err := client.Do(t.Context(), Request{Method: "PUT", URL: s.URL + "/b/k", Size: 1 << 20, Body: source})
	if !errors.Is(err, io.ErrUnexpectedEOF) || source.offset != 600_000 || answer.Sent > 600_000 {
		t.Errorf("%d sent, the source is at %d: %v", answer.Sent, source.offset, err)
	}
}

// scripted is a server whose every connection is played by script until the test ends.
func scripted(t *testing.T, script func(net.Conn)) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var active sync.WaitGroup
	active.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			script(c)
			defer c.Close()
		}
		<-done
	})
	t.Cleanup(func() {
		l.Close()
		close(done)
		active.Wait()
	})
	return "http://" + l.Addr().String()
}

// Where the head goes ahead, nothing is read; that the body was begun without the
// server's consent is noted all the same.
func TestAllIsSentUnreadBehindAHead(t *testing.T) {
	f, content := file(t, 200_000)
	got := make(chan []byte, 1)
	url := scripted(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(req.Body)
		got <- body
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	client, source := NewClient(Options{}), &filed{file: f}
	defer client.CloseIdle()
	answer, err := client.Do(t.Context(), Request{Method: "PUT", URL: url + "/b/k", Size: 200_000, Body: source, Expect: true})
	if err != nil || answer.Sent != 200_000 || !answer.NoContinue {
		t.Fatalf("%+v: %v", answer, err)
	}
	if !bytes.Equal(<-got, content) || source.read.Load() != 0 {
		t.Errorf("other bytes arrived, or %d were read", source.read.Load())
	}
}

// Nobody waits for a kernel that waits for a server which takes no more: neither when
// the bytes stand still, nor when an answer has overtaken them.
func TestSendingUnreadEnds(t *testing.T) {
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, current) })
	f, _ := file(t, 32<<20)
	for _, test := range []struct {
		name, answer string
		check        func(Answer, error) bool
	}{
		{"a stall", "", func(_ Answer, err error) bool {
			late, ok := errors.AsType[*DeadlineError](err)
			return ok && late.Phase == PhaseStall
		}},
		{"an answer", "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n", func(a Answer, err error) bool {
			_, ok := errors.AsType[*StoreError](err)
			return ok && a.Status == 503
		}},
		{"a success", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", func(a Answer, err error) bool {
			return err == nil && a.Status == 200
		}},
	} {
		url := scripted(t, func(c net.Conn) {
			io.ReadFull(c, make([]byte, 100_000))
			io.WriteString(c, test.answer)
		})
		client := NewClient(Options{Limits: Limits{Stall: 500 * time.Millisecond}})
		source, said := &filed{file: f}, atomic.Int64{}
		answer, err := client.Do(t.Context(), Request{Method: "PUT", URL: url + "/b/k", Size: 32 << 20, Body: source,
			Progress: func(n int) { said.Add(int64(n)) }})
		at, told := source.offset, said.Load()
		if !test.check(answer, err) || answer.Elapsed > 10*time.Second || answer.Sent > at {
			t.Errorf("%s: %+v, the source is at %d: %v", test.name, answer, at, err)
		}
		if source.read.Load() > 2*bufferSize || told != at { // once more when the connection is closed
			t.Errorf("%s: %d bytes were read, progress of %d, %d taken", test.name, source.read.Load(), told, at)
		}
		client.CloseIdle()
	}
}

// When the attempt is over the source is left alone.
func TestSendingUnreadStops(t *testing.T) {
	f, _ := file(t, 1000)
	c, _ := sockets(t)
	w, _ := newWatch(Limits{})
	source, said := &filed{file: f}, 0
	b := &body{source: source, left: 1000, watch: w, progress: func(n int) { said += n }}
	if n := b.sendTo(c.raw, source, 600); n != 600 || source.offset != 600 || b.left != 400 || said != 600 {
		t.Fatalf("%d bytes were sent, the source is at %d, %d are left, progress of %d", n, source.offset, b.left, said)
	}
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	asked := source.asked
	if n := b.sendTo(c.raw, source, 600); n != 0 || source.asked != asked || source.offset != 600 || b.left != 400 || said != 600 {
		t.Errorf("%d bytes after the end, the source is at %d, %d are left, progress of %d", n, source.offset, b.left, said)
	}
}
