package s3presign_test

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

var aPart = presign.Part{Bucket: "b", Key: "k", UploadID: "u", Number: 1}

// signedAt is when a URL says that it was signed.
func signedAt(t *testing.T, address string) time.Time {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse("20060102T150405Z", u.Query().Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A URL is signed by the store's clock once that is known, and its end is told by
// the clock of the one who asked, whatever happens to it in between.
func TestLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := s3presign.New(client(credentials.NewStaticCredentialsProvider("AK", "SK", "")), time.Minute)
		var jump time.Duration
		p.Clock().Wall = func() time.Time { return time.Now().Add(jump) }
		store := time.Now().Add(20 * time.Minute)
		signed := func(step string, want time.Time) {
			t.Helper()
			r, err := p.Presign(t.Context(), aPart)
			if err != nil {
				t.Fatal(err)
			}
			if got := signedAt(t, r.URL); !got.Equal(want) {
				t.Errorf("%s: signed at %v, want %v", step, got, want)
			}
			if got := time.Until(r.NotAfter); got != time.Minute {
				t.Errorf("%s: lives for %v", step, got)
			}
		}
		signed("nothing learned", time.Now())
		p.Learn(store)
		signed("learned", store)
		jump = time.Hour
		signed("jumped", store.Add(time.Hour))
		p.Learn(store)
		signed("learned again", store)
	})
}

// Credentials end by the store's clock, too.
func TestCredentialsEndByTheStoresClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		creds := &temporary{expires: time.Now().Add(30 * time.Minute)}
		p := s3presign.New(client(aws.NewCredentialsCache(creds)), 15*time.Minute)
		p.Learn(time.Now().Add(20 * time.Minute)) // and half a second, for a Date header has none
		r, err := p.Presign(t.Context(), aPart)
		if left := time.Until(r.NotAfter); err != nil || left != 10*time.Minute-time.Second/2 {
			t.Errorf("lives for %v; %v", left, err)
		}
	})
}
