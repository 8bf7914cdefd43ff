package s3presign_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

var aDay = time.Date(2026, 11, 30, 23, 59, 58, 7, time.UTC)

// fixed is the SDK's signer at one moment.
type fixed struct{ *v4.Signer }

func (f fixed) PresignHTTP(ctx context.Context, creds aws.Credentials, r *http.Request, hash, service, region string, _ time.Time, opts ...func(*v4.SignerOptions)) (string, http.Header, error) {
	return f.Signer.PresignHTTP(ctx, creds, r, hash, service, region, aDay, opts...)
}

// bySDK is what the SDK's own presigner makes of a part.
func bySDK(client *s3.Client, part presign.Part) (presign.Request, error) {
	header := part.Header.Clone()
	if part.ChecksumHeader != "" {
		if header == nil {
			header = http.Header{}
		}
		header.Set(part.ChecksumHeader, part.Checksum)
	}
	options := func(o *s3.PresignOptions) {
		o.Expires = s3presign.DefaultTTL
		o.Presigner = fixed{v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}
		for name, values := range header {
			for _, v := range values {
				o.ClientOptions = append(o.ClientOptions, s3.WithAPIOptions(smithyhttp.AddHeaderValue(name, v)))
			}
		}
	}
	var signed *v4.PresignedHTTPRequest
	var err error
	if p := s3.NewPresignClient(client); part.UploadID == "" {
		signed, err = p.PresignPutObject(context.Background(),
			&s3.PutObjectInput{Bucket: &part.Bucket, Key: &part.Key, ContentLength: &part.Size}, options)
	} else {
		signed, err = p.PresignUploadPart(context.Background(), &s3.UploadPartInput{Bucket: &part.Bucket, Key: &part.Key,
			UploadId: &part.UploadID, PartNumber: aws.Int32(int32(part.Number)), ContentLength: &part.Size}, options)
	}
	if err != nil {
		return presign.Request{}, err
	}
	signed.SignedHeader.Del("Host")
	signed.SignedHeader.Del("Content-Length")
	return presign.Request{Method: signed.Method, URL: signed.URL, Header: signed.SignedHeader}, nil
}

// pair is a client and the presigner made of it, which counts how often it asks the
// SDK.
type pair struct {
	client *s3.Client
	mine   *s3presign.Presigner
	mu     sync.Mutex
	asked  int
}

func newPair(o s3.Options) *pair {
	p := &pair{client: s3.New(o)}
	p.mine = s3presign.New(s3.New(o, s3.WithAPIOptions(func(*middleware.Stack) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		return nil
	})), 0)
	p.mine.Clock().Wall = func() time.Time { return aDay }
	return p
}

// compare returns how the two differ.
func (p *pair) compare(part presign.Part) error {
	got, err := p.mine.Presign(context.Background(), part)
	want, wantErr := bySDK(p.client, part)
	if (err == nil) != (wantErr == nil) {
		return fmt.Errorf("%+v: err = %v, the SDK's %w", part, err, wantErr)
	}
	got.NotAfter = time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%+v (-SDK +got):\n%s", part, diff)
	}
	return nil
}

func static(token string) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("AKID", "SECRET", token)
}

// stores are clients of all kinds that sign in the one way.
func stores() map[string]s3.Options {
	minio, slash, port := aws.String("http://127.0.0.1:9000"), aws.String("https://gateway.test/s3/"), aws.String("https://s3.test:443")
	return map[string]s3.Options{
		"path":        {Region: "us-east-1", Credentials: static(""), BaseEndpoint: minio, UsePathStyle: true},
		"token":       {Region: "us-east-1", Credentials: static("a/token+="), BaseEndpoint: minio, UsePathStyle: true},
		"folder":      {Region: "us-east-1", Credentials: static(""), BaseEndpoint: slash, UsePathStyle: true},
		"usual port":  {Region: "us-east-1", Credentials: static(""), BaseEndpoint: port, UsePathStyle: true},
		"host":        {Region: "us-east-1", Credentials: static(""), BaseEndpoint: aws.String("https://store.test")},
		"aws":         {Region: "eu-central-1", Credentials: static("")},
		"accelerated": {Region: "eu-central-1", Credentials: static(""), UseAccelerate: true},
		"no sums": {Region: "eu-central-1", Credentials: static(""),
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired},
		"an option of the user's": {Region: "eu-central-1", Credentials: static(""),
			APIOptions: []func(*middleware.Stack) error{smithyhttp.SetHeaderValue("X-Amz-Request-Payer", "requester")}},
	}
}

