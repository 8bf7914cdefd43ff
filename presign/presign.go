// Package presign says where the authorised request for a part comes from.
//
// A [Provider] turns a [Part] (which bytes of which upload) into a [Request]
// (a URL and headers that may write them). Package s3presign signs locally
// with credentials; a minting service hands requests out to those who have
// none. The caller asks late, just before the bytes go, because what it gets
// expires; and asks again when the store says that it has expired. Wrap a
// provider in [Share] so that all who wait for the same request share one mint.
//
// The package makes no network call itself and knows nothing about parts'
// bytes, retries or stores' answers.
package presign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Part names the bytes that a request is to authorise.
type Part struct {
	Bucket string
	Key    string

	// UploadID and Number name a part of a multipart upload; both are zero
	// for an object that goes up in one PUT.
	UploadID string
	Number   int

	// Size is the number of bytes in the body.
	Size int64

	// Checksum is the header that carries the digest of the body, as the store
	// spells it ("X-Amz-Checksum-Crc64nvme", "Content-Md5"), and its value.
	// Both empty: none. A provider binds it to the request, so that the store
	// verifies the bytes on arrival.
	ChecksumHeader string
	Checksum       string

	// Header holds what else the request must carry (content type, metadata)
	// when the object goes up in one PUT. The provider does not change it.
	Header http.Header
}

// Identity tells parts apart: two of the same one may share a request. A part that was
// read again has another checksum and must not be given the request for the old one;
// nor must an object with other properties.
func (p Part) Identity() string {
	return fmt.Sprintf("%q %q %q %d %d %q %q %q", // fmt sorts the keys of maps
		p.Bucket, p.Key, p.UploadID, p.Number, p.Size, p.ChecksumHeader, p.Checksum, p.Header)
}

// ErrCredentials means that there are no credentials, or none that can be used: a
// provider wraps it in the error of what no second try mends.
var ErrCredentials = errors.New("no usable credentials")

// Request is an authorised request: whoever holds it may write the part.
// It is a secret until it expires; never log the URL or the headers.
type Request struct {
	Method string // PUT
	URL    string

	// Header must be sent exactly as it is: it may be signed.
	Header http.Header

	// NotAfter is when the authority ends, by the clock of the one who made it.
	// Zero: it does not end.
	NotAfter time.Time
}

// Provider makes authorised requests. It may be slow and it may fail; it is
// called from many goroutines at once.
//
// Presign returns when the request is ready, or with context.Cause(ctx) once
// ctx is done, or with an error that says why there is none. A request that it
// returns must live long enough to reach the store.
type Provider interface {
	Presign(ctx context.Context, p Part) (Request, error)
}

// Renewer is a [Provider] that keeps something between calls which can go
// stale: credentials, a token, requests made ahead.
//
// Renew is called after a store has refused a request as expired. It forgets
// what may be stale; the next Presign starts afresh. It is safe for concurrent
// use.
type Renewer interface {
	Renew(ctx context.Context) error
}

// Local is a [Provider] whose requests cost no more than a signature, which is less
// than it takes to find out whether somebody else wants the same one.
//
// IsLocal says so once and for all, as it is configured. What such a provider waits
// for now and then (its credentials) it fetches once for all its callers, and none
// waits there for longer than his own context; the headers of each request are its
// caller's. [Share] hands every call on to it.
type Local interface {
	IsLocal() bool
}
