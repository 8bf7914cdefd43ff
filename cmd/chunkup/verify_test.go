package main

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

// verify runs chunkup verify against the store of a fake.
func (f *fake) verify(t *testing.T, args ...string) ran {
	t.Helper()
	return world{}.run(t, append([]string{"verify", "--endpoint-url", f.URL, "--provider", "minio", "--backoff-base", "1ms"}, args...)...)
}

func TestVerifyCommand(t *testing.T) {
	isolate(t)
	f := newFake(t)
	source, size := sparse(t, "big", 20<<20), int64(20<<20)
	content := make([]byte, size)
	for _, read := range []string{"--read=false", "--read"} {
		f.lay("/bucket/key", stored{content: content, etag: `"x"`})
		r := f.verify(t, source, "s3://bucket/key", read).want(t, exitOK)
		by := map[string]string{"--read=false": "checksum", "--read": "read"}[read]
		if want := fmt.Sprintf("equal %s = s3://bucket/key  20 MiB, by %s\n", source, by); r.stdout != want {
			t.Errorf("%q, want %q", r.stdout, want)
		}
		l := jsonLines(t, f.verify(t, source, "s3://bucket/key", "--json", read).want(t, exitOK).stdout)[0]
		if l["type"] != "verify" || l["ok"] != true || l["exit"] != 0. || l["size"] != float64(size) || l["by"] != by || l["source"] != source {
			t.Errorf("%v", l)
		}

		other := append([]byte(nil), content...)
		other[9<<20], other[17<<20] = 1, 2
		f.lay("/bucket/key", stored{content: other, etag: `"x"`})
		r = f.verify(t, source, "s3://bucket/key", read).want(t, exitIntegrity)
		r.oneLine(t, map[string]string{"checksum": "crc64nvme mismatch", "read": "byte at offset 9437184 mismatch: the store says 0x01, the source has 0x00"}[by])
		l = jsonLines(t, f.verify(t, source, "s3://bucket/key", "--json", read).want(t, exitIntegrity).stdout)[0]
		if l["ok"] != false || l["exit"] != 5. || l["error"] == "" {
			t.Errorf("%v", l)
		}

		f.lay("/bucket/key", stored{content: content[1:], etag: `"x"`})
		f.verify(t, source, "s3://bucket/key", read).want(t, exitIntegrity).oneLine(t, "size mismatch: the store says 20971519")
		f.verify(t, source, "s3://bucket/none", read).want(t, exitFailed).oneLine(t, "404")
		f.lay("/bucket/empty", stored{etag: `"x"`})
		f.verify(t, file(t, "empty", ""), "s3://bucket/empty", read).want(t, exitOK)
	}
}

// Where the store names no checksum, reading is what is left.
func TestVerifyUnproven(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.sumless = true
	f.lay("/bucket/key", stored{content: []byte("content"), etag: `"x"`})
	source := file(t, "small", "content")
	f.verify(t, source, "s3://bucket/key").want(t, exitFailed).oneLine(t, "names no checksum", "--read compares the bytes")
	f.verify(t, source, "s3://bucket/key", "--read").want(t, exitOK)
}

// A range that fails is asked for again; another object under the key is told.
func TestVerifyReadTrouble(t *testing.T) {
	isolate(t)
	source := sparse(t, "big", 20<<20)
	f := newFake(t)
	f.lay("/bucket/key", stored{content: make([]byte, 20<<20), etag: `"x"`})
	var asked atomic.Int32 // the ranges come at once
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "get" && asked.Add(1) <= 2 && refuse(w, 503, "SlowDown")
	})
	f.verify(t, source, "s3://bucket/key", "--read").want(t, exitOK)
	if n := len(f.of("get")); n != 3+2 {
		t.Errorf("%d requests for ranges", n)
	}
	f.on(func(w http.ResponseWriter, r *http.Request, op string) bool {
		if op == "get" && !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
			return refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		}
		return false
	})
	f.verify(t, source, "s3://bucket/key", "--read").want(t, exitFailed).oneLine(t, "412")
	for _, a := range f.of("get") {
		if a.header.Get("If-Match") != `"x"` {
			t.Errorf("a range was read with If-Match %q", a.header.Get("If-Match"))
		}
	}
}

// Ranges come in any order; the first byte that differs is named.
func TestComparison(t *testing.T) {
	source, err := chunker.OpenFile(file(t, "x", "0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	c := &comparison{file: source}
	c.first.Store(math.MaxInt64)
	for _, p := range []struct {
		offset int64
		text   string
	}{{6, "6xx9"}, {0, "01"}, {2, "2xyx"}, {8, "x9"}} {
		if err := c.hold(chunker.Part{Number: 1, Offset: p.offset, Size: int64(len(p.text))}, []byte(p.text)); err != nil {
			t.Error(err)
		}
	}
	if err := c.verdict(); err == nil || err.Error() != "byte at offset 3 mismatch: the store says 0x78, the source has 0x33" {
		t.Errorf("%v", err)
	}
	if err := c.hold(chunker.Part{Number: 1, Size: 5}, []byte("0123")); err == nil {
		t.Error("a range that was cut short is taken")
	}
}