func drawPart(t *rapid.T) presign.Part {
	key := rapid.OneOf(rapid.StringN(1, 40, 200), rapid.StringMatching(`(/|\.\.?|%2F|[a-c +?#%&=~ü])+`),
		rapid.StringMatching(`[a-z]{1,8}(/[a-z]{1,8}){0,4}\.txt`))
	part := presign.Part{
		Bucket: rapid.SampledFrom([]string{"bucket", "other-bucket", "with.dots", "arn:aws:s3:eu-central-1:123456789012:accesspoint/ap"}).Draw(t, "bucket"),
		Key:    key.Draw(t, "key"), Size: rapid.SampledFrom([]int64{0, 1, 4096, 5 << 30}).Draw(t, "size"),
	}
	if rapid.Bool().Draw(t, "multipart") {
		part.UploadID, part.Number = rapid.StringN(1, 30, 60).Draw(t, "upload"), rapid.IntRange(0, 10_001).Draw(t, "number")
	}
	if rapid.Bool().Draw(t, "checked") {
		part.ChecksumHeader = rapid.SampledFrom([]string{"Content-Md5", "X-Amz-Checksum-Crc64nvme", "X-Amz-Checksum-Crc32", "X-Goog-Hash"}).Draw(t, "header")
		part.Checksum = rapid.StringMatching(`[A-Za-z0-9+/]{8}=`).Draw(t, "checksum")
	}
	names := rapid.SampledFrom([]string{"Content-Type", "content-type", "Cache-Control", "X-Amz-Meta-A", "x-amz-meta-b", "X-Amz-Meta-chunkup-token",
		"X-Amz-Tagging", "X-Amz-Storage-Class", "X-Amz-Request-Payer", "X-Amz-Unheard-Of", "If-None-Match", "Content-Encoding",
		"User-Agent", "Expect", "Expires", "X-Amz-Expected-Bucket-Owner", "X-Amz-Server-Side-Encryption-Customer-Key"})
	values := rapid.SliceOfN(rapid.StringMatching(`( |[ -~]|ü){0,12}`), 0, 2)
	part.Header = rapid.MapOfN(names, values, 0, 5).Draw(t, "headers")
	if part.Header.Values("Content-Type") != nil { // of two spellings any may come first
		delete(part.Header, "content-type")
	}
	return part
}

