package integration

import (
	"bytes"
	"encoding/base64"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// What the service hands out is good for the one part it was asked for, and the store
// refuses everything else that it is tried for. AWS refuses every x-amz header that is
// not signed (HeadersNotSigned), MinIO those that would change the object's metadata.
func TestMintRequestIsGoodForNothingElse(t *testing.T) {
	l := newLab(t, wire.Limits{})
	c := l.minter(t, time.Minute).start().client()
	up, err := c.Create(t.Context(), multipart.Intent{Bucket: l.bucket, Key: "k", Size: 5,
		Header: http.Header{"X-Amz-Meta-Chunkup-Token": {"t"}}})
	if err != nil {
		t.Fatal(err)
	}
	sum := crc32.Checksum([]byte("right"), crc32.MakeTable(crc32.Castagnoli))
	signed, err := c.Presign(t.Context(), presign.Part{Bucket: l.bucket, Key: up.Key, UploadID: up.ID, Number: 1, Size: 5,
		ChecksumHeader: "X-Amz-Checksum-Crc32c",
		Checksum:       base64.StdEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})})
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		body   string
		change func(*http.Request)
		want   int
	}{
		"an unsigned metadata header": {"right", func(r *http.Request) { r.Header.Set("X-Amz-Meta-Owner", "me") }, 4},
		"no checksum":                 {"right", func(r *http.Request) { r.Header.Del("X-Amz-Checksum-Crc32c") }, 4},
		"another checksum":            {"right", func(r *http.Request) { r.Header.Set("X-Amz-Checksum-Crc32c", "AAAAAA==") }, 4},
		"other bytes":                 {"wrong", func(*http.Request) {}, 4},
		"more bytes":                  {"right and more", func(*http.Request) {}, 4},
		"fewer bytes":                 {"righ", func(*http.Request) {}, 4},
		"another part":                {"right", query("partNumber=1", "partNumber=2"), 4},
		"another key":                 {"right", func(r *http.Request) { r.URL.Path = "/" + l.bucket + "/other"; r.URL.RawPath = "" }, 4},
		"a longer life":               {"right", query("X-Amz-Expires=60", "X-Amz-Expires=600000"), 4},
		"another method":              {"", func(r *http.Request) { r.Method = http.MethodDelete }, 4},
	} {
		if status, answer := l.try(t, signed, try.body, try.change); status/100 != try.want {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if parts, err := c.List(t.Context(), up); err != nil || len(parts) != 0 {
		t.Fatalf("left behind: %+v, %v", parts, err)
	}
	if status, answer := l.try(t, signed, "right", func(*http.Request) {}); status != 200 {
		t.Errorf("the one it is for: %d %s", status, answer)
	}
}

// query changes the URL as a client could.
func query(old, now string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, old, now, 1) }
}

func (l *lab) try(t *testing.T, signed presign.Request, body string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, signed.URL, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = signed.Header.Clone()
	change(r)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
	return answer.StatusCode, string(text)
}
