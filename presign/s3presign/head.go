package s3presign

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/presign"
)

// NewDirect is [New] for requests that this process sends itself: those for whole
// objects carry their signature in the head (Authorization) instead of the URL, once it
// is known how the bucket's requests look. Stores spend less on reading that, which
// counts where small files are many and the store is near. Such a request's URL alone
// authorises nothing. It lives for 15 min, which is as far as a store lets a request's
// time be off.
//
// It is for stores whose policies are known: what denies unsigned payloads by their
// header (s3:x-amz-content-sha256) or asks for signatures in URLs (s3:authType) refuses
// it, and so may a store that takes a body's SHA-256 alone.
func NewDirect(client *s3.Client) *Presigner {
	p := New(client, maxSkew)
	p.heads = true
	return p
}

// maxSkew is how far off a store lets the time of a request be (RequestTimeTooSkewed,
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
const maxSkew = 15 * time.Minute

// signHead makes the plain URL of an object, and headers that carry the signature
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html).
// They say of the body what a presigned URL says: its length and, where it is given, its
// checksum, but no SHA-256.
func (t *template) signHead(ctx context.Context, s *v4.Signer, creds aws.Credentials, at time.Time, part presign.Part) (string, http.Header, error) {
	r := t.request(part)
	r.URL.RawQuery = plainQuery(r.URL.Query())
	r.Header.Set("X-Amz-Content-Sha256", t.hash)
	if err := s.SignHTTP(ctx, creds, r, t.hash, t.service, t.region, at); err != nil {
		return "", nil, err
	}
	return r.URL.String(), onlySigned(r.Header), nil
}

// plainQuery leaves out what only a presigned URL needs, and the SDK's name for the
// operation, which no store asks for.
func plainQuery(query url.Values) string {
	query.Del("X-Amz-Expires")
	query.Del("x-id")
	return query.Encode()
}

// onlySigned is what must be sent: the signed headers and the signature. The others
// (User-Agent, Expect) are whoever's who sends the request, as with a presigned URL.
func onlySigned(all http.Header) http.Header {
	const authorization = "Authorization"
	_, list, _ := strings.Cut(all.Get(authorization), "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	names := strings.Split(list, ";")
	signed := make(http.Header, len(names))
	signed.Set(authorization, all.Get(authorization))
	for name, values := range all { // a name may be spelled as somebody's option of the client spells it
		if slices.Contains(names, strings.ToLower(name)) {
			name = http.CanonicalHeaderKey(name)
			signed[name] = append(signed[name], values...)
		}
	}
	return signed
}
