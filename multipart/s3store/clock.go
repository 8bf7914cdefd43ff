package s3store

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/presign"
)

// signer signs control calls by a clock that whoever presigns with the same client
// shares, whatever time the SDK means: it has a correction of its own, of which the
// data plane would not hear.
type signer struct {
	s3.HTTPSignerV4
	clock *presign.Clock
}

func (s signer) SignHTTP(ctx context.Context, creds aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time, optFns ...func(*v4.SignerOptions)) error {
	return s.HTTPSignerV4.SignHTTP(ctx, creds, r, payloadHash, service, region, s.clock.Now(), optFns...)
}

// Clock is for package s3presign.
func (s signer) Clock() *presign.Clock { return s.clock }
