package chunker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// fixed is a growth that does not.
func fixed(size int64, parts int) chunker.Growth {
	return chunker.Growth{First: size, Max: size, Parts: parts}
}

// content returns the bytes of a piece.
func content(t interface{ Fatal(...any) }, p *chunker.Piece) []byte {
	b, err := io.ReadAll(p.Part.Reader(p))
	if err != nil || int64(len(b)) != p.Part.Size {
		t.Fatal(p.Part, len(b), err)
	}
	return b
}

// cutAll cuts the whole stream, and checks what holds of any: numbers, offsets,
// sizes, the mark of the last, and that the end stays the end.
func cutAll(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, c *chunker.Cutter, g chunker.Growth) (sizes []int64, data []byte, err error) {
	for n := 1; ; n++ {
		p, last, err := c.Next(context.Background())
		if err != nil {
			if _, _, again := c.Next(context.Background()); again != err || p != nil || last {
				t.Fatalf("%v, then %v; %v, %t", err, again, p, last)
			}
			return sizes, data, err
		}
		part := p.Part
		if part.Number != n || part.Offset != int64(len(data)) || part.Size > g.PartSize(n) || !last && part.Size != g.PartSize(n) || part.Size == 0 && n > 1 {
			t.Fatalf("part %d after %d bytes: %+v, last %t", n, len(data), part, last)
		}
		data = append(data, content(t, p)...)
		p.Release()
		sizes = append(sizes, part.Size)
		if c.Size() != int64(len(data)) {
			t.Fatalf("size %d after %d bytes", c.Size(), len(data))
		}
		if last {
			if _, _, err := c.Next(context.Background()); err != io.EOF {
				t.Fatal("after the last:", err)
			}
		}
	}
}

// script is a reader of data in reads of these sizes, over and over; 0 is a read
// that brings nothing. Its end comes with the last bytes, or after them, and then
// it must not be read any more.
type script struct {
	data     []byte
	sizes    []int
	together bool
	end      error
	ended    bool
	reads    int
}

func (s *script) Read(b []byte) (int, error) {
	if s.ended {
		return 0, errors.New("read after its end")
	}
	n := copy(b[:min(len(b), s.sizes[s.reads%len(s.sizes)])], s.data)
	s.reads++
	s.data = s.data[n:]
	if len(s.data) == 0 && (n == 0 || s.together) {
		s.ended = true
		return n, s.end
	}
	return n, nil
}

// Whatever the reads bring, the pieces are the stream, each as large as planned,
// and all that fits is taken while nothing else is.
func TestCutterPieces(t *testing.T) {
	defer goleak.VerifyNone(t)
	stream := noise(400)
	rapid.Check(t, func(t *rapid.T) {
		g := chunker.Growth{
			First: rapid.Int64Range(1, 30).Draw(t, "first"),
			Every: rapid.IntRange(0, 3).Draw(t, "every"),
			Max:   rapid.Int64Range(1, 100).Draw(t, "max"),
			Parts: rapid.IntRange(1, 10).Draw(t, "parts"),
		}
		if rapid.Bool().Draw(t, "bounded") {
			g.Object = rapid.Int64Range(1, g.Capacity()).Draw(t, "object")
		}
		capacity := int(g.Capacity())
		data := stream[:min(len(stream), rapid.OneOf(rapid.IntRange(0, 400), rapid.IntRange(max(0, capacity-1), capacity+1)).Draw(t, "size"))]
		r := &script{
			data:     data,
			sizes:    append(rapid.SliceOfN(rapid.IntRange(0, 50), 0, 5).Draw(t, "reads"), 1),
			together: rapid.Bool().Draw(t, "together"),
			end:      io.EOF,
		}
		m := chunker.NewMemory(max(g.First, g.Max) + rapid.Int64Range(0, 5000).Draw(t, "memory"))
		c := chunker.NewCutter(r, g, m)
		defer c.Close()
		_, got, err := cutAll(t, c, g)
		if !m.Free(m.Limit()) {
			t.Fatal("memory is still held")
		}
		if len(data) > capacity {
			if limit, ok := errors.AsType[*chunker.LimitError](err); !ok || limit.Value != limit.Limit+1 || len(got) >= capacity || !bytes.HasPrefix(data, got) {
				t.Fatalf("%d bytes of %d into %+v: %d bytes, %v", len(data), capacity, g, len(got), err)
			}
			return
		}
		if err != io.EOF || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes into %+v: %d bytes, %v", len(data), g, len(got), err)
		}
	})
}

