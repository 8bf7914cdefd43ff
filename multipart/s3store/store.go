package s3store

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// completePatience is how much longer than other calls Complete may take to
// answer: a store may assemble 10,000 parts before it says anything.
const completePatience = 10

// Store is multipart.Control, UploadLister and RangeReader over an S3 client. It is safe for concurrent use;
// the zero value is not usable, see [New].
type Store struct {
	client   *s3.Client
	profile  Profile
	wire     *wire.Client
	patient  *wire.Doer // for Complete
	endpoint string
}

var (
	_ multipart.Control      = (*Store)(nil)
	_ multipart.UploadLister = (*Store)(nil)
	_ multipart.RangeReader  = (*Store)(nil)
)

// New returns the control plane of the store that client talks to. w carries
// its calls; give the one that client was made with.
func New(client *s3.Client, p Profile, w *wire.Client) *Store {
	s := &Store{client: client, profile: p, wire: w, patient: w.Control(completePatience * w.Limits().Answer)}
	o := client.Options()
	if o.BaseEndpoint != nil {
		s.endpoint = strings.TrimSuffix(*o.BaseEndpoint, "/")
	} else {
		s.endpoint = "https://s3." + o.Region + ".amazonaws.com"
	}
	return s
}

// Traits are the profile's.
func (s *Store) Traits() multipart.Traits {
	t := s.profile.Traits
	t.Endpoint = s.endpoint
	return t
}

// Create begins an upload and declares its checksum, where the store has one
// to declare.
func (s *Store) Create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	if err := s.ready(ctx); err != nil {
		return multipart.Upload{}, err
	}
	in := &s3.CreateMultipartUploadInput{Bucket: &i.Bucket, Key: &i.Key}
	if s.declares(i.Algorithm) {
		in.ChecksumAlgorithm = types.ChecksumAlgorithm(strings.ToUpper(i.Algorithm.String()))
		in.ChecksumType = checksumType(i.FullObject)
	}
	out, err := s.client.CreateMultipartUpload(ctx, in, withHeaders(i.Header))
	if err != nil {
		return multipart.Upload{}, translate(err)
	}
	return multipart.Upload{Bucket: i.Bucket, Key: i.Key, ID: aws.ToString(out.UploadId)}, nil
}

// Complete makes the object. The whole object's checksum and size go with it,
// where the store compares them. If there is to be none under the key and there
// is one, the refusal has status 412 (PreconditionFailed); if one is just being
// made, AWS says 409 (ConditionalRequestConflict).
func (s *Store) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if err := s.ready(ctx); err != nil {
		return multipart.Info{}, err
	}
	in := &s3.CompleteMultipartUploadInput{Bucket: &u.Bucket, Key: &u.Key, UploadId: &u.ID,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: s.completedParts(c)}}
	if c.CreateOnly {
		in.IfNoneMatch = aws.String("*")
	}
	if s.declares(c.Algorithm) {
		in.ChecksumType = checksumType(c.FullObject)
		in.MpuObjectSize = &c.Size
	}
	if s.declares(c.Digest.Algorithm()) {
		crc := aws.String(c.Digest.Base64())
		switch c.Digest.Algorithm() {
		case chunker.CRC64NVME:
			in.ChecksumCRC64NVME = crc
		case chunker.CRC32C:
			in.ChecksumCRC32C = crc
		case chunker.CRC32:
			in.ChecksumCRC32 = crc
		}
	}
	out, err := s.client.CompleteMultipartUpload(ctx, in, func(o *s3.Options) { o.HTTPClient = s.patient })
	if err != nil {
		return multipart.Info{}, translate(err)
	}
	info := multipart.Info{ETag: aws.ToString(out.ETag), VersionID: aws.ToString(out.VersionId)}
	s.proof(&info, checksums{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ChecksumSHA256},
		out.ChecksumType, headerOf(out.ResultMetadata))
	return info, nil
}

// Abort drops an upload; one that is gone is a success.
func (s *Store) Abort(ctx context.Context, u multipart.Upload) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.Bucket, Key: &u.Key, UploadId: &u.ID})
	err = translate(err)
	if e, ok := err.(*wire.StoreError); ok && e.Status == http.StatusNotFound && e.Code == "NoSuchUpload" {
		return nil
	}
	return err
}

// Head says what is under a key.
func (s *Store) Head(ctx context.Context, bucket, key string) (multipart.Info, error) {
	if err := s.ready(ctx); err != nil {
		return multipart.Info{}, err
	}
	in := &s3.HeadObjectInput{Bucket: &bucket, Key: &key}
	if s.declares(s.profile.Traits.Algorithm) {
		in.ChecksumMode = types.ChecksumModeEnabled
	}
	out, err := s.client.HeadObject(ctx, in)
	if err != nil {
		return multipart.Info{}, translate(err)
	}
	info := multipart.Info{Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag),
		VersionID: aws.ToString(out.VersionId), Metadata: map[string]string{}}
	// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html on ETag
	info.OpaqueETag = strings.HasPrefix(string(out.ServerSideEncryption), "aws:kms") || aws.ToString(out.SSECustomerAlgorithm) != ""
	for k, v := range out.Metadata {
		info.Metadata[strings.ToLower(k)] = v
	}
	s.proof(&info, checksums{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ChecksumSHA256},
		out.ChecksumType, headerOf(out.ResultMetadata))
	return info, nil
}

// ready makes sure of the credentials, which the client caches: what fails
// there is not the store's doing.
func (s *Store) ready(ctx context.Context) error {
	creds := s.client.Options().Credentials
	if creds == nil {
		return nil
	}
	if _, err := creds.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: %w", multipart.ErrCredentials, err)
	}
	return nil
}

// declares reports whether a digest is what S3 calls the checksum of an upload,
// which is declared when the upload is created, and named when it is completed.
// GCS has none.
func (s *Store) declares(a chunker.Algorithm) bool {
	return a != chunker.None && a != chunker.MD5 && !s.profile.Traits.GoogHash
}

func checksumType(fullObject bool) types.ChecksumType {
	if fullObject {
		return types.ChecksumTypeFullObject
	}
	return types.ChecksumTypeComposite
}

func (s *Store) completedParts(c multipart.Completion) []types.CompletedPart {
	parts := make([]types.CompletedPart, len(c.Parts))
	for i, r := range c.Parts {
		p := types.CompletedPart{PartNumber: aws.Int32(int32(r.Number)), ETag: aws.String(r.ETag)}
		sum, algorithm := aws.String(r.Digest.Base64()), r.Digest.Algorithm()
		if !s.declares(algorithm) {
			algorithm = chunker.None
		}
		switch algorithm {
		case chunker.CRC64NVME:
			p.ChecksumCRC64NVME = sum
		case chunker.CRC32C:
			p.ChecksumCRC32C = sum
		case chunker.CRC32:
			p.ChecksumCRC32 = sum
		case chunker.SHA256:
			p.ChecksumSHA256 = sum
		}
		parts[i] = p
	}
	return parts
}

// withHeaders adds an object's properties to the request before it is signed.
func withHeaders(h http.Header) func(*s3.Options) {
	return func(o *s3.Options) {
		for name, values := range h {
			for _, v := range values {
				o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue(name, v))
			}
		}
	}
}
