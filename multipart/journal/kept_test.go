package journal

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/chunker"
)

func sum(t interface{ Fatal(...any) }, a chunker.Algorithm, text string) chunker.Digest {
	d, err := chunker.Sum(strings.NewReader(text), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestKept(t *testing.T) {
	crc, other := sum(t, chunker.CRC64NVME, "a"), sum(t, chunker.CRC64NVME, "b")
	md5, none := sum(t, chunker.MD5, "a"), chunker.Digest{}
	rec := Record{
		Source: Source{Path: "/f"}, Plan: chunker.Plan{Size: 25, PartSize: 10}, Algorithm: chunker.CRC64NVME,
		Parts: []Part{{1, 10, `"e1"`, crc}, {2, 10, "e2", none}},
	}
	receipts := rec // that lend nothing
	receipts.Parts = []Part{{1, 9, "e1", crc}, {2, 10, "e2", md5}}
	noPart := Record{Source: Source{Path: "/f"}}
	noAlgorithm := rec
	noAlgorithm.Algorithm, noAlgorithm.Parts = chunker.None, nil
	stream := rec
	unplan(&stream)
	empty := Record{Source: Source{Path: "/f"}, Plan: chunker.Plan{PartSize: 10}}
	impossible := rec
	impossible.Plan.PartSize = 0

	for name, c := range map[string]struct {
		rec          Record
		listed, kept []Part
	}{
		"none":               {rec, nil, nil},
		"listed digest":      {rec, []Part{{1, 10, "e1", other}}, []Part{{1, 10, "e1", other}}},
		"lent digest":        {rec, []Part{{1, 10, "e1", none}}, []Part{{1, 10, "e1", crc}}},
		"unknown digest":     {rec, []Part{{2, 10, "e2", none}}, []Part{{2, 10, "e2", none}}},
		"not in the journal": {rec, []Part{{3, 5, "e3", none}}, []Part{{3, 5, "e3", none}}},
		"another ETag":       {rec, []Part{{1, 10, "e1x", none}}, []Part{{1, 10, "e1x", none}}},
		"other algorithm":    {rec, []Part{{1, 10, "e1", md5}}, nil},
		"wrong size":         {rec, []Part{{1, 9, "e1", crc}, {3, 10, "e3", crc}}, nil},
		"wrong number":       {rec, []Part{{0, 10, "e", crc}, {-1, 10, "e", crc}, {4, 10, "e", crc}, {4, 5, "e", crc}}, nil},
		"no ETag":            {rec, []Part{{1, 10, "", crc}, {2, 10, `""`, crc}}, nil},
		"last counts":        {rec, []Part{{1, 10, "e1", crc}, {3, 5, "e", none}, {1, 10, "e9", other}}, []Part{{1, 10, "e9", other}, {3, 5, "e", none}}},
		"last counts if bad": {rec, []Part{{1, 10, "e1", crc}, {1, 9, "e1", crc}}, nil},
		"no algorithm":       {noAlgorithm, []Part{{1, 10, "e1", crc}}, []Part{{1, 10, "e1", none}}},
		"stream":             {stream, []Part{{1, 10, "e1", crc}, {1, 0, "e1", crc}}, nil},
		"empty file":         {empty, []Part{{1, 0, "e", none}}, []Part{{1, 0, "e", none}}},
		"empty, no size":     {noPart, []Part{{1, 0, "e", none}}, []Part{{1, 0, "e", none}}},
		"other receipts":     {receipts, []Part{{1, 10, "e1", none}, {2, 10, "e2", none}}, []Part{{1, 10, "e1", none}, {2, 10, "e2", none}}},
		"impossible plan":    {impossible, []Part{{1, 10, "e1", crc}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Kept(c.rec, c.listed); !reflect.DeepEqual(got, c.kept) {
				t.Errorf("got %v, want %v", got, c.kept)
			}
		})
	}
}

// drawParts draws parts that are often right and often nearly so.
func drawParts(t *rapid.T, plan chunker.Plan, label string) []Part {
	digests := []chunker.Digest{{}, sum(t, chunker.CRC64NVME, "a"), sum(t, chunker.CRC64NVME, "b"), sum(t, chunker.CRC32C, "a"), sum(t, chunker.MD5, "a")}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Part {
		n := rapid.IntRange(-1, 6).Draw(t, "number")
		size := rapid.SampledFrom([]int64{0, 1, plan.PartSize, plan.Size, -1}).Draw(t, "size")
		if n >= 1 && n <= plan.Len() && rapid.Bool().Draw(t, "right") {
			size = plan.Part(n).Size
		}
		return Part{n, size, rapid.SampledFrom([]string{"e", `"e"`, "f", ""}).Draw(t, "etag"), rapid.SampledFrom(digests).Draw(t, "digest")}
	}), 0, 12).Draw(t, label)
}

