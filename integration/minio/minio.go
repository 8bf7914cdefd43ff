// Package minio runs a real MinIO server for tests.
//
// Start gives a test a server of its own; a Shared in a package-level variable
// of a test package gives all tests of that package one. The server listens on
// loopback, stores into a temporary folder and ends with the test, or, on
// Linux, with the test binary if that is killed.
//
// The server's program is built once per machine, by `go install`, into a
// cache folder: $CHUNKUP_CACHE if set, else chunkup in os.UserCacheDir. That
// takes some minutes and the network. MinIO's licence is the AGPL; it is run
// as a process of its own and never linked.
package minio

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Region is the region of every Server.
const Region = "us-east-1"

// Server is a running MinIO. Get one from Start or Shared.Server; its zero
// value does not work. It is safe for concurrent use.
type Server struct {
	URL       string // http://127.0.0.1:port
	AccessKey string
	SecretKey string

	proc *process
}

// Start runs a server until the test ends. The env entries, NAME=value, are
// added to its environment. A server that cannot be built or started fails the
// test; what it printed is logged if the test fails.
func Start(t testing.TB, env ...string) *Server {
	t.Helper()
	s, err := launch(binary(t), t.TempDir(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.proc.kill()
		s.logTo(t)
	})
	return s
}

// logTo shows what the server printed if the test failed.
func (s *Server) logTo(t testing.TB) {
	if t.Failed() {
		t.Logf("output of minio at %s:\n%s", s.URL, s.proc.output.String())
	}
}

// Client returns a client for the server itself.
func (s *Server) Client() *s3.Client { return s.ClientAt(s.URL) }

// ClientAt returns a client with the server's credentials for another endpoint
// that leads to it, such as a proxy's URL. It opens a connection for each
// request, so that it leaves none behind.
func (s *Server) ClientAt(endpoint string, options ...func(*s3.Options)) *s3.Client {
	return s3.New(s3.Options{
		Region:       Region,
		BaseEndpoint: aws.String(endpoint),
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		HTTPClient:   &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}, options...)
}

// Bucket makes a new bucket with a random name and returns the name.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	name := "test-" + strings.ToLower(rand.Text())
	if _, err := s.Client().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatalf("minio: create bucket: %v", err)
	}
	return name
}
