package chunker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

// next is Next where nothing may go wrong.
func next(t *testing.T, c *chunker.Cutter) (*chunker.Piece, bool) {
	t.Helper()
	p, last, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p, last
}

// Streams are served in the order in which they asked, a small part not before a
// large one, and one that waits holds nothing.
func TestMemoryIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := chunker.NewMemory(100)
		cutter := func(part int64) *chunker.Cutter { return chunker.NewCutter(still{}, fixed(part, 10), m) }
		first, _ := next(t, cutter(60))
		served := make(chan int64, 3)
		ask := func(size int64) {
			go func() {
				p, _ := next(t, cutter(size))
				served <- size
				time.Sleep(time.Second)
				p.Release()
			}()
			synctest.Wait()
		}
		ask(60)
		ask(10) // for which there is room
		ask(100)
		if len(served) != 0 {
			t.Errorf("%d did not wait for its turn", <-served)
		}
		first.Release()
		synctest.Wait()
		if len(served) != 2 || <-served == 100 || <-served == 100 {
			t.Error("the first two were not served")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(served) != 1 || !m.Free(100) {
			t.Error("the last was not served")
		}
	})
}

// Streams that are silent hold no memory, so that others go on; once they have
// something, they are served as well.
func TestMemoryIsNotForSilentStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const part, streams = 16 << 10, 16
		m := chunker.NewMemory(part * streams)
		served := make(chan string, streams)
		var writers []*io.PipeWriter
		for range streams {
			r, w := io.Pipe()
			writers = append(writers, w)
			go func() {
				c := chunker.NewCutter(r, fixed(part, 10), m)
				defer c.Close()
				p, _ := next(t, c)
				defer p.Release()
				served <- string(content(t, p))
			}()
		}
		synctest.Wait()
		if !m.Free(m.Limit()) {
			t.Error("silent streams hold memory")
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		loud := chunker.NewCutter(bytes.NewReader(noise(100)), fixed(part, 10), m)
		p, last, err := loud.Next(ctx)
		if err != nil || !last || time.Since(start) != 0 {
			t.Errorf("after %v: %v, last %t", time.Since(start), err, last)
		}
		if err == nil {
			p.Release()
		}
		for _, w := range writers {
			if _, err := w.Write([]byte("at last")); err != nil {
				t.Error(err)
			}
			w.Close()
		}
		for range streams {
			if got := <-served; got != "at last" {
				t.Errorf("got %q", got)
			}
		}
		synctest.Wait()
		if !m.Free(m.Limit()) {
			t.Error("memory is still held")
		}
	})
}

// Two streams that need more together than there is both end.
func TestMemoryIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := chunker.NewMemory(100 << 10)
		for i := range 4 {
			go func() {
				data := noise(500_000 + i)
				var got []byte
				c := chunker.NewCutter(bytes.NewReader(data), fixed(50<<10, 100), m)
				defer c.Close()
				for last := false; !last; {
					var p *chunker.Piece
					p, last = next(t, c)
					time.Sleep(time.Second)
					got = append(got, content(t, p)...)
					p.Release()
				}
				if !bytes.Equal(got, data) {
					t.Error("other bytes")
				}
			}()
		}
		time.Sleep(time.Hour)
		if !m.Free(100 << 10) {
			t.Error("memory is still held")
		}
	})
}

// A short stream gives back what it does not need, at once.
func TestMemoryOfAShortStream(t *testing.T) {
	m := chunker.NewMemory(256 * mib)
	p, last := next(t, chunker.NewCutter(strings.NewReader("ten bytes."), fixed(16*mib, 10), m))
	if !last || m.Block() != 256*kib || !m.Free(256*mib-m.Block()) {
		t.Errorf("last %t, a block of %d", last, m.Block())
	}
	p.Release()
	p.Release() // does nothing
	if !m.Free(256 * mib) {
		t.Error("memory is not free, or more than all is")
	}
}

