package sandbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// Uploads in parts. See store for what happens to the bucket's name.

func (s *store) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (s3response.InitiateMultipartUploadResult, error) {
	bucket := *in.Bucket
	in.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.CreateMultipartUpload(ctx, in)
	out.Bucket = bucket
	return out, answer(err, bucket)
}

func (s *store) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.UploadPart(ctx, &call)
	return out, answer(err, *in.Bucket)
}

func (s *store) ListParts(ctx context.Context, in *s3.ListPartsInput) (s3response.ListPartsResult, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.ListParts(ctx, &call)
	out.Bucket = *in.Bucket
	return out, answer(err, *in.Bucket)
}

func (s *store) ListMultipartUploads(ctx context.Context, in *s3.ListMultipartUploadsInput) (s3response.ListMultipartUploadsResult, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.ListMultipartUploads(ctx, &call)
	out.Bucket = *in.Bucket
	return out, answer(err, *in.Bucket)
}

func (s *store) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput) error {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	return answer(s.posix.AbortMultipartUpload(ctx, &call), *in.Bucket)
}

// CompleteMultipartUpload keeps two promises of S3 that the backend does not.
// It answers success to the Complete of any upload id that it does not know, as
// long as some object has the key; here that is NoSuchUpload, unless the object
// was made of this very upload. And it answers success at once while the same
// Complete is still at work, and may fail; here both get the one answer. That
// may outlive the request it was made for, so it is made of copies: the
// gateway's strings lie in a request's buffer, which the next one overwrites.
func (s *store) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	bucket, key, id := strings.Clone(*in.Bucket), strings.Clone(*in.Key), strings.Clone(*in.UploadId)
	call := *in
	call.Bucket, call.Key, call.UploadId = &bucket, &key, &id
	v, err, _ := s.completing.Do(strings.Join([]string{bucket, key, id}, "\x00"), func() (any, error) {
		if !s.knows(bucket, key, id) {
			return s3response.CompleteMultipartUploadResult{}, s3err.GetNoSuchUploadErr(id)
		}
		return s.complete(ctx, &call)
	})
	return v.(s3response.CompleteMultipartUploadResult), "", answer(err, bucket)
}

// complete puts the parts together. There are no versions, hence no version id.
func (s *store) complete(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	forget := func() {}
	defer func() { forget() }()
	first := true
	out, _, err := s.posix.CompleteMultipartUploadWithCopy(ctx, &call, func(from, to *os.File) (bool, error) {
		if first {
			first, forget = false, s.attributes.replacing(to)
		}
		_, err := io.Copy(to, from) // in the kernel, where it can
		return true, err            // true: the part is still there, so Complete may be sent again
	})
	out.Bucket = in.Bucket
	if err == nil {
		// The backend removes the parts and leaves their attributes. What is
		// left over if this fails costs some space and is never read.
		_ = s.attributes.DeleteAttributes(*call.Bucket, uploadFolder(*in.Key, *in.UploadId))
	}
	return out, err
}

// knows says whether the upload is open, or is what the object was made of.
func (s *store) knows(bucket, key, uploadID string) bool {
	folder := filepath.Join(s.path(bucket), uploadFolder(key, uploadID))
	if _, err := os.Stat(folder); err == nil {
		return true
	}
	text, err := s.attributes.RetrieveAttribute(nil, s.path(bucket), key, "mp-metadata")
	if err != nil {
		return false
	}
	made, err := backend.UnmarshalMpUploadMetadata(text, false)
	return err == nil && made.UploadID == uploadID
}

// uploadFolder is where the backend keeps the parts of an upload, in the bucket.
func uploadFolder(key, uploadID string) string {
	return path.Join(posix.MetaTmpMultipartDir, fmt.Sprintf("%x", sha256.Sum256([]byte(key))), uploadID)
}
