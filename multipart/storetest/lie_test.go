package storetest_test

import (
	"bytes"
	"net/http"
	"slices"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// send puts a body as part n of an upload (0: whole) and returns its ETag.
func send(t *testing.T, m *storetest.Mem, u multipart.Upload, n int, body []byte) string {
	t.Helper()
	p := presign.Part{Bucket: u.Bucket, Key: u.Key, Size: int64(len(body))}
	if n > 0 {
		p.UploadID, p.Number = u.ID, n
	}
	r, err := m.Presign(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Client().Do(t.Context(), wire.Request{Method: http.MethodPut, URL: r.URL, Body: bytes.NewReader(body), Size: p.Size})
	if err != nil {
		t.Fatal(err)
	}
	return a.Header.Get("ETag")
}

func sum(t *testing.T, body []byte, a chunker.Algorithm) chunker.Digest {
	t.Helper()
	d, err := chunker.Sum(bytes.NewReader(body), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A store that tampers says what is right, unless it confesses; reading shows
// what it has either way.
func TestTamper(t *testing.T) {
	body, other := []byte("hello"), []byte("HELLO")
	for _, op := range []wire.Operation{wire.PutPart, wire.Complete, wire.PutObject} {
		for _, confess := range []bool{false, true} {
			m := storetest.NewMem(wire.Limits{})
			defer m.Close()
			m.Confess = confess
			m.Tamper = func(o wire.Operation, _ int, b []byte) []byte {
				if o == op {
					return bytes.ToUpper(b)
				}
				return b
			}
			said := sum(t, body, chunker.MD5).Hex()
			if confess && op != wire.Complete {
				said = sum(t, other, chunker.MD5).Hex()
			}
			u := multipart.Upload{Bucket: "b", Key: "k"}
			if op == wire.PutObject {
				if etag := send(t, m, u, 0, body); etag != `"`+said+`"` {
					t.Errorf("%v, confess %v: ETag %s", op, confess, etag)
				}
			} else {
				u, _ = m.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k", Algorithm: chunker.CRC64NVME, FullObject: true})
				etag := send(t, m, u, 1, body)
				listed, err := m.List(t.Context(), u)
				if etag != `"`+said+`"` || err != nil || len(listed) != 1 || listed[0].ETag != etag {
					t.Errorf("%v, confess %v: ETag %s, %+v, %v", op, confess, etag, listed, err)
				}
				if _, err := m.Complete(t.Context(), u, multipart.Completion{Parts: listed, Size: 5}); err != nil {
					t.Fatal(err)
				}
			}
			want := body
			if confess {
				want = other
			}
			info, err := m.Head(t.Context(), "b", "k")
			if err != nil || info.Size != 5 || info.Digest != sum(t, want, chunker.CRC64NVME) {
				t.Errorf("%v, confess %v: %+v, %v", op, confess, info, err)
			}
			got, err := m.ReadRange(t.Context(), "b", "k", info.ETag, 0, 5)
			if err != nil || !slices.Equal(got, other) {
				t.Errorf("%v: %s, %v", op, got, err)
			}
		}
	}
}

// A store that loses the end says that it is all there.
func TestTamperWithTheSize(t *testing.T) {
	m := storetest.NewMem(wire.Limits{})
	defer m.Close()
	m.Tamper = func(_ wire.Operation, _ int, b []byte) []byte { return b[:2] }
	send(t, m, multipart.Upload{Bucket: "b", Key: "k"}, 0, []byte("hello"))
	info, err := m.Head(t.Context(), "b", "k")
	if err != nil || info.Size != 5 {
		t.Errorf("%+v, %v", info, err)
	}
	if got, err := m.ReadRange(t.Context(), "b", "k", "", 0, 5); string(got) != "he" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestEditInfo(t *testing.T) {
	m := storetest.NewMem(wire.Limits{})
	defer m.Close()
	m.EditInfo = func(op wire.Operation, i *multipart.Info) { i.VersionID = op.String() }
	u, _ := m.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k", Algorithm: m.Traits().Algorithm})
	etag := send(t, m, u, 1, []byte("hello"))
	done, err := m.Complete(t.Context(), u, multipart.Completion{Parts: []multipart.Receipt{{Number: 1, ETag: etag}}, Size: 5})
	if err == nil {
		t.Fatal("a part without its digest is taken")
	}
	listed, _ := m.List(t.Context(), u)
	if done, err = m.Complete(t.Context(), u, multipart.Completion{Parts: listed, Size: 5}); err != nil || done.VersionID != "complete upload" {
		t.Errorf("%+v, %v", done, err)
	}
	if info, err := m.Head(t.Context(), "b", "k"); err != nil || info.VersionID != "head object" {
		t.Errorf("%+v, %v", info, err)
	}
}
