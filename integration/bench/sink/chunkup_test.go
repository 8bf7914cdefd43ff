package sink

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// What chunkup demands of a store before it calls an upload proved, the sink has, in
// as few requests as with a real one.
func TestChunkup(t *testing.T) {
	s := start(t, Options{})
	connections := wire.NewClient(wire.Options{})
	defer connections.CloseIdle()
	profile := s3store.Detect(t.Context(), connections, s.URL())
	if profile.Name != "minio" {
		t.Errorf("it is taken for %s", profile.Name)
	}
	client := s3store.NewClient(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")}, profile, s.URL(), connections)
	uploader, err := multipart.New(s3store.New(client, profile, connections), s3presign.New(client, 0), &multipart.Options{PartSize: 5 * mib, Threshold: 5 * mib})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		size int
		want map[Op]int64
	}{
		"parts": {11 * mib, map[Op]int64{Create: 1, PutPart: 3, Complete: 1}},
		"put":   {1000, map[Op]int64{Put: 1}},
		"empty": {0, map[Op]int64{Put: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Reset()
			source := filepath.Join(t.TempDir(), "source")
			if err := os.WriteFile(source, make([]byte, c.size), 0o600); err != nil {
				t.Fatal(err)
			}
			result, err := uploader.UploadFile(t.Context(), multipart.Object{Bucket: "b", Key: "k", Header: http.Header{}}, source)
			if err != nil {
				t.Fatal(err)
			}
			got := s.Counters()
			if len(got.Requests) != len(c.want) || got.Stored != int64(c.size) || got.Unchecked != 0 || result.Digest.IsZero() {
				t.Errorf("%+v", got)
			}
			for op, n := range c.want {
				if got.Requests[op] != n {
					t.Errorf("%s: %d requests, not %d", op, got.Requests[op], n)
				}
			}
		})
	}
}
