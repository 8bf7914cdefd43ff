package s3presign

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/presign"
)

// clockOf is the clock by which the client itself signs, if it has one to share,
// else a new one.
func clockOf(client *s3.Client) *presign.Clock {
	if shared, ok := client.Options().HTTPSignerV4.(interface{ Clock() *presign.Clock }); ok {
		return shared.Clock()
	}
	return &presign.Clock{}
}

// signer signs URLs by the clock, whatever time the SDK means.
type signer struct {
	*v4.Signer
	clock *presign.Clock
}

// newSigner spells paths as S3 does: once escaped.
func newSigner(clock *presign.Clock) signer {
	return signer{v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }), clock}
}

func (s signer) PresignHTTP(ctx context.Context, creds aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time, optFns ...func(*v4.SignerOptions)) (string, http.Header, error) {
	return s.Signer.PresignHTTP(ctx, creds, r, payloadHash, service, region, s.clock.Now(), optFns...)
}

// formSigner signs forms by the clock.
type formSigner struct {
	sdk   s3.PresignPost
	clock *presign.Clock
}

func (s formSigner) PresignPost(creds aws.Credentials, bucket, key, region, service string, signed time.Time, conditions []any, ends time.Time, optFns ...func(*v4.SignerOptions)) (map[string]string, error) {
	now := s.clock.Now().UTC()
	return s.sdk.PresignPost(creds, bucket, key, region, service, now, conditions, now.Add(ends.Sub(signed)), optFns...)
}
