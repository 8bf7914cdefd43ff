package s3presign_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

func client(p aws.CredentialsProvider) *s3.Client {
	return s3.New(s3.Options{Region: "us-east-1", Credentials: p, UsePathStyle: true,
		BaseEndpoint: aws.String("http://127.0.0.1:9000")})
}

// What goes over the wire is pinned: an update of the SDK that changes it must
// be noticed here.
func TestPresignPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock says 2000-01-01 00:00 UTC
		p := s3presign.New(client(credentials.NewStaticCredentialsProvider("AK", "SK", "")), 0)
		r, err := p.Presign(t.Context(), presign.Part{Bucket: "b", Key: "a+b c/ü", UploadID: "up/1", Number: 3, Size: 10,
			ChecksumHeader: "X-Amz-Checksum-Crc64nvme", Checksum: "AAAAAAAAAAA="})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(r.URL)
		if err != nil || r.Method != http.MethodPut || u.EscapedPath() != "/b/a%2Bb%20c/%C3%BC" {
			t.Errorf("%s %s, %v", r.Method, r.URL, err)
		}
		query := u.Query()
		if len(query.Get("X-Amz-Signature")) != 64 {
			t.Errorf("signature %q", query.Get("X-Amz-Signature"))
		}
		query.Del("X-Amz-Signature")
		want := url.Values{
			"X-Amz-Algorithm":     {"AWS4-HMAC-SHA256"},
			"X-Amz-Credential":    {"AK/20000101/us-east-1/s3/aws4_request"},
			"X-Amz-Date":          {"20000101T000000Z"},
			"X-Amz-Expires":       {"900"},
			"X-Amz-SignedHeaders": {"content-length;host;x-amz-checksum-crc64nvme"},
			"partNumber":          {"3"}, "uploadId": {"up/1"}, "x-id": {"UploadPart"},
		}
		if !reflect.DeepEqual(query, want) {
			t.Errorf("query %v\nwant  %v", query, want)
		}
		if want := (http.Header{"X-Amz-Checksum-Crc64nvme": {"AAAAAAAAAAA="}}); !reflect.DeepEqual(r.Header, want) {
			t.Errorf("header %v, want %v", r.Header, want)
		}
		if got := time.Until(r.NotAfter); got != 15*time.Minute {
			t.Errorf("lives for %v", got)
		}
	})
}

// An object that goes up in one PUT carries its properties, all of them signed.
func TestPresignObject(t *testing.T) {
	header := http.Header{"Content-Type": {"text/plain"}, "X-Amz-Meta-A": {"b"}, "X-Amz-Storage-Class": {"STANDARD"},
		"X-Amz-Tagging": {"a=b"}, "Cache-Control": {"no-cache"}, "X-Amz-Acl": {"private"}}
	p := s3presign.New(client(credentials.NewStaticCredentialsProvider("AK", "SK", "")), time.Minute)
	r, err := p.Presign(t.Context(), presign.Part{Bucket: "b", Key: "k", Size: 3, Header: header,
		ChecksumHeader: "Content-Md5", Checksum: "AAAA"})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(r.URL)
	want := "cache-control;content-length;content-md5;content-type;host;x-amz-acl;x-amz-meta-a;x-amz-storage-class;x-amz-tagging"
	if got := u.Query().Get("X-Amz-SignedHeaders"); got != want {
		t.Errorf("signed %s\nwant   %s", got, want)
	}
	header.Set("Content-Md5", "AAAA")
	if !reflect.DeepEqual(r.Header, header) {
		t.Errorf("header %v, want %v", r.Header, header)
	}
}

// Conditions and digests of another spelling are signed as they are.
func TestPresignOtherHeaders(t *testing.T) {
	p := s3presign.New(client(credentials.NewStaticCredentialsProvider("AK", "SK", "")), 0)
	for want, part := range map[string]presign.Part{
		"content-length;host;if-none-match": {Header: http.Header{"If-None-Match": {"*"}}},
		"content-length;host;x-goog-hash":   {UploadID: "u", Number: 1, ChecksumHeader: "X-Goog-Hash", Checksum: "crc32c=n03x6A=="},
	} {
		part.Bucket, part.Key, part.Size = "b", "k", 3
		header := part.Header.Clone()
		if header == nil {
			header = http.Header{part.ChecksumHeader: {part.Checksum}}
		}
		r, err := p.Presign(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(r.URL)
		if got := u.Query().Get("X-Amz-SignedHeaders"); got != want || !reflect.DeepEqual(r.Header, header) {
			t.Errorf("signed %s, want %s; header %v, want %v", got, want, r.Header, header)
		}
	}
}

// temporary credentials that end, and are fetched again when told to.
type temporary struct {
	fetched int
	expires time.Time
	err     error
}

func (p *temporary) Retrieve(context.Context) (aws.Credentials, error) {
	p.fetched++
	return aws.Credentials{AccessKeyID: "AK", SecretAccessKey: "SK", SessionToken: "T", CanExpire: true, Expires: p.expires}, p.err
}

func TestRequestsDieWithTheirCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		creds := &temporary{expires: time.Now().Add(5 * time.Minute)}
		p := s3presign.New(client(aws.NewCredentialsCache(creds)), time.Hour)
		r, err := p.Presign(t.Context(), presign.Part{Bucket: "b", Key: "k", UploadID: "u", Number: 1})
		if err != nil || !r.NotAfter.Equal(creds.expires) {
			t.Errorf("not after %v, want %v; %v", r.NotAfter, creds.expires, err)
		}
	})
}

func TestRenewFetchesCredentials(t *testing.T) {
	creds := &temporary{expires: time.Now().Add(time.Hour)}
	p := s3presign.New(client(aws.NewCredentialsCache(creds)), 0)
	for range 3 {
		p.Presign(t.Context(), presign.Part{Bucket: "b", Key: "k", UploadID: "u", Number: 1})
	}
	if creds.fetched != 1 {
		t.Errorf("fetched %d times", creds.fetched)
	}
	if err := p.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Presign(t.Context(), presign.Part{Bucket: "b", Key: "k", UploadID: "u", Number: 1})
	if creds.fetched != 2 {
		t.Errorf("fetched %d times after Renew, want 2", creds.fetched)
	}
}

func TestNoCredentials(t *testing.T) {
	broken := errors.New("no metadata service")
	p := s3presign.New(client(&temporary{err: broken}), 0)
	if _, err := p.Presign(t.Context(), presign.Part{Bucket: "b", Key: "k"}); !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
}
