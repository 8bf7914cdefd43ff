package chunker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/chunkup/chunkup/chunker"
)

func ExampleNewPlan() {
	for _, size := range []int64{1, 100 << 20, 1 << 40} {
		plan, err := chunker.NewPlan(size, 0, chunker.Limits{})
		if err != nil {
			log.Fatal(err)
		}
		last := plan.Part(plan.Len())
		fmt.Printf("%d parts of %d MiB, the last of %d bytes\n", plan.Len(), plan.PartSize>>20, last.Size)
	}

	// The zero Limits is Amazon S3. Other stores accept less.
	_, err := chunker.NewPlan(6<<40, 0, chunker.Limits{MaxObject: 5 << 40})
	fmt.Println(err)
	// Output:
	// 1 parts of 8 MiB, the last of 1 bytes
	// 13 parts of 8 MiB, the last of 4194304 bytes
	// 9447 parts of 111 MiB, the last of 73400320 bytes
	// object size of 6597069766656 bytes (6 TiB) is above the maximum of 5497558138880 bytes (5 TiB)
}

func ExampleWhole() {
	data := strings.NewReader(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1000))
	plan := chunker.Plan{Size: data.Size(), PartSize: 10_000}

	// Each part has its digest, made where the part is sent.
	var digests []chunker.Digest
	for part := range plan.Parts() {
		digest, err := chunker.Sum(part.Reader(data), chunker.CRC64NVME)
		if err != nil {
			log.Fatal(err)
		}
		digests = append(digests, digest)
	}

	// The digest of the object follows from them: no byte is read again.
	whole, err := chunker.Whole(plan, digests)
	if err != nil {
		log.Fatal(err)
	}
	again, err := chunker.Sum(data, chunker.CRC64NVME)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(digests), "parts,", whole)
	fmt.Println(whole == again)
	// Output:
	// 5 parts, crc64nvme:Jlf9OxHSts8=
	// true
}

func ExampleFile_Changed() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, []byte("one line\n"), 0o600); err != nil {
		log.Fatal(err)
	}

	file, err := chunker.OpenFile(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	if err := os.WriteFile(path, []byte("one line\nand another\n"), 0o600); err != nil {
		log.Fatal(err)
	}

	if changed, ok := errors.AsType[*chunker.ChangedError](file.Changed()); ok {
		fmt.Println(changed.Change == chunker.Grew, changed.Was.Size, changed.Is.Size)
	}
	// Output:
	// true 9 21
}

func ExampleCutter() {
	// A stream into parts of 10 bytes, as if that were what the store takes.
	limits := chunker.Limits{MinPart: 10, MaxPart: 10}
	const memory = 1 << 20
	growth, err := chunker.PlanStream(0, 0, memory, limits, false)
	if err != nil {
		log.Fatal(err)
	}
	stream := strings.NewReader("as long as nobody knows")
	cutter := chunker.NewCutter(stream, growth, chunker.NewMemory(memory))
	defer cutter.Close()

	var sizes []int64
	var digests []chunker.Digest
	for last := false; !last; {
		var piece *chunker.Piece
		piece, last, err = cutter.Next(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		// Every attempt to send the piece takes a reader like this one.
		digest, err := chunker.Sum(piece.Part.Reader(piece), chunker.CRC32C)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(piece.Part.Number, piece.Part.Size, digest, last)
		sizes, digests = append(sizes, piece.Part.Size), append(digests, digest)
		piece.Release()
	}
	whole, err := chunker.Join(sizes, digests)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cutter.Size(), whole)
	// Output:
	// 1 10 crc32c:nCSy4g== false
	// 2 10 crc32c:b1rOkg== false
	// 3 3 crc32c:rRg4IA== true
	// 23 crc32c:X6CCBw==
}
