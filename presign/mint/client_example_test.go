package mint_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/presign/mint"
)

// Upload a file without credentials: a service that has them hands out a URL for each
// part. The client is both sides of it, the control plane and the provider.
func ExampleDial() {
	ctx := context.Background()
	client, err := mint.Dial(ctx, "https://uploads.example.com", &mint.ClientOptions{
		Header: http.Header{"Authorization": {"Bearer " + "the token of this machine"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	uploader, err := multipart.New(client, client, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := uploader.UploadFile(ctx, multipart.Object{Bucket: client.Bucket(), Key: "backups/db.tar"}, "db.tar")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Object, result.ETag) // the service may have chosen another key
}
