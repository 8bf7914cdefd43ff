package sandbox

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// The settings of a bucket that clients ask for, or that the gateway itself
// asks for with each request. See store for what happens to the bucket's name.

func (s *store) PutBucketPolicy(ctx context.Context, bucket string, policy []byte) error {
	return answer(s.posix.PutBucketPolicy(ctx, s.path(bucket), policy), bucket)
}

func (s *store) GetBucketPolicy(ctx context.Context, bucket string) ([]byte, error) {
	out, err := s.posix.GetBucketPolicy(ctx, s.path(bucket))
	return out, answer(err, bucket)
}

func (s *store) DeleteBucketPolicy(ctx context.Context, bucket string) error {
	return answer(s.posix.DeleteBucketPolicy(ctx, s.path(bucket)), bucket)
}

func (s *store) PutBucketOwnershipControls(ctx context.Context, bucket string, ownership types.ObjectOwnership) error {
	return answer(s.posix.PutBucketOwnershipControls(ctx, s.path(bucket), ownership), bucket)
}

func (s *store) GetBucketOwnershipControls(ctx context.Context, bucket string) (types.ObjectOwnership, error) {
	out, err := s.posix.GetBucketOwnershipControls(ctx, s.path(bucket))
	return out, answer(err, bucket)
}

func (s *store) DeleteBucketOwnershipControls(ctx context.Context, bucket string) error {
	return answer(s.posix.DeleteBucketOwnershipControls(ctx, s.path(bucket)), bucket)
}

func (s *store) PutBucketCors(ctx context.Context, bucket string, cors []byte) error {
	return answer(s.posix.PutBucketCors(ctx, s.path(bucket), cors), bucket)
}

func (s *store) GetBucketCors(ctx context.Context, bucket string) ([]byte, error) {
	out, err := s.posix.GetBucketCors(ctx, s.path(bucket))
	return out, answer(err, bucket)
}

func (s *store) DeleteBucketCors(ctx context.Context, bucket string) error {
	return answer(s.posix.DeleteBucketCors(ctx, s.path(bucket)), bucket)
}

func (s *store) PutBucketTagging(ctx context.Context, bucket string, tags map[string]string) error {
	return answer(s.posix.PutBucketTagging(ctx, s.path(bucket), tags), bucket)
}

func (s *store) GetBucketTagging(ctx context.Context, bucket string) (map[string]string, error) {
	out, err := s.posix.GetBucketTagging(ctx, s.path(bucket))
	return out, answer(err, bucket)
}

func (s *store) DeleteBucketTagging(ctx context.Context, bucket string) error {
	return answer(s.posix.DeleteBucketTagging(ctx, s.path(bucket)), bucket)
}

func (s *store) PutObjectTagging(ctx context.Context, bucket, object, version string, tags map[string]string) error {
	return answer(s.posix.PutObjectTagging(ctx, s.path(bucket), object, version, tags), bucket)
}

func (s *store) GetObjectTagging(ctx context.Context, bucket, object, version string) (map[string]string, error) {
	out, err := s.posix.GetObjectTagging(ctx, s.path(bucket), object, version)
	return out, answer(err, bucket)
}

func (s *store) DeleteObjectTagging(ctx context.Context, bucket, object, version string) error {
	return answer(s.posix.DeleteObjectTagging(ctx, s.path(bucket), object, version), bucket)
}
