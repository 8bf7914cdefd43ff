package storetest

import (
	"net/http"
	"testing"

	"github.com/chunkup/chunkup/multipart"
)

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
