package storetest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// Store is what the suite tests: a control plane, a provider and the client
// that sends to it, with a bucket that exists and is the suite's own.
type Store struct {
	Control  multipart.Control
	Provider presign.Provider
	Client   *wire.Client
	Bucket   string

	// PartSize is the smallest that the store takes, in bytes.
	PartSize int64
}

// Run tests that a store keeps the promises which uploads rely on.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"one put":                      testOnePut,
		"parts become an object":       testParts,
		"a part is overwritten":        testOverwrittenPart,
		"a wrong digest is refused":    testWrongDigest,
		"a wrong whole is refused":     testWrongWhole,
		"a wrong ETag is refused":      testWrongETag,
		"an unknown upload is no such": testUnknownUpload,
		"abort drops the parts":        testAbort,
		"no object":                    testNoObject,
		"a part has its digest":        testListedDigest,
		"the whole has a checksum":     testChecksumOfWhole,
		"the ETag is of the parts":     testETagOfParts,
		"one put creates only":         testPutCreatesOnly,
		"complete creates only":        testCompleteCreatesOnly,
		"unfinished uploads are known": testListUploads,
		"ranges are exact":             testReadRange,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// bytesOf makes n bytes that no other seed makes.
func bytesOf(seed byte, n int64) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// digest is the one that the store wants with a part.
func (s Store) digest(body []byte) chunker.Digest {
	d, _ := chunker.Sum(bytes.NewReader(body), s.Control.Traits().Algorithm)
	return d
}

// put sends a body as part n of an upload, or whole if n is 0, and says that
// its digest is d.
func (s Store) put(t *testing.T, u multipart.Upload, n int, body []byte, d chunker.Digest, h http.Header) (multipart.Receipt, error) {
	t.Helper()
	p := presign.Part{Bucket: u.Bucket, Key: u.Key, Size: int64(len(body)), Header: h}
	switch {
	case d.IsZero():
	case s.Control.Traits().GoogHash:
		p.ChecksumHeader, p.Checksum = "X-Goog-Hash", d.Algorithm().String()+"="+d.Base64()
	default:
		p.ChecksumHeader, p.Checksum = checksumHeader(d.Algorithm()), d.Base64()
	}
	if n > 0 {
		p.UploadID, p.Number = u.ID, n
	}
	r, err := s.Provider.Presign(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Client.Do(t.Context(), wire.Request{Method: r.Method, URL: r.URL, Header: r.Header,
		Body: bytes.NewReader(body), Size: p.Size})
	if err != nil {
		return multipart.Receipt{}, err
	}
	return multipart.Receipt{Number: n, Size: p.Size, ETag: a.Header.Get("ETag"), Digest: d}, nil
}

func (s Store) mustPut(t *testing.T, u multipart.Upload, n int, body []byte) multipart.Receipt {
	t.Helper()
	r, err := s.put(t, u, n, body, s.digest(body), nil)
	if err != nil || r.ETag == "" {
		t.Fatalf("part %d: %+v, %v", n, r, err)
	}
	return r
}

func (s Store) create(t *testing.T, key string) multipart.Upload {
	t.Helper()
	traits := s.Control.Traits()
	u, err := s.Control.Create(t.Context(), multipart.Intent{Bucket: s.Bucket, Key: key, Algorithm: traits.Algorithm,
		FullObject: traits.FullObject, Header: http.Header{"X-Amz-Meta-Token": {"t1"}, "Content-Type": {"text/x-test"}}})
	if err != nil || u.ID == "" || u.Key != key || u.Bucket != s.Bucket {
		t.Fatalf("%+v, %v", u, err)
	}
	return u
}

func (s Store) completion(parts []multipart.Receipt, whole []byte) multipart.Completion {
	traits := s.Control.Traits()
	c := multipart.Completion{Parts: parts, Size: int64(len(whole)), Algorithm: traits.Algorithm, FullObject: traits.FullObject}
	if traits.FullObject {
		c.Digest = s.digest(whole)
	}
	return c
}

// wantRefusal fails unless err is a refusal with one of these codes.
func wantRefusal(t *testing.T, err error, status int, codes ...string) {
	t.Helper()
	e, ok := errors.AsType[*wire.StoreError](err)
	if !ok || e.Status != status {
		t.Fatalf("err = %v, want status %d", err, status)
	}
	for _, code := range codes {
		if e.Code == code {
			return
		}
	}
	if len(codes) > 0 {
		t.Errorf("code %q, want one of %q", e.Code, codes)
	}
}
