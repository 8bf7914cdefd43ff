package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
	"golang.org/x/sync/singleflight"
)

// store is the gateway's posix backend without its claim to the working
// directory. That one changes into the folder it serves and takes buckets for
// paths relative to it, which would break every relative path of the program it
// is embedded in. Here it is left where it is, and each bucket is given to it
// as an absolute path; on the way back the path is a name again.
//
// What it does not name answers 501 NotImplemented, as BackendUnsupported does.
type store struct {
	backend.BackendUnsupported
	posix      *posix.Posix
	attributes *attributes
	root       string
	completing singleflight.Group // Completes at work, by bucket, key and upload id
}

var _ backend.Backend = (*store)(nil)

func newStore(root string) (*store, error) {
	a := newAttributes(root)
	// New changes into the folder that it is given: it stays where it is.
	p, err := posix.New(".", a, posix.PosixOpts{
		// Its lock files would lie in the working directory. They order
		// conditional writes between processes; within one it does without.
		ForceNoObjLockFile: true,
		IOBufferSize:       256 << 10,
	})
	if err != nil {
		return nil, fmt.Errorf("sandbox: open folder: %w", err)
	}
	return &store{posix: p, attributes: a, root: root}, nil
}

// path is the bucket as the backend takes it.
func (s *store) path(bucket string) string { return filepath.Join(s.root, bucket) }

func (s *store) pathOf(bucket *string) *string {
	p := s.path(*bucket)
	return &p
}

// answer is an error of the backend as the client is told of it. The bucket is
// a name again. What is no S3 error (an upload cut off, a folder that cannot be
// written) keeps its text: the gateway would answer with a bare InternalError
// and print the text to this process's stderr.
func answer(err error, bucket string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[s3err.BucketError](err); ok {
		e.BucketName = bucket
		return e
	}
	if e, ok := errors.AsType[s3err.S3Error](err); ok {
		return e
	}
	e := s3err.GetAPIError(s3err.ErrInternalError)
	e.Description = err.Error()
	return e
}

func validBucketName(name string) bool { return utils.IsValidBucketName(name) }

// makeBucket makes a bucket of owner, unless it exists.
func (s *store) makeBucket(ctx context.Context, name, owner string) error {
	acl, err := json.Marshal(auth.ACL{Owner: owner, Grantees: []auth.Grantee{
		{Permission: auth.PermissionFullControl, Access: owner, Type: types.TypeCanonicalUser},
	}})
	if err != nil {
		return err
	}
	err = s.CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket:                    &name,
		ObjectOwnership:           types.ObjectOwnershipBucketOwnerEnforced,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{},
	}, acl)
	if errors.Is(err, s3err.GetAPIError(s3err.ErrBucketAlreadyOwnedByYou)) {
		return nil
	}
	return err
}

func (s *store) Shutdown() { s.posix.Shutdown() }

func (s *store) NormalizeObjectKey(bucket, object string) string {
	return s.posix.NormalizeObjectKey(s.path(bucket), object)
}

func (s *store) ListBuckets(_ context.Context, in s3response.ListBucketsInput) (s3response.ListAllMyBucketsResult, error) {
	out := s3response.ListAllMyBucketsResult{Owner: s3response.CanonicalUser{ID: in.Owner}, Prefix: in.Prefix}
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return out, err
	}
	list := &out.Buckets.Bucket
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || !validBucketName(name) || !strings.HasPrefix(name, in.Prefix) || name <= in.ContinuationToken {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if len(*list) == int(in.MaxBuckets) {
			out.ContinuationToken = (*list)[len(*list)-1].Name
			break
		}
		*list = append(*list, s3response.ListAllMyBucketsEntry{Name: name, CreationDate: info.ModTime()})
	}
	return out, nil
}

func (s *store) HeadBucket(ctx context.Context, in *s3.HeadBucketInput) (*s3.HeadBucketOutput, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.HeadBucket(ctx, &call)
	return out, answer(err, *in.Bucket)
}

// CreateBucket takes every folder that is there for the one account's bucket:
// its keys may be new, and the folder may have been made by hand.
func (s *store) CreateBucket(ctx context.Context, in *s3.CreateBucketInput, acl []byte) error {
	if _, err := os.Stat(s.path(*in.Bucket)); err == nil {
		return s3err.GetBucketErr(s3err.ErrBucketAlreadyOwnedByYou, *in.Bucket)
	}
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	return answer(s.posix.CreateBucket(ctx, &call, acl), *in.Bucket)
}

func (s *store) DeleteBucket(ctx context.Context, bucket string) error {
	return answer(s.posix.DeleteBucket(ctx, s.path(bucket)), bucket)
}

func (s *store) GetBucketAcl(ctx context.Context, in *s3.GetBucketAclInput) ([]byte, error) {
	call := *in
	call.Bucket = s.pathOf(in.Bucket)
	out, err := s.posix.GetBucketAcl(ctx, &call)
	return out, answer(err, *in.Bucket)
}

func (s *store) PutBucketAcl(ctx context.Context, bucket string, acl []byte) error {
	return answer(s.posix.PutBucketAcl(ctx, s.path(bucket), acl), bucket)
}

func (s *store) GetBucketVersioning(ctx context.Context, bucket string) (s3response.GetBucketVersioningOutput, error) {
	out, err := s.posix.GetBucketVersioning(ctx, s.path(bucket))
	return out, answer(err, bucket)
}

func (s *store) GetObjectLockConfiguration(ctx context.Context, bucket string) ([]byte, error) {
	out, err := s.posix.GetObjectLockConfiguration(ctx, s.path(bucket))
	return out, answer(err, bucket)
}
