// Package s3presign makes authorised part requests in this process, with the
// AWS SDK's presigner and the credentials that its client was given. It makes
// no network call, unless the credentials themselves have to be fetched.
package s3presign

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/chunkup/chunkup/presign"
)

// DefaultTTL is how long a request lives unless told otherwise. Stores check
// the expiry when the request arrives, so it does not have to cover the time
// that the bytes take.
const DefaultTTL = 15 * time.Minute

// Presigner is a [presign.Provider], [presign.Renewer] and [presign.Timekeeper]
// over the SDK's presigner. The zero value is not usable; it is safe for concurrent
// use.
type Presigner struct {
	client *s3.PresignClient
	creds  credentials
	clock  *presign.Clock
	ttl    time.Duration
}

var (
	_ presign.Provider   = (*Presigner)(nil)
	_ presign.Renewer    = (*Presigner)(nil)
	_ presign.Timekeeper = (*Presigner)(nil)
)

// New signs with the credentials, region, endpoint and addressing of client.
// Requests live for ttl (0 = [DefaultTTL]), or until the credentials end if
// that is sooner. It goes by the client's own clock if that is one of package
// s3store's, so that what either learns holds for both.
func New(client *s3.Client, ttl time.Duration) *Presigner {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	clock := clockOf(client)
	return &Presigner{
		client: s3.NewPresignClient(client, s3.WithPresignExpires(ttl), func(o *s3.PresignOptions) { o.Presigner = newSigner(clock) }),
		creds:  credentials{provider: client.Options().Credentials, clock: clock},
		clock:  clock,
		ttl:    ttl,
	}
}

// Clock is the clock by which requests are signed.
func (p *Presigner) Clock() *presign.Clock { return p.clock }

// Learn makes the clock go as the store's does: see [presign.Clock.Learn].
func (p *Presigner) Learn(store time.Time) { p.clock.Learn(store) }

// Presign signs a PUT of the part, its length and its checksum header
// included, so that the request is good for exactly these bytes.
func (p *Presigner) Presign(ctx context.Context, part presign.Part) (presign.Request, error) {
	life, err := p.life(ctx)
	if err != nil {
		return presign.Request{}, err
	}
	notAfter := time.Now().Add(life)
	signed, err := p.sign(ctx, part)
	if err != nil {
		return presign.Request{}, fmt.Errorf("presign: %w", err)
	}
	// The transport sets these two itself, from the URL and the body.
	header := signed.SignedHeader.Clone()
	header.Del("Host")
	header.Del("Content-Length")
	return presign.Request{Method: signed.Method, URL: signed.URL, Header: header, NotAfter: notAfter}, nil
}

// Renew drops credentials that were cached, so that rotated ones are read; twice
// within 2 s is once. The client from which the presigner was made signs with the
// same.
func (p *Presigner) Renew(context.Context) error {
	p.creds.renew()
	return nil
}

func (p *Presigner) sign(ctx context.Context, part presign.Part) (*v4.PresignedHTTPRequest, error) {
	headers := withHeaders(part)
	if part.UploadID == "" {
		return p.client.PresignPutObject(ctx, &s3.PutObjectInput{
			Bucket: &part.Bucket, Key: &part.Key, ContentLength: &part.Size,
		}, headers)
	}
	return p.client.PresignUploadPart(ctx, &s3.UploadPartInput{
		Bucket: &part.Bucket, Key: &part.Key, UploadId: &part.UploadID,
		PartNumber: aws.Int32(int32(part.Number)), ContentLength: &part.Size,
	}, headers)
}

// life is how long a request lives that is signed now: a URL signed with temporary
// credentials dies with them, whatever its own expiry says
// (https://repost.aws/knowledge-center/presigned-url-s3-bucket-expiration).
func (p *Presigner) life(ctx context.Context) (time.Duration, error) {
	life, err := p.creds.life(ctx)
	switch {
	case err == nil:
		return min(life, p.ttl), nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	}
	return 0, fmt.Errorf("%w: %w", presign.ErrCredentials, err)
}

// withHeaders adds the part's headers to the request before it is signed.
func withHeaders(part presign.Part) func(*s3.PresignOptions) {
	headers := maps.Clone(part.Header)
	if part.ChecksumHeader != "" {
		if headers == nil {
			headers = http.Header{}
		}
		headers.Set(part.ChecksumHeader, part.Checksum)
	}
	return func(o *s3.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, func(o *s3.Options) {
			for name, values := range headers {
				for _, v := range values {
					o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue(name, v))
				}
			}
		})
	}
}