// What Kept keeps was listed, fits the plan, is there once, and has a digest that
// the store or the journal named for these very bytes. What it does not keep it
// could not.
func TestKeptProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := chunker.Plan{Size: rapid.Int64Range(-1, 30).Draw(t, "size"), PartSize: rapid.Int64Range(0, 10).Draw(t, "part size")}
		rec := Record{Plan: plan, Algorithm: rapid.SampledFrom([]chunker.Algorithm{chunker.None, chunker.CRC64NVME, chunker.CRC32C, chunker.MD5}).Draw(t, "algorithm")}
		if rapid.Bool().Draw(t, "file") {
			rec.Source.Path = "/f"
		}
		rec.Parts = drawParts(t, plan, "receipts")
		listed := drawParts(t, plan, "listed")
		before := slices.Clone(listed)

		kept := Kept(rec, listed)
		if !slices.Equal(before, listed) {
			t.Fatal("the arguments were changed")
		}
		numbers := map[int]bool{}
		for i, p := range kept {
			if p.Number < 1 || p.Number > plan.Len() || p.Size != plan.Part(p.Number).Size {
				t.Fatalf("%v is not of the plan", p)
			}
			if i > 0 && kept[i-1].Number >= p.Number {
				t.Fatalf("%v is out of order, or twice", p)
			}
			numbers[p.Number] = true
			source, ok := lastOf(listed, p.Number)
			if !ok || source.Size != p.Size || source.ETag != p.ETag {
				t.Fatalf("%v was not listed: %v", p, source)
			}
			receipt, _ := lastOf(rec.Parts, p.Number)
			sameBytes := strings.Trim(receipt.ETag, `"`) == strings.Trim(p.ETag, `"`) && receipt.Size == p.Size
			named := p.Digest == source.Digest || source.Digest.IsZero() && sameBytes && p.Digest == receipt.Digest
			if !p.Digest.IsZero() && (!named || p.Digest.Algorithm() != rec.Algorithm) {
				t.Fatalf("%v: nobody named its digest", p)
			}
			if p.Digest.IsZero() && source.Digest.IsZero() && sameBytes && receipt.Digest.Algorithm() == rec.Algorithm && !receipt.Digest.IsZero() {
				t.Fatalf("%v: the journal knew its digest", p)
			}
		}
		for n := 1; n <= plan.Len() && !rec.unplanned(); n++ {
			p, ok := lastOf(listed, n)
			foreign := rec.Algorithm != chunker.None && !p.Digest.IsZero() && p.Digest.Algorithm() != rec.Algorithm
			if good := ok && p.Size == plan.Part(n).Size && p.ETag != "" && !foreign; good != numbers[n] {
				t.Fatalf("%v: kept %t", p, numbers[n])
			}
		}
		if again := Kept(rec, kept); !slices.Equal(again, kept) && len(again)+len(kept) > 0 {
			t.Fatalf("kept %v of %v", again, kept)
		}
	})
}

func lastOf(parts []Part, n int) (Part, bool) {
	for _, p := range slices.Backward(parts) {
		if p.Number == n {
			return p, true
		}
	}
	return Part{}, false
}
