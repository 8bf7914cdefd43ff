package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/cmd/chunkup/sandbox"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/mint"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// askLimit bounds each question that is asked before the first upload: for
// credentials, for the bucket's region, for the kind of the store.
const askLimit = 10 * time.Second

// connection is the way to one bucket, for all uploads of the command.
type connection struct {
	control  multipart.Control
	provider presign.Provider
	endpoint *multipart.Endpoint
	verify   bool         // hold what the store says of each object against it once more
	close    func() error // nil if there is nothing to close
	found    []string     // flags for what was taken from elsewhere, as words of a command line
	minted   *mint.Client // nil: it is no minting service that hands out the requests
}

// end closes the connection. One that was opened and not needed would keep the
// sandbox from closing for ten seconds.
func (c *connection) end() error {
	c.endpoint.CloseIdle()
	if c.close != nil {
		return c.close()
	}
	return nil
}

// breakerObserver is told when the endpoint's breaker changes.
type breakerObserver func(endpoint string, from, to breaker.State)

// connect opens the way to the destination's bucket. It writes nothing there.
func connect(ctx context.Context, f *storeFlags, t *tuningFlags, d destination, observe breakerObserver) (*connection, error) {
	var (
		c   *connection
		err error
	)
	switch {
	case d.scheme == schemeSandbox:
		c, err = connectSandbox(ctx, f, t, d.bucket, observe)
	case f.mint.url != "":
		c, err = connectMint(ctx, f, t, d.bucket, observe)
	default:
		c, err = connectS3(ctx, f, t, d.bucket, observe)
	}
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c, err
}

// connectSandbox serves the embedded store until the connection is closed.
func connectSandbox(ctx context.Context, f *storeFlags, t *tuningFlags, bucket string, observe breakerObserver) (*connection, error) {
	profile, err := s3store.ByName("versitygw")
	if err != nil {
		return nil, err
	}
	server, err := startSandbox(ctx, sandbox.Options{Dir: f.sandboxDir, Buckets: []string{bucket}})
	if err != nil {
		return nil, err
	}
	f.apply(&profile)
	cfg := aws.Config{
		Region:      server.Region(),
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey(), server.SecretKey(), ""),
	}
	c := assemble(t, cfg, profile, server.URL(), wire.NewClient(wire.Options{Limits: t.limits()}), observe)
	c.control = inFolder{c.control.(*s3store.Store), sandboxEndpoint(server.Dir())}
	c.verify, c.close = true, server.Close
	if f.sandboxDir == defaultSandboxDir {
		c.found = []string{"--sandbox-dir", server.Dir()}
	}
	return c, nil
}

func connectS3(ctx context.Context, f *storeFlags, t *tuningFlags, bucket string, observe breakerObserver) (*connection, error) {
	s, err := findStore(ctx, f, t, bucket)
	if err != nil {
		return nil, err
	}
	c := assemble(t, s.cfg, s.profile, s.endpoint, s.wire, observe)
	c.found = f.found(s.cfg, s.endpoint)
	return c, nil
}

// foundStore is what is known of a store before anything is done there.
type foundStore struct {
	cfg      aws.Config
	profile  s3store.Profile
	endpoint string // empty: AWS's own
	wire     *wire.Client
}

// findStore finds out which store the flags, the AWS environment and files mean, what
// it is, and with which credentials it is spoken to.
func findStore(ctx context.Context, f *storeFlags, t *tuningFlags, bucket string) (s foundStore, err error) {
	if s.cfg, err = loadConfig(ctx, f); err != nil {
		return s, err
	}
	if s.endpoint, err = f.endpoint(s.cfg); err != nil {
		return s, err
	}
	if err := findCredentials(ctx, s.cfg); err != nil {
		return s, err
	}
	s.wire = wire.NewClient(wire.Options{Limits: t.limits(), TLS: tlsConfig(s.cfg, f.noVerifySSL)})
	if s.profile, err = f.findProfile(ctx, s.wire, s.endpoint); err != nil {
		return s, err
	}
	switch {
	case s.endpoint == "" && f.region == "":
		s.cfg.Region, err = findRegion(ctx, s.cfg, s.profile, s.wire, bucket)
	case s.cfg.Region == "" && s.profile.Region == "":
		err = usagef("no region for bucket %s: set --region or AWS_REGION", bucket)
	}
	return s, err
}

// assemble puts the parts of a connection together.
func assemble(t *tuningFlags, cfg aws.Config, p s3store.Profile, endpoint string, w *wire.Client, observe breakerObserver) *connection {
	client := s3store.NewClient(cfg, p, endpoint, w)
	store := s3store.New(client, p, w)
	signer := s3presign.New(client, 0)
	if p.DirectHeads {
		signer = s3presign.NewDirect(client)
	}
	return &connection{control: store, provider: signer, endpoint: newEndpoint(t, store, w, observe)}
}