func TestCutterSizes(t *testing.T) {
	g := chunker.Growth{First: 10, Every: 2, Max: 30, Parts: 6}
	for size, want := range map[int][]int64{
		0:   {0},
		1:   {1},
		10:  {10},
		11:  {10, 1},
		60:  {10, 10, 20, 20},
		61:  {10, 10, 20, 20, 1},
		120: {10, 10, 20, 20, 30, 30},
	} {
		c := chunker.NewCutter(iotest.OneByteReader(bytes.NewReader(noise(size))), g, chunker.NewMemory(30))
		if got, data, err := cutAll(t, c, g); !slices.Equal(got, want) || !bytes.Equal(data, noise(size)) || err != io.EOF {
			t.Errorf("%d: got %d, %v; want %d", size, got, err, want)
		}
	}
}

// A growth that holds nothing takes the empty stream, whose end is read once, and
// no other as if it were that.
func TestCutterOfNothing(t *testing.T) {
	var g chunker.Growth
	for data, ended := range map[string]bool{"": true, "a": false, "ab": false} {
		for _, together := range []bool{false, true} {
			r := &script{data: []byte(data), sizes: []int{1}, together: together, end: io.EOF}
			sizes, _, err := cutAll(t, chunker.NewCutter(r, g, chunker.NewMemory(10)), g)
			if _, long := errors.AsType[*chunker.LimitError](err); (err == io.EOF) != ended || long == ended || ended != slices.Equal(sizes, []int64{0}) {
				t.Errorf("%q, end together %t: %d, %v", data, together, sizes, err)
			}
		}
	}
}

// R18 (https://github.com/owncloud/ocis/issues/10775): the limit of parts ended
// the stream as if it were its end. R11
// (https://github.com/aws/aws-cli/issues/6120): part 10,001 was sent.
func TestR18PartLimitIsNoEnd(t *testing.T) {
	for name, c := range map[string]struct {
		size, want int64
		parts      int
		err        string
	}{
		"R18, not pinned": {60 * mib, 0, 10, "EOF"},
		"R18, it fits":    {50 * mib, 5 * mib, 10, "EOF"},
		"R18, pinned": {60 * mib, 5 * mib, 10, "number of parts of 11 is above the maximum of 10: " +
			"the stream is longer than the 52428800 bytes (50 MiB) that fit below the store's part limit; " +
			"it needs parts of at least 6291456 bytes (6 MiB) (--part-size), or say how long it is (--expected-size)"},
		"R11": {400 * mib, 0, 20, "EOF"},
		"more memory": {1300 * mib, 128 * mib, 10, "number of parts of 11 is above the maximum of 10: " +
			"the stream is longer than the 1342177280 bytes (1.25 GiB) that fit below the store's part limit; " +
			"it needs parts of at least 135266304 bytes (129 MiB) (--part-size), or say how long it is (--expected-size), " +
			"and memory of at least 270532608 bytes (258 MiB) (--memory)"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := chunker.PlanStream(0, c.want, 256*mib, chunker.Limits{MaxParts: c.parts}, false)
			if err != nil {
				t.Fatal(err)
			}
			cutter := chunker.NewCutter(io.LimitReader(still{}, c.size), g, chunker.NewMemory(256*mib))
			defer cutter.Close()
			pieces := 0
			for err = nil; err == nil; pieces++ {
				var p *chunker.Piece
				if p, _, err = cutter.Next(t.Context()); err == nil {
					p.Release()
				}
			}
			if err.Error() != c.err || pieces > c.parts+1 || err == io.EOF && cutter.Size() != c.size {
				t.Errorf("%d pieces, %d bytes: %v\nwant %s", pieces-1, cutter.Size(), err, c.err)
			}
		})
	}
	g := chunker.Growth{First: 10, Max: 10, Parts: 10, Object: 15}
	_, _, err := cutAll(t, chunker.NewCutter(strings.NewReader("more than 15 bytes"), g, chunker.NewMemory(100)), g)
	if err == nil || err.Error() != "object size of 16 bytes is above the maximum of 15 bytes: the stream is longer than an object may be" {
		t.Error(err)
	}
}

// still is a stream without end that costs no time.
type still struct{}

func (still) Read(b []byte) (int, error) { return len(b), nil }

// R37 (https://github.com/apache/opendal/issues/2904): parts cut at whatever the
// reader returned are refused by stores that want them equal.
func TestR37PartsAreFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := noise(41 << 10)
		r, w := io.Pipe()
		go func() {
			rest, random := data, rand.New(rand.NewPCG(1, 2))
			for len(rest) > 0 {
				n := min(1+random.IntN(7<<10), len(rest))
				if _, err := w.Write(rest[:n]); err != nil {
					t.Error(err)
				}
				rest = rest[n:]
				time.Sleep(time.Duration(random.IntN(4)) * time.Millisecond)
			}
			w.Close()
		}()
		limits := chunker.Limits{MinPart: 5 << 10, MaxPart: 5 << 20, MaxParts: 10_000}
		g, err := chunker.PlanStream(0, 0, 64<<10, limits, true)
		if err != nil {
			t.Fatal(err)
		}
		sizes, got, err := cutAll(t, chunker.NewCutter(r, g, chunker.NewMemory(64<<10)), g)
		if want := []int64{8 << 10, 8 << 10, 8 << 10, 8 << 10, 8 << 10, 1 << 10}; !slices.Equal(sizes, want) || !bytes.Equal(got, data) || err != io.EOF {
			t.Errorf("got %d, %v; want %d", sizes, err, want)
		}
	})
}

