package multipart_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// Upload a file to S3 with the credentials and the region of the environment.
func Example_s3() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	connections := wire.NewClient(wire.Options{})
	profile := s3store.Detect(ctx, connections, "") // or the endpoint of another store
	client := s3store.NewClient(cfg, profile, "", connections)
	uploader, err := multipart.New(s3store.New(client, profile, connections), s3presign.New(client, 0), nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := uploader.UploadFile(ctx, multipart.Object{Bucket: "my-bucket", Key: "backups/db.tar"}, "db.tar")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.ETag, result.Digest)
}

// The same against a store in memory, so that it runs.
func Example() {
	store := storetest.NewMem(wire.Limits{})
	defer store.Close()
	uploader, err := multipart.New(store, store, &multipart.Options{
		Endpoint: multipart.NewEndpoint(multipart.EndpointOptions{Client: store.Client()}),
		PartSize: 1 << 20, Threshold: 1 << 20,
	})
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.CreateTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file.Name())
	file.Truncate(5<<20 + 1)
	file.Close()

	result, err := uploader.UploadFile(context.Background(), multipart.Object{Bucket: "bucket", Key: "key"}, file.Name())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Size, "bytes in", result.Parts, "parts with", result.Requests, "requests")
	// Output: 5242881 bytes in 6 parts with 8 requests
}
