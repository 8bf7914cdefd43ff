package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// stream uploads what r gives.
func (l *lab) stream(t *testing.T, r io.Reader, expected int64) (multipart.Result, error) {
	t.Helper()
	return l.uploader(t, l.Mem, l.Mem).UploadStream(t.Context(), object, r, expected)
}

// A stream becomes the object whatever its reads are like, in one PUT if it ends
// before the threshold.
func TestStream(t *testing.T) {
	for _, size := range []int{0, 1, 64*kib - 1, 64 * kib, 64*kib + 1, 10 * 64 * kib, 10*64*kib + 7} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader,
			"end with the data": iotest.DataErrReader,
		} {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(size)
				l.options.Threshold = 64 * kib
				r, err := l.stream(t, wrap(bytes.NewReader(body)), 0)
				if err != nil || r.Size != int64(size) {
					t.Fatalf("%s, %d bytes: %+v, %v", name, size, r, err)
				}
				l.stored(t, body)
				if single := size < 64*kib; single != (r.Parts == 0) || single != (l.Count(wire.Create) == 0) {
					t.Errorf("%s, %d bytes: %+v", name, size, r)
				}
			})
		}
	}
}

// A stream that fails is not published, whatever it fails with, and nothing of it
// is left.
//
// R22, https://github.com/aws/aws-sdk-go/issues/780
func TestStreamFails(t *testing.T) {
	for _, cause := range []error{io.ErrUnexpectedEOF, io.ErrClosedPipe, errors.New("the disk")} {
		for _, size := range []int{0, 10, 5 * 64 * kib, 5*64*kib + 10} {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				l.options.Threshold = 64 * kib
				r := io.MultiReader(bytes.NewReader(randomBytes(size)), iotest.ErrReader(cause))
				_, err := l.stream(t, r, 0)
				if _, read := errors.AsType[*chunker.ReadError](err); !read || !errors.Is(err, cause) {
					t.Errorf("%d bytes: err = %v", size, err)
				}
				l.wantRequests(t, wire.Complete, 0)
				l.wantRequests(t, wire.PutObject, 0)
				l.nothing(t)
			})
		}
	}
}

// A stream with more bytes than its parts can have is refused before Complete, and
// the error says what would do.
//
// R18, https://github.com/owncloud/ocis/issues/10775
func TestStreamIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		traits := l.Traits()
		traits.Limits = chunker.Limits{MinPart: 64 * kib, MaxParts: 10}
		l.SetTraits(traits)
		_, err := l.stream(t, bytes.NewReader(randomBytes(12*64*kib)), 0) // the part size is pinned
		if _, limit := errors.AsType[*chunker.LimitError](err); !limit || !strings.Contains(err.Error(), "part limit") {
			t.Errorf("err = %v", err)
		}
		l.wantRequests(t, wire.Complete, 0)
		if l.Count(wire.Abort) == 0 {
			t.Error("it was not aborted")
		}
		l.nothing(t)
	})
}

// Parts of a stream are sent again from memory.
func TestStreamRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(20*64*kib)
		l.options.Memory = 4 * 64 * kib
		l.Script(storetest.Fault{Op: wire.PutPart, Every: 3, Reset: true, After: 1000}, storetest.Fault{Op: wire.PutPart, Every: 4, Status: 503})
		_, err := l.stream(t, iotest.OneByteReader(bytes.NewReader(body)), 0)
		if err != nil {
			t.Fatal(err)
		}
		l.stored(t, body)
	})
}

// No more than the memory is in flight, however many lanes there are.
func TestStreamStaysInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.Memory = 3 * 64 * kib
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: 10 * time.Second})
		body := randomBytes(9 * 64 * kib)
		read := &counted{r: bytes.NewReader(body)}
		time.AfterFunc(5*time.Second, func() {
			if n := read.n.Load(); n > 4*64*kib {
				t.Errorf("%d bytes were read, and nothing was sent", n)
			}
		})
		if _, err := l.stream(t, read, 0); err != nil {
			t.Fatal(err)
		}
		l.stored(t, body)
	})
}

type counted struct {
	r io.Reader
	n atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// A cancel ends the upload of a stream that gives nothing.
func TestStreamThatHangsIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		pr, pw := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			pw.Write(randomBytes(3 * 64 * kib))
			time.Sleep(time.Minute)
			cancel()
		}()
		start := time.Now()
		_, err := l.uploader(t, l.Mem, l.Mem).UploadStream(ctx, object, pr, 0)
		if !errors.Is(err, context.Canceled) || time.Since(start) > time.Minute+time.Second {
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
		l.nothing(t)
		pw.Close()
	})
}

// The journal of a stream is there to clean up: the next upload to the destination
// drops what it tells of.
func TestStreamJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		gone, _ := k.Mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "key"})
		claim, err := k.dir.Claim("http://mem", "bucket", "key")
		if err != nil {
			t.Fatal(err)
		}
		err = claim.Save(journal.Record{State: journal.Uploading, Endpoint: "http://mem", Bucket: "bucket", Key: "key",
			Token: "t", UploadID: gone.ID, Started: time.Now()})
		if err := errors.Join(err, claim.Release()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.stream(t, bytes.NewReader(k.body), 0); err != nil {
			t.Fatal(err)
		}
		k.warned(t, "a stream cannot be read again")
		k.finished(t, nil)
	})
}
