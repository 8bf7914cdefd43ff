package s3presign_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// The request for one part, and for one small object with its properties; beside it
// what the SDK takes for the same.
func BenchmarkPresign(b *testing.B) {
	part := presign.Part{Bucket: "bucket", Key: "some/folder/file-0000017", UploadID: "2~oLvNN3aTzBzq7N4jqbwWc3Vx", Number: 17, Size: 16 << 20,
		ChecksumHeader: "X-Amz-Checksum-Crc64nvme", Checksum: "AAAAAAAAAAA="}
	object := part
	object.UploadID, object.Number = "", 0
	object.Header = http.Header{"Content-Type": {"text/plain"}, "X-Amz-Meta-Chunkup-Token": {"0123456789abcdef0123456789abcdef"}}
	c := client(static(""))
	for name, part := range map[string]presign.Part{"part": part, "object": object} {
		b.Run(name, func(b *testing.B) {
			p := s3presign.New(c, 0)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				part.Key = fmt.Sprintf("some/folder/file-%07d", n)
				if _, err := p.Presign(b.Context(), part); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" by the SDK", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bySDK(c, part); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
