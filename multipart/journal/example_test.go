package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
)

// An upload claims its destination, says what it is about to do before it does
// it, and removes the journal when the object is there.
func Example() {
	folder, err := os.MkdirTemp("", "journals")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	dir := journal.Open(filepath.Join(folder, "uploads"))

	claim, err := dir.Claim("https://s3.example.com", "bucket", "key")
	if err != nil {
		fmt.Println(err)
		return
	}
	record := journal.Record{
		State: journal.Creating, Endpoint: "https://s3.example.com", Bucket: "bucket", Key: "key", Token: "a random one",
		Plan: chunker.Plan{Size: 25 << 20, PartSize: 10 << 20},
	}
	fmt.Println("before create:", claim.Save(record))
	record.State, record.UploadID = journal.Uploading, "id"
	record.Parts = []journal.Part{{Number: 1, Size: 10 << 20, ETag: "etag"}}
	fmt.Println("while parts are sent:", claim.Save(record))

	_, err = dir.Claim("https://s3.example.com", "bucket", "key")
	_, locked := errors.AsType[*journal.LockedError](err)
	fmt.Println("claimed by somebody else:", locked)

	// The process ends; the next one finds what there is.
	fmt.Println("end:", claim.Release())
	claim, err = dir.Claim("https://s3.example.com", "bucket", "key")
	if err != nil {
		fmt.Println(err)
		return
	}
	found, ok := claim.Record()
	fmt.Println("found:", ok, found.State, found.UploadID, len(found.Parts))
	fmt.Println("done:", claim.Remove())
	// Output:
	// before create: <nil>
	// while parts are sent: <nil>
	// claimed by somebody else: true
	// end: <nil>
	// found: true uploading id 1
	// done: <nil>
}

// What a store lists is kept if it fits the plan; the journal lends the digest
// that the listing lacks.
func ExampleKept() {
	digest, err := chunker.ParseDigest(chunker.CRC64NVME, "rosUhgp5mIg=")
	if err != nil {
		fmt.Println(err)
		return
	}
	record := journal.Record{
		Plan: chunker.Plan{Size: 25, PartSize: 10}, Algorithm: chunker.CRC64NVME,
		Parts: []journal.Part{{Number: 1, Size: 10, ETag: "e1", Digest: digest}},
	}
	listed := []journal.Listed{{Number: 1, Size: 10, ETag: `"e1"`}, {Number: 2, Size: 7, ETag: `"e2"`}, {Number: 3, Size: 5, ETag: `"e3"`}}
	for _, p := range journal.Kept(record, listed) {
		fmt.Println(p.Number, p.Digest)
	}
	// Output:
	// 1 crc64nvme:rosUhgp5mIg=
	// 3 none
}
