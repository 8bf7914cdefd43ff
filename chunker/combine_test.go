package chunker_test

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/crc64"
	"math"
	"slices"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"pgregory.net/rapid"
)

var combining = []chunker.Algorithm{chunker.CRC64NVME, chunker.CRC32C, chunker.CRC32}

// checksum is the digest of data by the standard library.
func checksum(t interface{ Fatal(...any) }, a chunker.Algorithm, data []byte) chunker.Digest {
	var sum []byte
	switch a {
	case chunker.CRC64NVME:
		sum = binary.BigEndian.AppendUint64(nil, crc64.Checksum(data, nvme))
	case chunker.CRC32C:
		sum = binary.BigEndian.AppendUint32(nil, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	case chunker.CRC32:
		sum = binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
	case chunker.MD5:
		array := md5.Sum(data)
		sum = array[:]
	}
	d, err := chunker.NewDigest(a, sum)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCombineAnySplit(t *testing.T) {
	data := noise(4096)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(combining).Draw(t, "algorithm")
		from := rapid.IntRange(0, len(data)).Draw(t, "from")
		to := rapid.IntRange(from, len(data)).Draw(t, "to")
		split := rapid.IntRange(from, to).Draw(t, "split")
		got, err := chunker.Combine(checksum(t, a, data[from:split]), checksum(t, a, data[split:to]), int64(to-split))
		if want := checksum(t, a, data[from:to]); got != want || err != nil {
			t.Fatalf("%d, %d, %d: %v, %v; want %v", from, split, to, got, err, want)
		}
	})
}

// Data too long to be had: combining is associative, whatever the lengths.
func TestCombineAssociates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom(combining).Draw(t, "algorithm")
		draw := func(name string) chunker.Digest {
			d, err := chunker.NewDigest(algorithm, rapid.SliceOfN(rapid.Byte(), algorithm.Size(), algorithm.Size()).Draw(t, name))
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		combine := func(a, b chunker.Digest, sizeB int64) chunker.Digest {
			d, err := chunker.Combine(a, b, sizeB)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		sizeB := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "size of b")
		sizeC := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "size of c")
		left := combine(combine(a, b, sizeB), c, sizeC)
		right := combine(a, combine(b, c, sizeC), sizeB+sizeC)
		if left != right {
			t.Fatalf("%v, %v", left, right)
		}
	})
}

// A length of many bits, against a hash of so many zero bytes.
func TestCombineLong(t *testing.T) {
	zeros := make([]byte, 3<<20+12345)
	for _, a := range combining {
		got, err := chunker.Combine(checksum(t, a, []byte("abc")), checksum(t, a, zeros), int64(len(zeros)))
		if want := checksum(t, a, append([]byte("abc"), zeros...)); got != want || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
}

func TestWholeIsSum(t *testing.T) {
	data := noise(256)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(combining).Draw(t, "algorithm")
		p := chunker.Plan{Size: rapid.Int64Range(0, int64(len(data))).Draw(t, "size")}
		p.PartSize = rapid.Int64Range(p.Size/20+1, p.Size+1).Draw(t, "part size")
		var parts []chunker.Digest
		for part := range p.Parts() {
			d, err := chunker.Sum(part.Reader(bytes.NewReader(data)), a)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, d)
		}
		before := slices.Clone(parts)
		got, err := chunker.Whole(p, parts)
		if want := checksum(t, a, data[:p.Size]); got != want || err != nil {
			t.Fatalf("%+v: %v, %v; want %v", p, got, err, want)
		}
		if !slices.Equal(parts, before) {
			t.Fatal("Whole changed its argument")
		}
	})
}

// Join gives the digest of the concatenation for pieces of any sizes, and what
// Whole gives for those of a plan.
func TestJoinIsSum(t *testing.T) {
	data := noise(2000)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(combining).Draw(t, "algorithm")
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 100), rapid.Just(int64(50))), 1, 20).Draw(t, "sizes")
		var digests []chunker.Digest
		end := int64(0)
		for _, size := range sizes {
			digests = append(digests, checksum(t, a, data[end:end+size]))
			end += size
		}
		got, err := chunker.Join(sizes, digests)
		if want := checksum(t, a, data[:end]); got != want || err != nil {
			t.Fatalf("%d: %v, %v; want %v", sizes, got, err, want)
		}

		p := chunker.Plan{Size: end, PartSize: max(end/10, rapid.Int64Range(1, 2000).Draw(t, "part size"))}
		sizes, digests = nil, nil
		for part := range p.Parts() {
			sizes = append(sizes, part.Size)
			digests = append(digests, checksum(t, a, data[part.Offset:part.Offset+part.Size]))
		}
		joined, err := chunker.Join(sizes, digests)
		if whole, errWhole := chunker.Whole(p, digests); joined != whole || joined != got || err != nil || errWhole != nil {
			t.Fatalf("%+v: %v, %v; whole %v, %v", p, joined, err, whole, errWhole)
		}
	})
}