// R22 (https://github.com/aws/aws-sdk-go/issues/780): io.ErrUnexpectedEOF from
// the source was taken for the end.
func TestR22OnlyEOFEndsAStream(t *testing.T) {
	defer goleak.VerifyNone(t)
	const size = 17 << 10
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		script script
		err    string
		is     error
	}{
		"unexpected EOF together": {script{sizes: []int{300}, together: true, end: io.ErrUnexpectedEOF}, "read the source at byte 17408: unexpected EOF", io.ErrUnexpectedEOF},
		"unexpected EOF after":    {script{sizes: []int{1 << 20}, end: io.ErrUnexpectedEOF}, "read the source at byte 17408: unexpected EOF", io.ErrUnexpectedEOF},
		"another error":           {script{sizes: []int{512}, end: broken}, "read the source at byte 17408: broken", broken},
		"wrapped EOF":             {script{sizes: []int{512}, end: errors.Join(io.EOF)}, "read the source at byte 17408: EOF", io.EOF},
		"EOF together":            {script{sizes: []int{300}, together: true, end: io.EOF}, "EOF", io.EOF},
		"200 empty reads":         {script{sizes: append(make([]int, 200), 300), end: io.EOF}, "EOF", io.EOF},
		"999 empty reads":         {script{sizes: append(make([]int, 999), 300), end: io.EOF}, "EOF", io.EOF},
		"1000 empty reads":        {script{sizes: append([]int{1, 299}, make([]int, 1000)...), end: io.EOF}, "read the source at byte 300: multiple Read calls return no data or error", io.ErrNoProgress},
	} {
		// 1 KiB and 17 KiB end a piece, 5 KiB ends within one.
		for _, part := range []int64{1 << 10, 5 << 10, size} {
			r := c.script
			r.data = noise(size)
			g, m := fixed(part, 100), chunker.NewMemory(64<<10)
			sizes, data, err := cutAll(t, chunker.NewCutter(&r, g, m), g)
			_, read := errors.AsType[*chunker.ReadError](err)
			if err.Error() != c.err || !errors.Is(err, c.is) || read == (err == io.EOF) || !bytes.HasPrefix(noise(size), data) || err == io.EOF && len(data) != size {
				t.Errorf("%s, parts of %d: %d, %v", name, part, sizes, err)
			}
			if !m.Free(64 << 10) {
				t.Errorf("%s, parts of %d: memory is still held", name, part)
			}
		}
	}
}

// reader is a reader that does what a function says.
type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// What breaks the contract of a reader ends the stream with an error: it neither
// ends the process nor invents bytes.
func TestCutterSurvivesTheReader(t *testing.T) {
	defer goleak.VerifyNone(t)
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		read reader
		err  string
	}{
		"too many":            {func(b []byte) (int, error) { return len(b) + 1, nil }, "read the source at byte 0: the reader returned a count that is impossible: 2 of 1 bytes"},
		"negative":            {func(b []byte) (int, error) { return -1, io.EOF }, "read the source at byte 0: the reader returned a count that is impossible: -1 of 1 bytes"},
		"nothing":             {func(b []byte) (int, error) { return 0, nil }, "read the source at byte 0: multiple Read calls return no data or error"},
		"panic":               {func(b []byte) (int, error) { panic("oops") }, "read the source at byte 0: the reader panicked: oops"},
		"panic with an error": {func(b []byte) (int, error) { panic(cause) }, "read the source at byte 0: the reader panicked: cause"},
		"goexit":              {func(b []byte) (int, error) { runtime.Goexit(); return 0, nil }, "read the source at byte 0: the reader ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			g, m := fixed(10, 1), chunker.NewMemory(10<<10)
			_, _, err := cutAll(t, chunker.NewCutter(c.read, g, m), g)
			if err.Error() != c.err || !m.Free(10<<10) {
				t.Errorf("got %v, all memory free %t\nwant %s", err, m.Free(10<<10), c.err)
			}
			if p, ok := errors.AsType[*chunker.PanicError](err); ok && !bytes.Contains(p.Stack, []byte("TestCutterSurvivesTheReader")) {
				t.Errorf("stack %s", p.Stack)
			}
			if errors.Is(err, cause) != strings.HasSuffix(c.err, "cause") {
				t.Error("the cause is hidden")
			}
		})
	}
}
