package storetest

import (
	"fmt"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// upload makes an object of two parts, and returns what Complete said of it.
func (s Store) upload(t *testing.T, key string, seed byte) (whole []byte, parts []multipart.Receipt, done multipart.Info) {
	t.Helper()
	whole = bytesOf(seed, s.PartSize+77)
	u := s.create(t, key)
	parts = []multipart.Receipt{s.mustPut(t, u, 1, whole[:s.PartSize]), s.mustPut(t, u, 2, whole[s.PartSize:])}
	done, err := s.Control.Complete(t.Context(), u, s.completion(parts, whole))
	if err != nil {
		t.Fatal(err)
	}
	return whole, parts, done
}

// digests are those of receipts.
func digests(parts []multipart.Receipt) []chunker.Digest {
	var all []chunker.Digest
	for _, p := range parts {
		all = append(all, p.Digest)
	}
	return all
}

// testListedDigest: whoever resumes holds the parts that are there against the
// source. A store that lists no checksum has to have the MD5 as ETag.
func testListedDigest(t *testing.T, s Store) {
	body := bytesOf(11, 500)
	u := s.create(t, "listed")
	sent := s.mustPut(t, u, 1, body)
	listed, err := s.Control.List(t.Context(), u)
	if err != nil || len(listed) != 1 {
		t.Fatalf("%+v, %v", listed, err)
	}
	if s.declares() && listed[0].Digest != sent.Digest {
		t.Errorf("the list says %v, sent was %v", listed[0].Digest, sent.Digest)
	}
	if got := listed[0].ETag; !s.declares() && got != etagOf(body) {
		t.Errorf("ETag %s is not the MD5 %s", got, etagOf(body))
	}
}

// declares reports that uploads have a checksum in S3's sense.
func (s Store) declares() bool {
	t := s.Control.Traits()
	return declared(t.Algorithm) && !t.GoogHash
}

// testChecksumOfWhole: the checksum that the store names is that of the bytes,
// or says that it is one of the parts' checksums.
func testChecksumOfWhole(t *testing.T, s Store) {
	traits := s.Control.Traits()
	if !declared(traits.Algorithm) {
		return // such a store has none
	}
	whole, parts, done := s.upload(t, "checksum", 12)
	want, number := s.digest(whole), 0
	if !traits.FullObject {
		want, _ = chunker.Composite(digests(parts))
		number = len(parts)
	}
	head, err := s.Control.Head(t.Context(), s.Bucket, "checksum")
	if err != nil {
		t.Fatal(err)
	}
	for call, info := range map[string]multipart.Info{"complete": done, "head": head} {
		if info.Digest != want || info.Composite != number {
			t.Errorf("%s says %v of %d parts, want %v of %d", call, info.Digest, info.Composite, want, number)
		}
	}
}

// testETagOfParts: without checksums, the ETag is the only proof of the bytes.
func testETagOfParts(t *testing.T, s Store) {
	if s.Control.Traits().Algorithm != chunker.MD5 {
		return // it has a better one, and the ETag may be anything
	}
	_, parts, done := s.upload(t, "etag", 13)
	sum, err := chunker.Composite(digests(parts))
	if want := fmt.Sprintf(`"%s-%d"`, sum.Hex(), len(parts)); err != nil || done.ETag != want {
		t.Errorf("ETag %s, want %s; %v", done.ETag, want, err)
	}
}
