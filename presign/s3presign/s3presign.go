// Package s3presign makes authorised part requests in this process, with the
// AWS SDK's presigner and the credentials that its client was given. It makes
// no network call, unless the credentials themselves have to be fetched.
package s3presign

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdkcredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/chunkup/chunkup/presign"
)

// DefaultTTL is how long a request lives unless told otherwise. Stores check
// the expiry when the request arrives, so it does not have to cover the time
// that the bytes take.
const DefaultTTL = 15 * time.Minute

// Presigner is a [presign.Provider], [presign.Renewer], [presign.Timekeeper] and
// [presign.Local] over the SDK's presigner. The zero value is not usable; it is safe
// for concurrent use.
type Presigner struct {
	client *s3.PresignClient
	creds  credentials
	clock  *presign.Clock
	signer atomic.Pointer[v4.Signer] // it keeps the key of the day
	ttl    time.Duration
	heads  bool // whole objects are signed in the head
	logs   bool // the client tells of each request that it signs

	templates templates
}

var (
	_ presign.Provider   = (*Presigner)(nil)
	_ presign.Renewer    = (*Presigner)(nil)
	_ presign.Timekeeper = (*Presigner)(nil)
	_ presign.Local      = (*Presigner)(nil)
)

// New signs with the credentials, region, endpoint and addressing of client.
// Requests live for ttl (0 = [DefaultTTL]), or until the credentials end if
// that is sooner. It goes by the client's own clock if that is one of package
// s3store's, so that what either learns holds for both.
//
// How the requests of a bucket look is taken from the first two that the SDK makes:
// what the client's options add has to be the same for all.
func New(client *s3.Client, ttl time.Duration) *Presigner {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	clock := clockOf(client)
	p := &Presigner{
		client: s3.NewPresignClient(client, s3.WithPresignExpires(ttl)),
		creds:  credentials{provider: client.Options().Credentials, clock: clock},
		clock:  clock,
		ttl:    ttl,
		logs:   client.Options().ClientLogMode.IsSigning(),
	}
	p.signer.Store(newSigner())
	return p
}

// Clock is the clock by which requests are signed.
func (p *Presigner) Clock() *presign.Clock { return p.clock }

// Learn makes the clock go as the store's does: see [presign.Clock.Learn].
func (p *Presigner) Learn(store time.Time) { p.clock.Learn(store) }

// Presign signs a PUT of the part, its length and its checksum header
// included, so that the request is good for exactly these bytes.
func (p *Presigner) Presign(ctx context.Context, part presign.Part) (presign.Request, error) {
	creds, life, err := p.life(ctx)
	if err != nil {
		return presign.Request{}, err
	}
	notAfter := time.Now().Add(life)
	address, header, err := p.sign(ctx, creds, part)
	if err != nil {
		return presign.Request{}, fmt.Errorf("presign: %w", err)
	}
	// The transport sets these two itself, from the URL and the body.
	header.Del("Host")
	header.Del("Content-Length")
	return presign.Request{Method: http.MethodPut, URL: address, Header: header, NotAfter: notAfter}, nil
}

// IsLocal reports that the client's credentials are static, or an
// [aws.CredentialsCache], which fetches them once for all who ask. Whatever else the
// SDK's user has for a source of credentials may be called too often, or be deaf.
func (p *Presigner) IsLocal() bool {
	switch p.creds.provider.(type) {
	case nil, *aws.CredentialsCache, sdkcredentials.StaticCredentialsProvider:
		return true
	}
	return false
}

// Renew drops credentials that were cached, so that rotated ones are read; twice
// within 2 s is once. The client from which the presigner was made signs with the
// same.
func (p *Presigner) Renew(context.Context) error {
	p.creds.renew()
	p.signer.Store(newSigner()) // a key's secret may be another
	return nil
}

// sign makes the URL and the signed headers: as the SDK has made them before for the
// bucket, else by the SDK.
func (p *Presigner) sign(ctx context.Context, creds aws.Credentials, part presign.Part) (string, http.Header, error) {
	if t := p.templates.get(part); t != nil {
		if p.heads && part.UploadID == "" {
			return t.signHead(ctx, p.signer.Load(), creds, p.clock.Now(), part)
		}
		return t.sign(ctx, p.signer.Load(), creds, p.clock.Now(), part)
	}
	s := &sample{signer: p.signer.Load(), clock: p.clock}
	signed, err := p.signBySDK(ctx, s, part)
	if err != nil {
		return "", nil, err
	}
	p.learn(ctx, s, creds, part, signed)
	return signed.URL, signed.SignedHeader, nil
}

func (p *Presigner) signBySDK(ctx context.Context, s s3.HTTPPresignerV4, part presign.Part) (*v4.PresignedHTTPRequest, error) {
	options := func(o *s3.PresignOptions) {
		o.Presigner = s
		o.ClientOptions = append(o.ClientOptions, withHeaders(part))
	}
	if part.UploadID == "" {
		return p.client.PresignPutObject(ctx, &s3.PutObjectInput{
			Bucket: &part.Bucket, Key: &part.Key, ContentLength: &part.Size,
		}, options)
	}
	return p.client.PresignUploadPart(ctx, &s3.UploadPartInput{
		Bucket: &part.Bucket, Key: &part.Key, UploadId: &part.UploadID,
		PartNumber: aws.Int32(int32(part.Number)), ContentLength: &part.Size,
	}, options)
}

// life is how long a request lives that is signed now: a URL signed with temporary
// credentials dies with them, whatever its own expiry says
// (https://repost.aws/knowledge-center/presigned-url-s3-bucket-expiration).
func (p *Presigner) life(ctx context.Context) (aws.Credentials, time.Duration, error) {
	creds, life, err := p.creds.get(ctx)
	switch {
	case err == nil:
		return creds, min(life, p.ttl), nil
	case ctx.Err() != nil:
		return creds, 0, context.Cause(ctx)
	}
	return creds, 0, fmt.Errorf("%w: %w", presign.ErrCredentials, err)
}

// headersOf are the headers that a part has to carry.
func headersOf(part presign.Part) http.Header {
	if part.ChecksumHeader == "" {
		return part.Header
	}
	headers := maps.Clone(part.Header)
	if headers == nil {
		headers = http.Header{}
	}
	headers.Set(part.ChecksumHeader, part.Checksum)
	return headers
}

// withHeaders adds the part's headers to the request before it is signed.
func withHeaders(part presign.Part) func(*s3.Options) {
	return func(o *s3.Options) {
		for name, values := range headersOf(part) {
			for _, v := range values {
				o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue(name, v))
			}
		}
	}
}
