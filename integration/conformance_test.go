package integration

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/cmd/chunkup/sandbox"
	"github.com/chunkup/chunkup/integration/minio"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// conform runs the suite against a real server, spoken to as a provider.
func conform(t *testing.T, url, access, secret, provider string) {
	w := wire.NewClient(wire.Options{})
	t.Cleanup(w.CloseIdle)
	profile, err := s3store.ByName(provider)
	if err != nil {
		t.Fatal(err)
	}
	cfg := aws.Config{Credentials: credentials.NewStaticCredentialsProvider(access, secret, "")}
	client := s3store.NewClient(cfg, profile, url, w)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("conformance")}); err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(t *testing.T) storetest.Store {
		return storetest.Store{Control: s3store.New(client, profile, w), Provider: s3presign.New(client, 0),
			Client: w, Bucket: "conformance", PartSize: 5 * mib}
	})
}

func TestMinIOConforms(t *testing.T) {
	for _, provider := range []string{"minio", "generic"} {
		t.Run(provider, func(t *testing.T) {
			s := minio.Start(t)
			conform(t, s.URL, s.AccessKey, s.SecretKey, provider)
		})
	}
}

func TestGatewayConforms(t *testing.T) {
	s, err := sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conform(t, s.URL(), s.AccessKey(), s.SecretKey(), "versitygw")
}
