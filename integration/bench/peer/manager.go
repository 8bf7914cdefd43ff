package peer

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

//lint:file-ignore SA1019 Its makers prefer transfermanager now; it is what most programs use.

func (j *job) manager(ctx context.Context, client *s3.Client) error {
	u := manager.NewUploader(client, func(u *manager.Uploader) {
		if j.part > 0 {
			u.PartSize = j.part
		}
		if j.concurrency > 0 {
			u.Concurrency = j.concurrency
		}
	})
	files := j.files
	if files == 0 {
		files = manager.DefaultUploadConcurrency
	}
	return j.each(ctx, files, func(ctx context.Context, key string, f *os.File) error {
		_, err := u.Upload(ctx, &s3.PutObjectInput{Bucket: &j.bucket, Key: &key, Body: f})
		return err
	})
}
