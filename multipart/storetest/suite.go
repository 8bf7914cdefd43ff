package storetest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
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

func header(d chunker.Digest) string {
	switch a := d.Algorithm(); a {
	case chunker.None:
		return ""
	case chunker.MD5:
		return "Content-Md5"
	default:
		return http.CanonicalHeaderKey("x-amz-checksum-" + a.String())
	}
}

// put sends a body as part n of an upload, or whole if n is 0, and says that
// its digest is d.
func (s Store) put(t *testing.T, u multipart.Upload, n int, body []byte, d chunker.Digest, h http.Header) (multipart.Receipt, error) {
	t.Helper()
	p := presign.Part{Bucket: u.Bucket, Key: u.Key, Size: int64(len(body)), ChecksumHeader: header(d), Checksum: d.Base64(), Header: h}
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

func testOnePut(t *testing.T, s Store) {
	body := bytesOf(1, 1000)
	u := multipart.Upload{Bucket: s.Bucket, Key: "one/a+b c ü"}
	r, err := s.put(t, u, 0, body, s.digest(body), http.Header{"X-Amz-Meta-Token": {"t0"}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Control.Head(t.Context(), s.Bucket, u.Key)
	if err != nil || info.Size != 1000 || info.ETag != r.ETag || info.Metadata["token"] != "t0" {
		t.Errorf("%+v, %v", info, err)
	}
}

func testParts(t *testing.T, s Store) {
	whole := bytesOf(2, 2*s.PartSize+77)
	u := s.create(t, "parts")
	var parts []multipart.Receipt
	for i := range 3 {
		parts = append(parts, s.mustPut(t, u, i+1, whole[int64(i)*s.PartSize:min(int64(i+1)*s.PartSize, int64(len(whole)))]))
	}
	listed, err := s.Control.List(t.Context(), u)
	if err != nil || len(listed) != 3 {
		t.Fatalf("%+v, %v", listed, err)
	}
	for i, l := range listed {
		if l.Number != i+1 || l.Size != parts[i].Size || l.ETag != parts[i].ETag || !l.Digest.IsZero() && l.Digest != parts[i].Digest {
			t.Errorf("listed %+v, sent %+v", l, parts[i])
		}
	}
	done, err := s.Control.Complete(t.Context(), u, s.completion(parts, whole))
	if err != nil || done.ETag == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	info, err := s.Control.Head(t.Context(), s.Bucket, u.Key)
	if err != nil || info.Size != int64(len(whole)) || info.ETag != done.ETag || info.Metadata["token"] != "t1" {
		t.Errorf("%+v, %v", info, err)
	}
	if s.Control.Traits().FullObject && (done.Digest != s.digest(whole) || info.Digest != s.digest(whole)) {
		t.Errorf("complete says %v, head %v, want %v", done.Digest, info.Digest, s.digest(whole))
	}
}

func testOverwrittenPart(t *testing.T, s Store) {
	old, whole := bytesOf(3, 500), bytesOf(4, 600)
	u := s.create(t, "overwritten")
	s.mustPut(t, u, 1, old)
	r := s.mustPut(t, u, 1, whole)
	if _, err := s.Control.Complete(t.Context(), u, s.completion([]multipart.Receipt{r}, whole)); err != nil {
		t.Error(err)
	}
}

func testWrongDigest(t *testing.T, s Store) {
	u := s.create(t, "wrong digest")
	_, err := s.put(t, u, 1, bytesOf(5, 500), s.digest([]byte("other")), nil)
	wantRefusal(t, err, 400)
	e, _ := errors.AsType[*wire.StoreError](err)
	if c := wire.Classify(wire.Outcome{Op: wire.PutPart, Status: e.Status, Code: e.Code, Message: e.Message}); c != wire.Reread {
		t.Errorf("%v is %v, want reread", err, c)
	}
}

func testWrongWhole(t *testing.T, s Store) {
	if !s.Control.Traits().FullObject {
		return // such a store is told nothing of the whole
	}
	body := bytesOf(6, 500)
	u := s.create(t, "wrong whole")
	r := s.mustPut(t, u, 1, body)
	c := s.completion([]multipart.Receipt{r}, body)
	c.Digest = s.digest([]byte("other"))
	_, err := s.Control.Complete(t.Context(), u, c)
	wantRefusal(t, err, 400)
	if _, err := s.Control.Head(t.Context(), s.Bucket, u.Key); err == nil {
		t.Error("there is an object")
	}
}

func testWrongETag(t *testing.T, s Store) {
	body := bytesOf(7, 500)
	u := s.create(t, "wrong etag")
	r := s.mustPut(t, u, 1, body)
	r.ETag = `"` + strings.Repeat("0", 32) + `"`
	_, err := s.Control.Complete(t.Context(), u, s.completion([]multipart.Receipt{r}, body))
	wantRefusal(t, err, 400, "InvalidPart")
}

func testUnknownUpload(t *testing.T, s Store) {
	u := s.create(t, "gone")
	if err := s.Control.Abort(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	_, err := s.put(t, u, 1, bytesOf(8, 10), s.digest(bytesOf(8, 10)), nil)
	wantRefusal(t, err, 404, "NoSuchUpload")
	_, err = s.Control.List(t.Context(), u)
	wantRefusal(t, err, 404, "NoSuchUpload")
	_, err = s.Control.Complete(t.Context(), u, s.completion([]multipart.Receipt{{Number: 1, ETag: `"0"`, Digest: s.digest(nil)}}, nil))
	wantRefusal(t, err, 404, "NoSuchUpload")
}

func testAbort(t *testing.T, s Store) {
	u := s.create(t, "aborted")
	s.mustPut(t, u, 1, bytesOf(9, 500))
	for range 2 { // the second finds nothing, and that is a success
		if err := s.Control.Abort(t.Context(), u); err != nil {
			t.Error(err)
		}
	}
	_, err := s.Control.List(t.Context(), u)
	wantRefusal(t, err, 404, "NoSuchUpload")
}

func testNoObject(t *testing.T, s Store) {
	_, err := s.Control.Head(t.Context(), s.Bucket, "nothing here")
	wantRefusal(t, err, 404)
}
