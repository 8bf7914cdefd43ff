package s3store_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// Both planes sign by one clock and with the same credentials, whichever of the
// two has come to know better.
func TestOneClockAndKeyForBothPlanes(t *testing.T) {
	r := record(t, answerXML(200, "<ListPartsResult></ListPartsResult>"))
	p, _ := s3store.ByName("minio")
	key := "OLD"
	cfg := aws.Config{Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key, SecretAccessKey: "SK"}, nil
	}))}
	client := s3store.NewClient(cfg, p, r.URL, r.wire)
	provider := s3presign.New(client, 0)
	store := s3store.New(client, p, r.wire)
	// signed is the key and the time of a control call and of a part's request.
	signed := func() (keys [2]string, times [2]time.Time) {
		t.Helper()
		if _, err := store.List(t.Context(), upload); err != nil {
			t.Fatal(err)
		}
		part, err := provider.Presign(t.Context(), presign.Part{Bucket: "b", Key: "k", UploadID: "u", Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(part.URL)
		header := r.requests[len(r.requests)-1].Header
		_, credential, _ := strings.Cut(header.Get("Authorization"), "Credential=")
		for i, c := range []string{credential, u.Query().Get("X-Amz-Credential")} {
			keys[i], _, _ = strings.Cut(c, "/")
		}
		for i, date := range []string{header.Get("X-Amz-Date"), u.Query().Get("X-Amz-Date")} {
			times[i], _ = time.Parse("20060102T150405Z", date)
		}
		return keys, times
	}
	near := func(want time.Duration) {
		t.Helper()
		_, times := signed()
		for i, at := range times {
			if off := time.Until(at) - want; off.Abs() > 3*time.Second {
				t.Errorf("plane %d signs %v from now, want %v", i, time.Until(at), want)
			}
		}
	}
	near(0)
	provider.Learn(time.Now().Add(20 * time.Minute))
	near(20 * time.Minute)
	provider.Learn(time.Now().Add(-time.Hour))
	near(-time.Hour)

	key = "NEW"
	if keys, _ := signed(); keys != [2]string{"OLD", "OLD"} {
		t.Errorf("keys %v", keys)
	}
	provider.Renew(t.Context())
	if keys, _ := signed(); keys != [2]string{"NEW", "NEW"} {
		t.Errorf("renewed: keys %v", keys)
	}
}
