package s3store_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
)

func TestDetectByServer(t *testing.T) {
	for server, want := range map[string]string{"MinIO": "minio", "VERSITYGW": "versitygw", "Ceph Object Gateway (squid)": "ceph",
		"UploadServer": "gcs", "nginx": "generic", "": "generic", "cloudflare": "generic", "AmazonS3": "generic", "SeaweedFS 30GB 3.88": "generic"} {
		r := record(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Server", server)
			w.WriteHeader(403)
		})
		if p := s3store.Detect(t.Context(), r.wire, r.URL); p.Name != want {
			t.Errorf("%q: %s, want %s", server, p.Name, want)
		}
		if len(r.requests) != 1 || r.requests[0].Method != "HEAD" || r.requests[0].Header.Get("Authorization") != "" {
			t.Errorf("%d requests, %+v", len(r.requests), r.requests[0])
		}
	}
}

func TestDetectByHost(t *testing.T) {
	dialed := false
	w := wire.NewClient(wire.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		dialed = true
		return nil, errors.New("nothing is there")
	}})
	for endpoint, want := range map[string]struct{ name, region string }{
		"":                                                {"aws", ""},
		"https://s3.eu-west-1.amazonaws.com":              {"aws", ""},
		"https://s3.cn-north-1.amazonaws.com.cn":          {"aws", ""},
		"https://storage.googleapis.com":                  {"gcs", "auto"},
		"https://b.storage.googleapis.com":                {"gcs", "auto"},
		"https://storage.europe-west3.rep.googleapis.com": {"gcs", "auto"},
		"https://abc123.r2.cloudflarestorage.com":         {"r2", "auto"},
		"https://abc123.eu.r2.cloudflarestorage.com":      {"r2", "auto"},
		"https://s3.eu-central-003.backblazeb2.com":       {"b2", "eu-central-003"},
		"https://b.s3.eu-central-003.backblazeb2.com":     {"b2", "eu-central-003"},
		"https://S3.EU-Central-1.WasabiSys.com:443/":      {"wasabi", "eu-central-1"},
		"https://s3.wasabisys.com":                        {"wasabi", "us-east-1"},
		"https://fra1.digitaloceanspaces.com":             {"spaces", "us-east-1"},
	} {
		if p := s3store.Detect(t.Context(), w, endpoint); p.Name != want.name || p.Region != want.region || dialed {
			t.Errorf("%q: %s, region %q, asked %v; want %v", endpoint, p.Name, p.Region, dialed, want)
		}
	}
	for _, endpoint := range []string{"http://127.0.0.1:1", "::", "https://amazonaws.com.evil.example", "https://evilr2.cloudflarestorage.com.example",
		"https://www.googleapis.com", "https://backblazeb2.com.example"} {
		if p := s3store.Detect(t.Context(), w, endpoint); p.Name != "generic" || s3store.IsAWS(endpoint) {
			t.Errorf("%q is taken for %s", endpoint, p.Name)
		}
	}
	if _, err := s3store.ByName("nobody"); err == nil || !strings.Contains(err.Error(), "minio") {
		t.Errorf("err = %v", err)
	}
}

// Every row of the table can plan an upload, and says nothing that it does not
// mean.
func TestProfiles(t *testing.T) {
	for _, name := range s3store.Names() {
		p, err := s3store.ByName(name)
		traits := p.Traits
		plan, planErr := chunker.NewPlan(traits.Limits.MaxObject, 0, traits.Limits)
		if err != nil || planErr != nil || p.Name != name || traits.MetaPrefix != "" || traits.Endpoint != "" {
			t.Errorf("%s: %+v, %v, %v", name, p, err, planErr)
		}
		if traits.Algorithm == chunker.None || traits.FullObject && !traits.Algorithm.Combines() {
			t.Errorf("%s: %v, full %v", name, traits.Algorithm, traits.FullObject)
		}
		if traits.EqualParts != (name == "r2") || plan.PartSize > 5<<30 {
			t.Errorf("%s: equal parts %v, %d", name, traits.EqualParts, plan.PartSize)
		}
	}
	creates := map[string]bool{"aws": true, "r2": true, "minio": true, "versitygw": true, "seaweedfs": true}
	for _, name := range s3store.Names() {
		if p, _ := s3store.ByName(name); p.Traits.CreateOnly != creates[name] {
			t.Errorf("%s: create only %v", name, p.Traits.CreateOnly)
		}
	}
}

// AWS names the region even when it refuses.
func TestBucketRegion(t *testing.T) {
	for _, status := range []int{200, 301, 403} {
		r := record(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
			w.WriteHeader(status)
		})
		p, _ := s3store.ByName("aws")
		p.PathStyle = true
		client := s3store.NewClient(aws.Config{}, p, r.URL, r.wire)
		region, err := s3store.BucketRegion(t.Context(), client, "bucket", "us-east-1")
		if region != "eu-central-1" || err != nil {
			t.Errorf("%d: %q, %v", status, region, err)
		}
	}
	r := record(t, answerXML(404, ""))
	p, _ := s3store.ByName("aws")
	p.PathStyle = true
	if _, err := s3store.BucketRegion(t.Context(), s3store.NewClient(aws.Config{}, p, r.URL, r.wire), "bucket", "us-east-1"); err == nil {
		t.Error("no error for a bucket that is not there")
	}
}
