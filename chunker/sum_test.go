package chunker_test

import (
	"bytes"
	"errors"
	"hash/crc64"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/chunkup/chunkup/chunker"
	"pgregory.net/rapid"
)

// nvme is CRC64NVME by the standard library, which is slow and surely right.
var nvme = crc64.MakeTable(0x9a6c9329ac4bc9b5)

// noise returns n bytes that look random and are always the same.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// The assembler of the fast hash has its own paths at several lengths and
// alignments.
func TestCRC64NVMEAgainstStandardLibrary(t *testing.T) {
	data := noise(8 << 10)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(data)).Draw(t, "from")
		to := rapid.IntRange(from, len(data)).Draw(t, "to")
		h := chunker.CRC64NVME.New()
		for rest := data[from:to]; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			h.Write(rest[:n])
			rest = rest[n:]
		}
		want := crc64.New(nvme)
		want.Write(data[from:to])
		if got := h.Sum(nil); !bytes.Equal(got, want.Sum(nil)) {
			t.Fatalf("bytes %d to %d: %x, want %x", from, to, got, want.Sum(nil))
		}
	})
}

// Longer than one buffer, in reads of every kind, and for each algorithm twice
// in turn, so that a hash kept from the last call shows.
func TestSumReadsAll(t *testing.T) {
	data := noise(600_000)
	for _, a := range append(algorithms, algorithms...) {
		h := a.New()
		h.Write(data)
		want, err := chunker.NewDigest(a, h.Sum(nil))
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]io.Reader{
			"whole":      bytes.NewReader(data),
			"half reads": iotest.HalfReader(bytes.NewReader(data)),
			"EOF early":  iotest.DataErrReader(bytes.NewReader(data)),
			"part":       chunker.Part{Size: int64(len(data))}.Reader(bytes.NewReader(data)),
		} {
			if got, err := chunker.Sum(r, a); got != want || err != nil {
				t.Errorf("%s of %s: %v, %v; want %v", a, name, got, err, want)
			}
		}
	}
}

func TestSumReturnsTheReadersError(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken))
	if d, err := chunker.Sum(r, chunker.MD5); err != broken || !d.IsZero() {
		t.Errorf("got %v, %v", d, err)
	}
	// What it had hashed is not in the next digest.
	if d, err := chunker.Sum(strings.NewReader(""), chunker.MD5); d.Hex() != "d41d8cd98f00b204e9800998ecf8427e" || err != nil {
		t.Errorf("then %v, %v", d, err)
	}
}

func TestSumOfNoneReadsNothing(t *testing.T) {
	if d, err := chunker.Sum(iotest.ErrReader(errors.New("was read")), chunker.None); !d.IsZero() || err != nil {
		t.Errorf("got %v, %v", d, err)
	}
}

// One pass gives what a Sum for each would, in the order asked for.
func TestSumMany(t *testing.T) {
	data := noise(600_000)
	as := []chunker.Algorithm{chunker.SHA256, chunker.None, chunker.CRC32C, chunker.SHA256, chunker.MD5}
	for range 2 { // a hash kept from the last call shows
		r := iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(data)))
		got, err := chunker.SumMany(r, as...)
		if err != nil || len(got) != len(as) {
			t.Fatal(got, err)
		}
		for i, a := range as {
			if want, err := chunker.Sum(bytes.NewReader(data), a); got[i] != want || err != nil {
				t.Errorf("%s: %v, %v; want %v", a, got[i], err, want)
			}
		}
	}

	broken := errors.New("broken")
	if got, err := chunker.SumMany(iotest.ErrReader(broken), as...); err != broken || got != nil {
		t.Errorf("broken: %v, %v", got, err)
	}
	if got, err := chunker.SumMany(iotest.ErrReader(broken)); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	if got, err := chunker.SumMany(iotest.ErrReader(broken), chunker.None); err != nil || len(got) != 1 || !got[0].IsZero() {
		t.Errorf("of none: %v, %v", got, err)
	}
	mustPanic(t, func() { chunker.SumMany(strings.NewReader(""), chunker.MD5, chunker.Algorithm(9)) })
}

func TestSumIsConcurrent(t *testing.T) {
	data := noise(10_000)
	var wg sync.WaitGroup
	for i := range 40 {
		a := algorithms[i%len(algorithms)]
		want, err := chunker.Sum(bytes.NewReader(data[i:]), a)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if got, err := chunker.Sum(bytes.NewReader(data[i:]), a); got != want || err != nil {
				t.Errorf("%s: %v, %v; want %v", a, got, err, want)
			}
		})
	}
	wg.Wait()
}

func BenchmarkSum(b *testing.B) {
	data := noise(16 << 20)
	for _, a := range algorithms {
		b.Run(a.String(), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			r := bytes.NewReader(data)
			for b.Loop() {
				r.Reset(data)
				if _, err := chunker.Sum(r, a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