// Whoever sees the requests cannot tell whether the SDK has made them.
func TestSignsAsTheSDKDoes(t *testing.T) {
	for name, o := range stores() {
		t.Run(name, func(t *testing.T) {
			p := newPair(o)
			rapid.Check(t, func(t *rapid.T) {
				if err := p.compare(drawPart(t)); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// The SDK is asked twice for each bucket and each of the two kinds of requests.
func TestAsksTheSDKTwice(t *testing.T) {
	for name, o := range stores() {
		p := newPair(o)
		for n := range 10 {
			for _, bucket := range []string{"bucket", "other"} {
				part := presign.Part{Bucket: bucket, Key: fmt.Sprint("key", n), Size: 10, Header: http.Header{"Content-Type": {"text/plain"}}}
				if n%2 == 1 {
					part.UploadID, part.Number = "up", n
				}
				if err := p.compare(part); err != nil {
					t.Error(err)
				}
			}
		}
		if p.asked != 8 {
			t.Errorf("%s: asked %d times", name, p.asked)
		}
	}
}

// Whoever writes to a thousand buckets does not keep them all in memory.
func TestForgetsBuckets(t *testing.T) {
	p := newPair(stores()["path"])
	sign := func(n int) {
		if err := p.compare(presign.Part{Bucket: fmt.Sprint("bucket", n), Key: "key"}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 64 {
		sign(n)
		sign(n)
		sign(n)
	}
	kept := p.asked
	sign(64) // takes the place of all
	sign(0)
	if kept != 2*64 || p.asked != kept+2 {
		t.Errorf("asked %d times for 64 buckets, %d for two more", kept, p.asked-kept)
	}
}

// The SDK asks the store before it sends 2 MiB or more: that is nothing of the bucket's.
func TestAsksTheSDKTwiceForAllSizes(t *testing.T) {
	p := newPair(stores()["path"])
	for n := range 10 {
		if err := p.compare(presign.Part{Bucket: "bucket", Key: "key", Size: int64(n%2) * 3 << 20}); err != nil {
			t.Error(err)
		}
	}
	if p.asked != 2 {
		t.Errorf("asked %d times", p.asked)
	}
}

// moving is a resolver whose answer changes.
type moving struct{ host string }

func (m *moving) ResolveEndpoint(context.Context, s3.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return smithyendpoints.Endpoint{URI: url.URL{Scheme: "https", Host: m.host, Path: "/bucket"}}, nil
}

// A store that moves is found again within a minute, and costs one question a minute
// while it stays.
func TestAsksTheSDKAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		place := &moving{host: "a.example.com"}
		p := s3presign.New(s3.New(s3.Options{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""), EndpointResolverV2: place}), 0)
		sign := func() string {
			r, err := p.Presign(t.Context(), presign.Part{Bucket: "bucket", Key: "key", Size: 1})
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(r.URL)
			if err != nil {
				t.Fatal(err)
			}
			return u.Host
		}
		sign()
		sign()
		place.host = "b.example.com"
		if host := sign(); host != "a.example.com" {
			t.Errorf("the third request went to %s: the SDK was asked", host)
		}
		time.Sleep(time.Minute)
		if host := sign(); host != "b.example.com" {
			t.Errorf("a minute later it still goes to %s", host)
		}
	})
}

// express are the credentials of a session of a directory bucket.
type express struct{ n int }

func (e *express) Retrieve(context.Context, string) (aws.Credentials, error) {
	e.n++
	return aws.Credentials{AccessKeyID: fmt.Sprint("SESSION", e.n/4), SecretAccessKey: "S", SessionToken: "T", CanExpire: true, Expires: aDay.Add(time.Hour)}, nil
}

// What is signed in another way, or is told of, is the SDK's business each time.
func TestLeavesToTheSDK(t *testing.T) {
	everyTime := 0
	for name, tc := range map[string]struct {
		bucket string
		change func(*s3.Options)
	}{
		"express": {bucket: "bucket--use1-az4--x-s3", change: func(o *s3.Options) { o.ExpressCredentials = &express{} }},
		"sigv4a":  {bucket: "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap"},
		"logged":  {bucket: "bucket", change: func(o *s3.Options) { o.ClientLogMode = aws.LogSigning }},
		"another each time": {bucket: "bucket", change: func(o *s3.Options) {
			o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
				everyTime++
				return smithyhttp.SetHeaderValue("X-Amz-Meta-N", strings.Repeat("n", everyTime%7))(s)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := s3.Options{Region: "us-east-1", Credentials: static("")}
			if tc.change != nil {
				tc.change(&o)
			}
			p := newPair(o)
			for n := range 5 {
				r, err := p.mine.Presign(t.Context(), presign.Part{Bucket: tc.bucket, Key: fmt.Sprint("key", n), Size: 3})
				if err != nil || !strings.Contains(r.URL, fmt.Sprint("key", n)) {
					t.Errorf("%s: %v", r.URL, err)
				}
			}
			if p.asked != 5 {
				t.Errorf("asked %d times", p.asked)
			}
		})
	}
}

// turning are credentials that are others whenever the test wants.
type turning struct{ now aws.Credentials }

func (c *turning) Retrieve(context.Context) (aws.Credentials, error) { return c.now, nil }

// New credentials are signed with at once, whatever was signed before.
func TestSignsWithNewCredentials(t *testing.T) {
	o, creds := stores()["path"], &turning{}
	o.Credentials = creds
	p := newPair(o)
	for n := range 12 {
		creds.now = aws.Credentials{AccessKeyID: fmt.Sprint("AK", n/2), SecretAccessKey: fmt.Sprint("SK", n/2), SessionToken: strings.Repeat("T", n%3)}
		if err := p.compare(presign.Part{Bucket: "bucket", Key: "key", Size: 1}); err != nil {
			t.Error(err)
		}
	}
	if p.asked != 2 {
		t.Errorf("asked %d times", p.asked)
	}
}

// A key whose secret was changed keeps its name: by then the store refuses the old one.
func TestSignsWithNewSecret(t *testing.T) {
	o, creds := stores()["path"], &turning{}
	o.Credentials = creds
	p := newPair(o)
	for n := range 4 {
		creds.now = aws.Credentials{AccessKeyID: "AK", SecretAccessKey: fmt.Sprint("SK", n)}
		if err := p.mine.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.compare(presign.Part{Bucket: "bucket", Key: "key", Size: 1}); err != nil {
			t.Error(err)
		}
	}
}

// All may sign at once, from the first on.
func TestSignsAtOnce(t *testing.T) {
	p := newPair(stores()["an option of the user's"])
	var wg sync.WaitGroup
	for n := range 32 {
		wg.Go(func() {
			part := presign.Part{Bucket: "bucket", Key: fmt.Sprint("key", n), Size: 1, Header: http.Header{"X-Amz-Request-Payer": {"me"}}}
			if err := p.compare(part); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestIsLocal(t *testing.T) {
	for want, providers := range map[bool][]aws.CredentialsProvider{
		true:  {static(""), aws.NewCredentialsCache(&temporary{}), nil},
		false: {&temporary{}},
	} {
		for _, provider := range providers {
			if got := s3presign.New(client(provider), 0).IsLocal(); got != want {
				t.Errorf("%T: %v", provider, got)
			}
		}
	}
}
