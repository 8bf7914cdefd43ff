package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// loadConfig reads the AWS environment and files, with the flags over them. Its
// credentials are read again whenever the ones before are of no use any more, for
// somebody may have rotated them meanwhile.
func loadConfig(ctx context.Context, s *storeFlags) (aws.Config, error) {
	cfg, err := s.awsConfig(ctx)
	switch {
	case err != nil:
		return cfg, usagef("%w", err)
	case cfg.Credentials == nil:
		return cfg, nil
	}
	cfg.Credentials = s3presign.Reread(s.awsConfig)
	return cfg, nil
}

// awsConfig is what the AWS environment and files say now.
func (s *storeFlags) awsConfig(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(s.region),
		config.WithSharedConfigProfile(s.profile),
		// What the SDK warns of is no sentence of ours; what fails is an error.
		config.WithLogger(logging.Nop{}),
	}
	if s.caBundle != "" {
		pem, err := os.ReadFile(s.caBundle)
		if err != nil {
			return aws.Config{}, fmt.Errorf("--ca-bundle: %w", err)
		}
		options = append(options, config.WithCustomCABundle(bytes.NewReader(pem)))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("the AWS configuration cannot be used: %w", err)
	}
	return cfg, nil
}

// findCredentials makes sure that there are some before anything is sent.
func findCredentials(ctx context.Context, cfg aws.Config) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if cfg.Credentials == nil {
		return fmt.Errorf("%w: %s", multipart.ErrCredentials, credentialsHint)
	}
	_, err := cfg.Credentials.Retrieve(ctx)
	switch {
	case err == nil:
		return nil
	case lastResort(err):
		return fmt.Errorf("%w: %s", multipart.ErrCredentials, credentialsHint)
	}
	return fmt.Errorf("%w: %w", multipart.ErrCredentials, err)
}

const credentialsHint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile of the AWS files with --profile"

// lastResort tells that the SDK found nothing configured and went as far as to
// ask whether this is a machine of Amazon's.
func lastResort(err error) bool {
	op, ok := errors.AsType[*smithy.OperationError](err)
	return ok && op.Service() == "ec2imds"
}
