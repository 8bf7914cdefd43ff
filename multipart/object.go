package multipart

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/chunkup/chunkup/chunker"
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
			return fmt.Errorf("header %s: an upload replaces what is under its key", name)
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

// checksumHeader is how S3 spells a part's digest.
func checksumHeader(a chunker.Algorithm) string {
	switch a {
	case chunker.None:
		return ""
	case chunker.MD5:
		return "Content-Md5"
	}
	return "X-Amz-Checksum-" + strings.ToUpper(a.String()[:1]) + a.String()[1:]
}
