package chunker_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/chunkup/chunkup/chunker"
	"pgregory.net/rapid"
)

func TestReaderContract(t *testing.T) {
	src := strings.NewReader("0123456789")
	for _, c := range []struct {
		part chunker.Part
		want string
	}{
		{chunker.Part{}, ""},
		{chunker.Part{Offset: 10}, ""},
		{chunker.Part{Offset: 3, Size: 4}, "3456"},
		{chunker.Part{Offset: 7, Size: 3}, "789"},
		{chunker.Part{Size: -1}, ""},
	} {
		if err := iotest.TestReader(c.part.Reader(src), []byte(c.want)); err != nil {
			t.Errorf("%+v: %v", c.part, err)
		}
	}
}

// R20 (https://github.com/restic/restic/issues/1351): the second attempt sent
// only what the first had left.
func TestReaderIsFresh(t *testing.T) {
	src := strings.NewReader("0123456789")
	part := chunker.Part{Number: 2, Offset: 4, Size: 4}
	first := part.Reader(src)
	if _, err := io.ReadFull(first, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(part.Reader(src)); string(got) != "4567" || err != nil {
		t.Errorf("second reader gave %q, %v", got, err)
	}
	if got, err := io.ReadAll(first); string(got) != "7" || err != nil {
		t.Errorf("first reader went on with %q, %v", got, err)
	}
}

// The readers of all parts give the object, whatever the sizes of the reads.
func TestReadersTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "data")
		p := chunker.Plan{Size: int64(len(data)), PartSize: rapid.Int64Range(1, 210).Draw(t, "part size")}
		buf := make([]byte, rapid.IntRange(1, 50).Draw(t, "buffer"))
		var got []byte
		for part := range p.Parts() {
			var n int
			var err error
			for r := part.Reader(bytes.NewReader(data)); err == nil; {
				n, err = r.Read(buf)
				got = append(got, buf[:n]...)
			}
			if err != io.EOF {
				t.Fatalf("%+v: %v", part, err)
			}
		}
		if !bytes.Equal(got, data) {
			t.Fatalf("got %x, want %x", got, data)
		}
	})
}

// readerAtFunc fails as a test wishes.
type readerAtFunc func([]byte, int64) (int, error)

func (f readerAtFunc) ReadAt(b []byte, off int64) (int, error) { return f(b, off) }

func TestReaderFailures(t *testing.T) {
	broken := errors.New("the disk is on fire")
	for name, c := range map[string]struct {
		src    readerAtFunc
		read   string
		offset int64
		cause  error
		text   string
	}{
		"disk": {
			func(b []byte, off int64) (int, error) { return copy(b, "abc"), broken },
			"abc", 103, broken, "read the source at byte 103: the disk is on fire",
		},
		"ended": {
			func(b []byte, off int64) (int, error) { return copy(b, "ab"), io.EOF },
			"ab", 102, io.ErrUnexpectedEOF, "the source ended at byte 102, before its size at the start was reached: unexpected EOF",
		},
		"ended before the part": {
			func(b []byte, off int64) (int, error) { return 0, io.EOF },
			"", 100, io.ErrUnexpectedEOF, "the source ended at byte 100, before its size at the start was reached: unexpected EOF",
		},
		"breaks the contract": {
			func(b []byte, off int64) (int, error) { return 0, nil },
			"", 100, io.ErrUnexpectedEOF, "the source ended at byte 100, before its size at the start was reached: unexpected EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(chunker.Part{Offset: 100, Size: 10}.Reader(c.src))
			re, ok := errors.AsType[*chunker.ReadError](err)
			if !ok || string(got) != c.read || re.Offset != c.offset || !errors.Is(err, c.cause) || err.Error() != c.text {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// A source may say io.EOF together with its last bytes.
func TestReaderIgnoresEOFWithTheLastByte(t *testing.T) {
	src := readerAtFunc(func(b []byte, off int64) (int, error) { return len(b), io.EOF })
	if got, err := io.ReadAll(chunker.Part{Offset: 100, Size: 10}.Reader(src)); len(got) != 10 || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestReaderNeverReadsBeyond(t *testing.T) {
	src := readerAtFunc(func(b []byte, off int64) (int, error) {
		if off < 100 || off+int64(len(b)) > 110 {
			t.Errorf("read %d bytes at %d", len(b), off)
		}
		return len(b), nil
	})
	if n, err := io.Copy(io.Discard, chunker.Part{Offset: 100, Size: 10}.Reader(src)); n != 10 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestNewReaderAt(t *testing.T) {
	src := chunker.NewReaderAt(strings.NewReader("0123456789"), 4)
	if src.Size() != 4 || src.Changed() != nil {
		t.Errorf("size %d, changed %v", src.Size(), src.Changed())
	}
	if got, err := io.ReadAll(io.NewSectionReader(src, 0, 100)); string(got) != "0123" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := chunker.NewPlan(chunker.NewReaderAt(nil, -1).Size(), 0, chunker.Limits{}); err == nil {
		t.Error("a negative size was planned")
	}
}

// What is read, and what is skipped because it was sent from the file at the offset
// that the reader names, gives the part.
func TestReaderOfAFile(t *testing.T) {
	const content = "0123456789abcdef"
	src := tempFile(t, content)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(content)).Draw(t, "offset")
		size := rapid.IntRange(0, len(content)-from).Draw(t, "size")
		r := chunker.Part{Offset: int64(from), Size: int64(size)}.Reader(src)
		var got []byte
		for len(got) < size {
			b := make([]byte, rapid.IntRange(1, size-len(got)).Draw(t, "bytes"))
			if rapid.Bool().Draw(t, "read") {
				n, err := r.Read(b)
				if got = append(got, b[:n]...); err != nil {
					t.Fatal(err)
				}
				continue
			}
			file, offset, left := r.File()
			if _, err := file.ReadAt(b, offset); err != nil || left != int64(size-len(got)) {
				t.Fatalf("%d left of %d: %v", left, size-len(got), err)
			}
			got = append(got, b...)
			r.Skip(int64(len(b)))
		}
		if string(got) != content[from:from+size] {
			t.Fatalf("got %q, want %q", got, content[from:from+size])
		}
		r.Skip(-1)
		r.Skip(1)
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("%d bytes behind the part: %v", n, err)
		}
	})
	if file, _, _ := (chunker.Part{Size: 1}).Reader(strings.NewReader(content)).File(); file != nil {
		t.Errorf("a string lies in %v", file.Name())
	}
}
