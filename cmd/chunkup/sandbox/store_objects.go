package sandbox

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/s3response"
)

// Objects. See store for what happens to the bucket's name.

func (s *store) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	bucket := *in.Bucket
	in.Bucket = s.pathOf(in.Bucket)
	forget := func() {}
	defer func() { forget() }()
	out, err := s.posix.PutObjectWithPostFunc(ctx, in, func(f *os.File) error {
		forget = s.attributes.replacing(f)
		return nil
	})
	return out, answer(err, bucket)
}

func (s *store) HeadObject(ctx context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.HeadObject(ctx, &call)
	return out, answer(err, *in.Bucket)
}

func (s *store) GetObject(ctx context.Context, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.GetObject(ctx, &call)
	return out, answer(err, *in.Bucket)
}

func (s *store) GetObjectAttributes(ctx context.Context, in *s3.GetObjectAttributesInput) (s3response.GetObjectAttributesResponse, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.GetObjectAttributes(ctx, &call)
	return out, answer(err, *in.Bucket)
}

func (s *store) ListObjects(ctx context.Context, in *s3.ListObjectsInput) (s3response.ListObjectsResult, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.ListObjects(ctx, &call)
	out.Name = in.Bucket
	return out, answer(err, *in.Bucket)
}

func (s *store) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input) (s3response.ListObjectsV2Result, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.ListObjectsV2(ctx, &call)
	out.Name = in.Bucket
	return out, answer(err, *in.Bucket)
}

func (s *store) ListObjectVersions(ctx context.Context, in *s3.ListObjectVersionsInput) (s3response.ListVersionsResult, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.ListObjectVersions(ctx, &call)
	out.Name = in.Bucket
	return out, answer(err, *in.Bucket)
}

func (s *store) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.DeleteObject(ctx, &call)
	return out, answer(err, *in.Bucket)
}

func (s *store) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.DeleteObjects(ctx, &call)
	return out, answer(err, *in.Bucket)
}