func TestMemoryTooSmall(t *testing.T) {
	for _, limit := range []int64{99, 1, 0, -1} {
		m := chunker.NewMemory(limit)
		_, _, err := chunker.NewCutter(still{}, fixed(100, 10), m).Next(t.Context())
		if e, ok := errors.AsType[*chunker.LimitError](err); !ok || e.What != "memory" || e.Value != max(limit, 0) || e.Limit != 100 || m.Limit() != max(limit, 0) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	m := chunker.NewMemory(100)
	if _, _, err := chunker.NewCutter(still{}, fixed(100, 10), m).Next(t.Context()); err != nil {
		t.Error(err)
	}
}

// blocking is a reader that brings some bytes and then blocks until it is let go;
// only then does it write into the buffer that it was given.
type blocking struct {
	bytes int
	gate  chan struct{}
}

func (r *blocking) Read(b []byte) (int, error) {
	if r.bytes > 0 {
		n := min(len(b), r.bytes)
		r.bytes -= n
		return n, nil
	}
	<-r.gate
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

var errCause = errors.New("cause")

// endings are how a Next that waits can be ended.
var endings = map[string]struct {
	end func(*chunker.Cutter, context.CancelCauseFunc)
	err error
}{
	"cancel": {func(_ *chunker.Cutter, cancel context.CancelCauseFunc) { cancel(errCause) }, errCause},
	"close": {func(c *chunker.Cutter, _ context.CancelCauseFunc) {
		c.Close()
		c.Close() // does nothing
	}, chunker.ErrClosed},
}

// Next returns at once although the reader blocks, all memory but the block that
// the reader has is free again, and what the reader writes in the end is in no
// other stream's piece.
func TestCutterLeavesAReader(t *testing.T) {
	for name, ending := range endings {
		for _, ready := range []int{0, 10, 2000, 4096, 10_000} { // 10,000: a piece, and no byte after it
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := chunker.NewMemory(64 << 10)
					r := &blocking{bytes: ready, gate: make(chan struct{})}
					c := chunker.NewCutter(r, fixed(10_000, 5), m)
					ctx, cancel := context.WithCancelCause(t.Context())
					start := time.Now()
					time.AfterFunc(time.Second, func() { ending.end(c, cancel) })
					p, _, err := c.Next(ctx)
					if p != nil || err != ending.err || time.Since(start) != time.Second {
						t.Fatalf("got %v, %v after %v", p, err, time.Since(start))
					}
					free := m.Limit() - m.Block()
					if ready == 0 || ready == 10_000 {
						free = m.Limit() // only the byte before or after the piece is being read
					}
					if !m.Free(free) {
						t.Error("more memory is held than one block, or less")
					}

					// While the reader awakes, another stream uses the blocks.
					data := noise(50_000)
					other := chunker.NewCutter(bytes.NewReader(data), fixed(10_000, 5), m)
					close(r.gate)
					_, got, err := cutAll(t, other, fixed(10_000, 5))
					if !bytes.Equal(got, data) || err != io.EOF {
						t.Error("another stream's bytes changed,", err)
					}
					synctest.Wait()
					if _, _, again := c.Next(t.Context()); again != ending.err || !m.Free(m.Limit()) || c.Size() != 0 {
						t.Errorf("then %v, %d bytes", again, c.Size())
					}
				})
			})
		}
	}
}

// A Next that waits for memory takes none when it is ended.
func TestCutterLeavesTheQueue(t *testing.T) {
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := chunker.NewMemory(100)
				p, _ := next(t, chunker.NewCutter(still{}, fixed(60, 5), m))
				c := chunker.NewCutter(still{}, fixed(60, 5), m)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { ending.end(c, cancel) })
				if _, _, err := c.Next(ctx); err != ending.err {
					t.Errorf("got %v, want %v", err, ending.err)
				}
				if !m.Free(40) {
					t.Error("it holds memory")
				}
				p.Release()
				if !m.Free(100) {
					t.Error("memory is still held")
				}
			})
		})
	}
}

// A cancelled call reads nothing, not a byte; the end of the stream outlives Close.
func TestCutterEnded(t *testing.T) {
	r := strings.NewReader("abc")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := chunker.NewCutter(r, fixed(60, 5), chunker.NewMemory(100)).Next(ctx)
		synctest.Wait() // for what may read
		if err != context.Canceled || r.Len() != 3 {
			t.Errorf("cancelled: %v, %d bytes left", err, r.Len())
		}
	})
	c := chunker.NewCutter(r, fixed(60, 5), chunker.NewMemory(100))
	p, last := next(t, c)
	c.Close()
	if got := content(t, p); !last || string(got) != "abc" {
		t.Errorf("closed: %q, last %t", got, last)
	}
	if _, _, err := c.Next(t.Context()); err != io.EOF {
		t.Error("ended and closed:", err)
	}
	c = chunker.NewCutter(r, fixed(60, 5), chunker.NewMemory(100))
	c.Close()
	if _, _, err := c.Next(t.Context()); err != chunker.ErrClosed {
		t.Error("closed:", err)
	}
}

func TestPieceReadAt(t *testing.T) {
	data := noise(3000)
	c := chunker.NewCutter(bytes.NewReader(data), fixed(1000, 3), chunker.NewMemory(10_000)) // blocks of 156 bytes
	next(t, c)
	p, _ := next(t, c)
	for from := 1000; from <= 2000; from += 50 {
		for size := 0; size <= 1100; size += 50 {
			b := make([]byte, size)
			n, err := p.ReadAt(b, int64(from))
			want := min(size, 2000-from)
			if n != want || (err == io.EOF) != (n < size) || err != nil && err != io.EOF || !bytes.Equal(b[:n], data[from:from+n]) {
				t.Fatalf("%d bytes at %d: %d, %v", size, from, n, err)
			}
		}
	}
	b := make([]byte, 1)
	if n, err := p.ReadAt(b, 5000); n != 0 || err != io.EOF {
		t.Errorf("after it: %d, %v", n, err)
	}
	if n, err := p.ReadAt(b, 999); n != 0 || err == nil || err.Error() != "read part 2 of a stream at 999: the offset lies before the piece" {
		t.Errorf("before it: %d, %v", n, err)
	}
	late := p.Part.Reader(p)
	p.Release()
	if n, err := late.Read(b); n != 0 || err == nil || !strings.Contains(err.Error(), "part 2 of a stream: the piece was released") {
		t.Errorf("released: %d, %v", n, err)
	}
}