func TestComposite(t *testing.T) {
	for _, a := range algorithms {
		var parts []chunker.Digest
		h := a.New()
		for _, data := range []string{"first", "second", "third"} {
			d, err := chunker.Sum(bytes.NewReader([]byte(data)), a)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, d)
			h.Write(d.Bytes())
		}
		want, err := chunker.NewDigest(a, h.Sum(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := chunker.Composite(parts); got != want || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	// Of one part, too, it is the hash of its hash: not the hash itself.
	part := checksum(t, chunker.MD5, []byte("only"))
	if got, err := chunker.Composite([]chunker.Digest{part}); err != nil || got != checksum(t, chunker.MD5, part.Bytes()) || got == part {
		t.Errorf("%v, %v", got, err)
	}
}

func TestCombiningRefuses(t *testing.T) {
	sum := func(a chunker.Algorithm) chunker.Digest {
		d, err := chunker.Sum(bytes.NewReader(nil), a)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	crc, other, sha, none := sum(chunker.CRC32), sum(chunker.CRC32C), sum(chunker.SHA256), chunker.Digest{}
	two := chunker.Plan{Size: 2, PartSize: 1}
	type digests = []chunker.Digest
	combine := func(a, b chunker.Digest, n int64) func() (chunker.Digest, error) {
		return func() (chunker.Digest, error) { return chunker.Combine(a, b, n) }
	}
	whole := func(p chunker.Plan, d digests) func() (chunker.Digest, error) {
		return func() (chunker.Digest, error) { return chunker.Whole(p, d) }
	}
	join := func(sizes []int64, d digests) func() (chunker.Digest, error) {
		return func() (chunker.Digest, error) { return chunker.Join(sizes, d) }
	}
	composite := func(d digests) func() (chunker.Digest, error) {
		return func() (chunker.Digest, error) { return chunker.Composite(d) }
	}
	const notCombining = "sha256 checksum does not follow from those of the parts; crc64nvme, crc32c and crc32 do"
	for name, c := range map[string]struct {
		call func() (chunker.Digest, error)
		err  string
	}{
		"combine none":            {combine(none, none, 1), "checksum of part 1 is missing"},
		"combine with none":       {combine(crc, none, 1), "crc32 checksum of part 2 is missing"},
		"combine two algorithms":  {combine(crc, other, 1), "crc32 checksum of part 2 is a crc32c instead"},
		"combine sha256":          {combine(sha, sha, 1), notCombining},
		"combine negative":        {combine(crc, crc, -1), "crc32 checksum cannot be of -1 bytes"},
		"whole of too few":        {whole(two, digests{crc}), "checksum of the whole needs those of 2 parts, not of 1"},
		"whole of too many":       {whole(two, digests{crc, crc, crc}), "checksum of the whole needs those of 2 parts, not of 3"},
		"whole of nothing":        {whole(chunker.Plan{}, nil), "checksum of the whole needs those of 1 parts, not of 0"},
		"whole of no plan":        {whole(chunker.Plan{Size: -1}, nil), "checksum of the whole needs those of 0 parts, not of 0"},
		"whole, first missing":    {whole(two, digests{none, crc}), "checksum of part 1 is missing"},
		"whole, last missing":     {whole(two, digests{crc, none}), "crc32 checksum of part 2 is missing"},
		"whole, two algorithms":   {whole(two, digests{crc, other}), "crc32 checksum of part 2 is a crc32c instead"},
		"whole of sha256":         {whole(two, digests{sha, sha}), notCombining},
		"join of nothing":         {join(nil, nil), "checksum of 0 pieces needs as many digests, and one at least, not 0"},
		"join of too few":         {join([]int64{1, 2}, digests{crc}), "checksum of 2 pieces needs as many digests, and one at least, not 1"},
		"join of too many":        {join([]int64{1}, digests{crc, crc}), "checksum of 1 pieces needs as many digests, and one at least, not 2"},
		"join, first negative":    {join([]int64{-1}, digests{crc}), "crc32 checksum of part 1 cannot be of -1 bytes"},
		"join, missing":           {join([]int64{1, 2}, digests{crc, none}), "crc32 checksum of part 2 is missing"},
		"join, two algorithms":    {join([]int64{1, 2}, digests{crc, other}), "crc32 checksum of part 2 is a crc32c instead"},
		"join of sha256":          {join([]int64{1}, digests{sha}), notCombining},
		"composite of nothing":    {composite(nil), "checksum of no parts does not exist"},
		"composite, missing":      {composite(digests{sha, none}), "sha256 checksum of part 2 is missing"},
		"composite, first lost":   {composite(digests{none, sha}), "checksum of part 1 is missing"},
		"composite, two together": {composite(digests{sha, crc}), "sha256 checksum of part 2 is a crc32 instead"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := c.call()
			if _, ok := errors.AsType[*chunker.DigestError](err); !ok || !d.IsZero() || err.Error() != c.err {
				t.Errorf("got %v, %v\nwant %s", d, err, c.err)
			}
		})
	}
}

func BenchmarkWhole(b *testing.B) {
	p := chunker.Plan{Size: 10_000*chunker.MaxPart - 1, PartSize: chunker.MaxPart}
	for _, a := range combining {
		parts := slices.Repeat([]chunker.Digest{checksum(b, a, []byte("abc"))}, p.Len())
		b.Run(a.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chunker.Whole(p, parts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCombine(b *testing.B) {
	d := checksum(b, chunker.CRC64NVME, []byte("abc"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chunker.Combine(d, d, chunker.MaxPart-1); err != nil {
			b.Fatal(err)
		}
	}
}
