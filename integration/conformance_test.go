package integration

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/cmd/chunkup/sandbox"
	"github.com/chunkup/chunkup/integration/minio"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// as is how a server is spoken to.
type as struct {
	name  string
	alter func(*multipart.Traits)
}

// manners are a server's own profile, the same with composite checksums, and
// the one that suits every store. Of any of them the server keeps what it
// promises in its own about creating only.
func manners(provider string) []as {
	return []as{
		{provider, func(*multipart.Traits) {}},
		{provider, func(t *multipart.Traits) { t.Algorithm, t.FullObject = chunker.CRC32C, false }},
		{provider, func(t *multipart.Traits) { t.Algorithm = chunker.CRC32C }},
		{provider, func(t *multipart.Traits) { t.Algorithm, t.FullObject = chunker.SHA256, false }},
		{"generic", func(*multipart.Traits) {}},
		{"generic", func(t *multipart.Traits) { t.CreateOnly = true }},
	}
}

// conform runs the suite against a real server, in all manners.
func conform(t *testing.T, url, access, secret, provider string) {
	w := wire.NewClient(wire.Options{})
	t.Cleanup(w.CloseIdle)
	cfg := aws.Config{Credentials: credentials.NewStaticCredentialsProvider(access, secret, "")}
	for i, m := range manners(provider) {
		profile, err := s3store.ByName(m.name)
		if err != nil {
			t.Fatal(err)
		}
		m.alter(&profile.Traits)
		client := s3store.NewClient(cfg, profile, url, w)
		bucket := fmt.Sprintf("conformance-%d", i)
		if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
			t.Fatal(err)
		}
		provider := s3presign.New(client, 0)
		if profile.DirectHeads {
			provider = direct(t, client, bucket)
		}
		t.Run(fmt.Sprintf("%s %v full=%v", m.name, profile.Traits.Algorithm, profile.Traits.FullObject), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Store {
				return storetest.Store{Control: s3store.New(client, profile, w), Provider: provider,
					Client: w, Bucket: bucket, PartSize: 5 * mib}
			})
		})
	}
}

func TestMinIOConforms(t *testing.T) {
	s := minio.Start(t)
	conform(t, s.URL, s.AccessKey, s.SecretKey, "minio")
}

func TestGatewayConforms(t *testing.T) {
	s, err := sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conform(t, s.URL(), s.AccessKey(), s.SecretKey(), "versitygw")
}

// The gateway lists uploads by prefix, MinIO those of one key, or of all: what
// s3store says of it.
func TestPrefixesOfUploads(t *testing.T) {
	count := func(t *testing.T, url, access, secret, provider string, want map[string]int) {
		w := wire.NewClient(wire.Options{})
		t.Cleanup(w.CloseIdle)
		profile, err := s3store.ByName(provider)
		if err != nil {
			t.Fatal(err)
		}
		cfg := aws.Config{Credentials: credentials.NewStaticCredentialsProvider(access, secret, "")}
		client := s3store.NewClient(cfg, profile, url, w)
		if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("prefixes")}); err != nil {
			t.Fatal(err)
		}
		s := s3store.New(client, profile, w)
		for _, key := range []string{"dir/a", "dir/a", "dir/ab", "z"} {
			if _, err := s.Create(t.Context(), multipart.Intent{Bucket: "prefixes", Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		for prefix, n := range want {
			if uploads, err := s.ListUploads(t.Context(), "prefixes", prefix); err != nil || len(uploads) != n {
				t.Errorf("%q: %+v, %v; want %d", prefix, uploads, err, n)
			}
		}
	}
	t.Run("minio", func(t *testing.T) {
		s := minio.Start(t)
		count(t, s.URL, s.AccessKey, s.SecretKey, "minio", map[string]int{"": 4, "dir": 3, "dir/": 3, "dir/a": 3, "z": 1, "x": 0})
	})
	t.Run("versitygw", func(t *testing.T) {
		s, err := sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		count(t, s.URL(), s.AccessKey(), s.SecretKey(), "versitygw", map[string]int{"": 4, "dir": 3, "dir/": 3, "dir/a": 3, "z": 1})
	})
}
