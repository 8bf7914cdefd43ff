package multipart

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
)

// tokenKey is the user metadata that holds an upload's random token: the proof
// that an object is the one that this upload made.
const tokenKey = "chunkup-token"

// Object says where the bytes go and what the object carries.
type Object struct {
	Bucket string
	Key    string

	// Header holds the object's properties as S3 spells them: Content-Type,
	// Cache-Control, X-Amz-Storage-Class and so on. It is not changed.
	Header http.Header

	// Metadata is the user's own. The name chunkup-token is taken.
	Metadata map[string]string

	// CreateOnly never replaces an object that is there already: if it has other
	// bytes, the error is [ErrExists]; if it has these, the upload succeeds and
	// sends nothing. Needs a store whose [Traits] say CreateOnly.
	CreateOnly bool

	// IdempotencyKey names the upload across processes and machines: calls with
	// the same key and the same bytes make one object, and all but the first
	// return what is there. Empty: every call is an upload of its own.
	IdempotencyKey string

	// Command is kept in the journal for people: what they run to resume.
	Command []string
}

// String is the object's address: s3://bucket/key.
func (o Object) String() string { return "s3://" + o.Bucket + "/" + o.Key }

func (o Object) validate() error {
	switch {
	case o.Bucket == "":
		return errors.New("the destination has no bucket")
	case o.Key == "":
		return errors.New("the destination has no key")
	case len(o.Key) > 1024:
		return fmt.Errorf("the key has %d bytes: stores take at most 1024", len(o.Key))
	}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if o.Header.Get(name) != "" {
			return fmt.Errorf("header %s: use CreateOnly", name)
		}
	}
	for name, values := range o.headers("", "") {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%q cannot be the name of a header", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("header %s: %q has characters that cannot be sent", name, v)
			}
		}
	}
	return nil
}

// headers are the object's properties, metadata and token as HTTP headers.
func (o Object) headers(prefix, token string) http.Header {
	if prefix == "" {
		prefix = "X-Amz-Meta-"
	}
	h := o.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	for k, v := range o.Metadata {
		h.Set(prefix+k, v)
	}
	h.Set(prefix+tokenKey, token)
	return h
}

// newToken returns 128 random bits.
func newToken() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// checksumHeader is how the store spells a part's digest.
func (r *run) checksumHeader(a chunker.Algorithm) string {
	switch {
	case a == chunker.None:
		return ""
	case a == chunker.MD5:
		return "Content-Md5"
	case r.traits.GoogHash:
		return "X-Goog-Hash"
	}
	return "X-Amz-Checksum-" + strings.ToUpper(a.String()[:1]) + a.String()[1:]
}

// checksum is a part's digest as that header carries it.
func (r *run) checksum(d chunker.Digest) string {
	if r.traits.GoogHash && d.Algorithm() != chunker.MD5 {
		return d.Algorithm().String() + "=" + d.Base64()
	}
	return d.Base64()
}

// publicHeader are the properties that may be written down.
func (o Object) publicHeader() http.Header {
	h := o.Header.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool { return journal.Secret(name) })
	return h
}

// sameProperties reports that two uploads are to make the same object.
func sameProperties(a, b journal.Record) bool {
	header := len(a.Header) == len(b.Header) && maps.EqualFunc(a.Header, b.Header, slices.Equal)
	return header && len(a.Metadata) == len(b.Metadata) && maps.Equal(a.Metadata, b.Metadata)
}
