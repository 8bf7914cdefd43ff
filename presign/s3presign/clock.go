package s3presign

import (
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

// newSigner spells paths as S3 does: once escaped.
func newSigner() *v4.Signer {
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
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