// newEndpoint is what all uploads of the command share.
func newEndpoint(t *tuningFlags, c multipart.Control, w *wire.Client, observe breakerObserver) *multipart.Endpoint {
	o := t.endpoint()
	o.Client = w
	o.Breaker.OnChange = func(from, to breaker.State) { observe(c.Traits().Endpoint, from, to) }
	return multipart.NewEndpoint(o)
}

// inFolder is the control plane of a sandbox, which is known by its folder: its
// address is another one each time.
type inFolder struct {
	*s3store.Store
	endpoint string
}

// Traits are the store's, under that name.
func (c inFolder) Traits() multipart.Traits {
	t := c.Store.Traits()
	t.Endpoint = c.endpoint
	return t
}

// sandboxEndpoint is the name of the sandbox of a folder.
func sandboxEndpoint(dir string) string { return schemeSandbox + "://" + filepath.ToSlash(dir) }

// isSandbox tells such a name from the address of a store.
func isSandbox(endpoint string) bool { return strings.HasPrefix(endpoint, schemeSandbox+"://") }

// found are the flags that say what the AWS environment or files have said of a
// store that is not AWS's, so that it is the same one wherever they are used.
func (s *storeFlags) found(cfg aws.Config, endpoint string) (words []string) {
	if endpoint != "" && s.endpointURL == "" {
		words = append(words, "--endpoint-url", endpoint)
	}
	if endpoint != "" && s.region == "" && cfg.Region != "" {
		words = append(words, "--region", cfg.Region)
	}
	// In the SDK's order.
	if name := cmp.Or(os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE")); name != "" && s.profile == "" {
		words = append(words, "--profile", name)
	}
	return words
}

// endpoint is the store's address: the flag's, else what the SDK finds in the
// environment and the AWS files; empty for AWS's own.
func (s *storeFlags) endpoint(cfg aws.Config) (string, error) {
	if s.endpointURL != "" {
		return s.endpointURL, nil
	}
	found := s3.NewFromConfig(cfg).Options().BaseEndpoint
	if found == nil {
		return "", nil
	}
	endpoint, err := parseEndpoint(*found)
	if err != nil {
		return "", usagef("the endpoint of the AWS environment or files: %w", err)
	}
	return endpoint, nil
}

// findProfile is the one of --provider, else the one of the endpoint.
func (s *storeFlags) findProfile(ctx context.Context, w *wire.Client, endpoint string) (p s3store.Profile, err error) {
	if s.provider != "" {
		p, err = s3store.ByName(s.provider)
	} else {
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		p = s3store.Detect(ctx, w, endpoint)
	}
	s.apply(&p)
	return p, err
}

// tlsConfig verifies with the certificates of --ca-bundle, AWS_CA_BUNDLE or the
// AWS files, which the SDK has read into a client of its own.
func tlsConfig(cfg aws.Config, noVerify bool) *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: noVerify}
	if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok && b.GetTransport().TLSClientConfig != nil {
		t.RootCAs = b.GetTransport().TLSClientConfig.RootCAs
	}
	return t
}

// findRegion asks AWS where the bucket is. If it does not say, the configured
// region has to do.
func findRegion(ctx context.Context, cfg aws.Config, p s3store.Profile, w *wire.Client, bucket string) (string, error) {
	hint := cfg.Region
	if hint == "" {
		hint = "us-east-1"
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	region, err := s3store.BucketRegion(ctx, s3store.NewClient(cfg, p, "", w), bucket, hint)
	switch {
	case err == nil:
		return region, nil
	case cfg.Region != "":
		return cfg.Region, nil
	}
	return "", fmt.Errorf("the region of bucket %s cannot be found, set --region: %w", bucket, err)
}

// verify holds what the store says of an object against what was sent.
func verify(ctx context.Context, c multipart.Control, r multipart.Result, dest string) error {
	info, err := c.Head(ctx, r.Object.Bucket, r.Object.Key)
	if err != nil {
		return fmt.Errorf("verify %s: %w", show(dest), err)
	}
	if info.Size != r.Size {
		return &multipart.MismatchError{What: "size of " + show(dest), Want: fmt.Sprint(r.Size), Got: fmt.Sprint(info.Size)}
	}
	if d := info.Digest; d.Algorithm() == r.Digest.Algorithm() && d != r.Digest {
		return &multipart.MismatchError{What: d.Algorithm().String() + " of " + show(dest), Want: r.Digest.Base64(), Got: d.Base64()}
	}
	return nil
}
