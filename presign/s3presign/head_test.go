package s3presign_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// direct is a presigner that knows already how the bucket's requests look.
func direct(t testing.TB, o s3.Options, bucket string) *s3presign.Presigner {
	p := s3presign.NewDirect(s3.New(o))
	p.Clock().Wall = func() time.Time { return aDay }
	for range 2 {
		if _, err := p.Presign(context.Background(), presign.Part{Bucket: bucket, Key: "first", Size: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// resigned is what the SDK signs the request with that is to be sent.
func resigned(o s3.Options, r presign.Request, size int64) (string, error) {
	sent, err := http.NewRequest(r.Method, r.URL, nil)
	if err != nil {
		return "", err
	}
	sent.Header, sent.ContentLength = r.Header.Clone(), size
	sent.Header.Del("Authorization")
	creds, err := o.Credentials.Retrieve(context.Background())
	if err != nil {
		return "", err
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	err = signer.SignHTTP(context.Background(), creds, sent, "UNSIGNED-PAYLOAD", "s3", o.Region, aDay)
	return sent.Header.Get("Authorization"), err
}

// What is sent is what was signed, under the name and with the properties that were
// asked for, wherever the store is.
func TestDirectSignsWhatIsSent(t *testing.T) {
	for name, o := range stores() {
		t.Run(name, func(t *testing.T) {
			presigned := newPair(o)
			rapid.Check(t, func(rt *rapid.T) {
				part := drawPart(rt)
				part.Bucket, part.UploadID, part.Number = "bucket", "", 0
				got, err := direct(t, o, part.Bucket).Presign(context.Background(), part)
				if err != nil {
					rt.Fatal(err)
				}
				if want, err := resigned(o, got, part.Size); err != nil || got.Header.Get("Authorization") != want {
					rt.Fatalf("%+v:\nsigned %q\nbut is %q (%v)", part, got.Header.Get("Authorization"), want, err)
				}
				inURL, err := presigned.mine.Presign(context.Background(), part)
				if err != nil {
					rt.Fatal(err)
				}
				if err := samePlace(got.URL, inURL.URL); err != nil {
					rt.Fatal(err)
				}
				if err := carries(got, part); err != nil {
					rt.Fatalf("%+v: %v", part, err)
				}
			})
		})
	}
}

// samePlace compares a plain URL with a presigned one.
func samePlace(plain, presigned string) error {
	p, err := url.Parse(plain)
	if err != nil {
		return err
	}
	q, err := url.Parse(presigned)
	if err != nil {
		return err
	}
	if p.RawQuery != "" || p.Scheme != q.Scheme || p.Host != q.Host || p.EscapedPath() != q.EscapedPath() {
		return fmt.Errorf("%s is not where %s is", plain, presigned)
	}
	return nil
}

// carries tells what of the part's headers is missing. Two of those that are drawn are
// never signed, and so not the request's.
func carries(r presign.Request, part presign.Part) error {
	want := part.Header.Clone()
	if want == nil {
		want = http.Header{}
	}
	if part.ChecksumHeader != "" {
		want.Set(part.ChecksumHeader, part.Checksum)
	}
	for name, values := range want {
		name = http.CanonicalHeaderKey(name)
		unsigned := slices.Contains([]string{"User-Agent", "Expect"}, name)
		for _, v := range values {
			if slices.Contains(r.Header[name], v) == unsigned {
				return fmt.Errorf("%s: %q among %q", name, v, r.Header[name])
			}
		}
	}
	return nil
}

// A request of temporary credentials carries their token, and no more than it needs.
func TestDirectHead(t *testing.T) {
	o := stores()["token"]
	part := presign.Part{Bucket: "bucket", Key: "a key", Size: 4096, ChecksumHeader: "X-Amz-Checksum-Crc64nvme", Checksum: "AAAAAAAAAAA=",
		Header: http.Header{"Content-Type": {"text/plain"}, "User-Agent": {"mine"}}}
	got, err := direct(t, o, part.Bucket).Presign(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	authorization := got.Header.Get("Authorization")
	const signed = "SignedHeaders=content-length;content-type;host;x-amz-checksum-crc64nvme;x-amz-content-sha256;x-amz-date;x-amz-security-token,"
	if !strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 Credential=AKID/20261130/us-east-1/s3/aws4_request, ") || !strings.Contains(authorization, signed) {
		t.Errorf("Authorization: %s", authorization)
	}
	got.Header.Del("Authorization")
	got.NotAfter = time.Time{}
	want := presign.Request{Method: "PUT", URL: "http://127.0.0.1:9000/bucket/a%20key", Header: http.Header{
		"Content-Type": {"text/plain"}, "X-Amz-Checksum-Crc64nvme": {"AAAAAAAAAAA="}, "X-Amz-Content-Sha256": {"UNSIGNED-PAYLOAD"},
		"X-Amz-Date": {"20261130T235958Z"}, "X-Amz-Security-Token": {"a/token+="}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The client's own options may spell a header as they like.
func TestDirectSendsHeadersOfOptions(t *testing.T) {
	o := stores()["path"]
	o.APIOptions = []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		return s.Build.Add(middleware.BuildMiddlewareFunc("spelt", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
			in.Request.(*smithyhttp.Request).Header["x-amz-meta-team"] = []string{"a"}
			return next.HandleBuild(ctx, in)
		}), middleware.After)
	}}
	p := direct(t, o, "bucket")
	for range 2 {
		got, err := p.Presign(t.Context(), presign.Part{Bucket: "bucket", Key: "key", Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.Header.Get("Authorization"), ";x-amz-meta-team,") || got.Header.Get("X-Amz-Meta-Team") != "a" {
			t.Errorf("%q", got.Header)
		}
		got.Header["X-Amz-Meta-Team"][0] = "the caller's to change"
	}
}

// Parts are presigned as ever, and so is every request of a presigner whose requests
// are for others.
func TestDirectLeavesOthersInTheURL(t *testing.T) {
	o := stores()["path"]
	object := presign.Part{Bucket: "bucket", Key: "key", Size: 4096}
	part := object
	part.UploadID, part.Number = "upload", 7
	handed := newPair(o).mine
	sent := direct(t, o, "bucket")
	for range 4 {
		for name, tc := range map[string]struct {
			by    *s3presign.Presigner
			part  presign.Part
			inURL bool
		}{
			"a part, sent": {sent, part, true}, "an object, sent": {sent, object, false},
			"a part, handed out": {handed, part, true}, "an object, handed out": {handed, object, true},
		} {
			got, err := tc.by.Presign(t.Context(), tc.part)
			if err != nil {
				t.Fatal(err)
			}
			if inURL, inHead := strings.Contains(got.URL, "X-Amz-Signature="), got.Header.Get("Authorization") != ""; inURL != tc.inURL || inHead == tc.inURL {
				t.Errorf("%s: signed in the URL: %t, in the head: %t", name, inURL, inHead)
			}
		}
	}
}

// The head goes by the store's clock, and lives as long as a store bears with it.
func TestDirectTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := direct(t, stores()["path"], "bucket")
		p.Clock().Wall = nil
		p.Learn(time.Now().Add(time.Hour))
		got, err := p.Presign(t.Context(), presign.Part{Bucket: "bucket", Key: "key", Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		if at, want := got.Header.Get("X-Amz-Date"), time.Now().Add(time.Hour).UTC().Format("20060102T150405Z"); at != want {
			t.Errorf("signed at %s, the store's clock shows %s", at, want)
		}
		if want := time.Now().Add(15 * time.Minute); !got.NotAfter.Equal(want) {
			t.Errorf("lives until %s, want %s", got.NotAfter, want)
		}
	})
}
