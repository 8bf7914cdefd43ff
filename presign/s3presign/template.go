package s3presign

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/chunkup/chunkup/presign"
)

// template is what the SDK puts into each request that writes to a bucket: where the
// bucket is, and as what its requests are signed. To have that worked out for each
// file costs several times what the signature does, and for a small file more than
// everything else that is done for it.
type template struct {
	url                   url.URL // without a key
	rawPath               string  // its path, escaped
	host                  string
	header                http.Header
	hash, service, region string
}

// sign makes the URL of a part, and the headers that are signed.
func (t *template) sign(ctx context.Context, s *v4.Signer, creds aws.Credentials, at time.Time, part presign.Part) (string, http.Header, error) {
	return s.PresignHTTP(ctx, creds, t.request(part), t.hash, t.service, t.region, at)
}

// request is what is to be signed for a part.
func (t *template) request(part presign.Part) *http.Request {
	u := t.url
	u.Path += part.Key
	u.RawPath = t.rawPath + httpbinding.EscapePath(part.Key, false)
	if part.UploadID != "" {
		u.RawQuery += "&partNumber=" + strconv.Itoa(part.Number) + "&uploadId=" + url.QueryEscape(part.UploadID)
	}
	header := make(http.Header, len(t.header)+len(part.Header)+1)
	maps.Copy(header, t.header)
	for name, values := range headersOf(part) {
		for _, v := range values {
			header.Add(name, v)
		}
	}
	return &http.Request{Method: http.MethodPut, URL: &u, Host: t.host, Header: header, ContentLength: part.Size}
}

// sample is a signer that sees what the SDK gives it to sign, and goes by our clock,
// whatever time the SDK means.
type sample struct {
	signer   *v4.Signer
	clock    *presign.Clock
	template template
	at       time.Time
}

func (s *sample) PresignHTTP(ctx context.Context, creds aws.Credentials, r *http.Request, hash, service, region string, _ time.Time, optFns ...func(*v4.SignerOptions)) (string, http.Header, error) {
	s.at = s.clock.Now()
	s.template = template{url: *r.URL, rawPath: r.URL.EscapedPath(), host: r.Host, header: r.Header.Clone(),
		hash: hash, service: service, region: region}
	return s.signer.PresignHTTP(ctx, creds, r, hash, service, region, s.at, optFns...)
}

// without takes out of what was seen all that is the part's own.
func (s *sample) without(part presign.Part) *template {
	t := s.template
	t.url.Path, t.url.RawPath = strings.TrimSuffix(t.url.Path, part.Key), ""
	t.rawPath = strings.TrimSuffix(t.rawPath, httpbinding.EscapePath(part.Key, false))
	query := t.url.Query()
	query.Del("partNumber")
	query.Del("uploadId")
	t.url.RawQuery = query.Encode()
	for name := range headersOf(part) {
		t.header.Del(name)
	}
	t.header.Del("Content-Length")
	t.header.Del("Expect") // the SDK asks before it sends 2 MiB; it is not signed
	return &t
}

// maxTemplates bounds how many are kept; who writes to more buckets than that begins
// anew.
const maxTemplates = 64

// templateLife is how long a template is used before the SDK is asked again, who may
// know by then that the bucket is elsewhere.
const templateLife = time.Minute

// use is what a template is for.
type use struct {
	bucket string
	parts  bool // of multipart uploads
}

func useOf(part presign.Part) use { return use{part.Bucket, part.UploadID != ""} }

// templates are those that are known. The zero value is ready to use, and safe for
// concurrent use.
type templates struct {
	mu    sync.RWMutex
	known map[use]known
}

// known is a template, whether it was seen twice, and when it was last.
type known struct {
	template *template
	sure     bool
	at       time.Time
}

// get returns the template for a part, nil if there is none yet or the part is one
// that the SDK may refuse.
func (t *templates) get(part presign.Part) *template {
	if part.Key == "" || part.Size < 0 || int(int32(part.Number)) != part.Number {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if k := t.known[useOf(part)]; k.sure && time.Since(k.at) < templateLife {
		return k.template
	}
	return nil
}

// see adds what a part's request was made of. What is not the same twice in a row
// depends on more than the bucket, and is of no use.
func (t *templates) see(part presign.Part, seen *template) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := useOf(part)
	before, again := t.known[u]
	if t.known == nil || !again && len(t.known) >= maxTemplates {
		t.known = map[use]known{}
	}
	t.known[u] = known{seen, again && reflect.DeepEqual(before.template, seen), time.Now()}
}

// learn keeps what the SDK has just done for a part if that, done again, gives the same
// request to the letter. It does not where the SDK signs otherwise: with the
// credentials of a session of the bucket's (S3 Express) or for several regions
// (SigV4A).
func (p *Presigner) learn(ctx context.Context, s *sample, creds aws.Credentials, part presign.Part, signed *v4.PresignedHTTPRequest) {
	if s.template.header == nil || p.logs {
		return
	}
	t := s.without(part)
	address, header, err := t.sign(ctx, s.signer, creds, s.at, part)
	if err == nil && address == signed.URL && maps.EqualFunc(header, signed.SignedHeader, slices.Equal) {
		p.templates.see(part, t)
	}
}
