package s3store

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// NewClient returns an S3 client for the control plane: one attempt a call,
// over w's connections and deadlines, with no checksums but those that it is
// told to send. endpoint is empty for AWS's own of cfg.Region; if cfg has no
// region, the profile's is used. It signs by a [presign.Clock] that a presigner made
// from it shares.
func NewClient(cfg aws.Config, p Profile, endpoint string, w *wire.Client) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
		if o.Region == "" {
			o.Region = p.Region
		}
		o.UsePathStyle = p.PathStyle
		o.HTTPClient = w.Control(0)
		o.HTTPSignerV4 = signer{o.HTTPSignerV4, &presign.Clock{}}
		if p.Plain {
			o.APIOptions = append(o.APIOptions, plain)
		}
		// There is one retry loop, and it is not the SDK's.
		o.Retryer = aws.NopRetryer{}
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
	})
}

// BucketRegion asks AWS, without credentials, in which region a bucket is.
// hint is any region of the bucket's partition ("us-east-1" if unsure).
func BucketRegion(ctx context.Context, client *s3.Client, bucket, hint string) (string, error) {
	region, err := manager.GetBucketRegion(ctx, client, bucket, func(o *s3.Options) { o.Region = hint })
	if err != nil {
		return "", translate(err)
	}
	return region, nil
}
