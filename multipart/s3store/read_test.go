package s3store_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// serveObject serves an object of 10 bytes as Go's file server does: with
// ranges and preconditions.
func serveObject(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("ETag", `"e"`)
	http.ServeContent(w, req, "k", time.Time{}, strings.NewReader("0123456789"))
}

func TestReadRange(t *testing.T) {
	r := record(t, serveObject)
	s := r.store(t, "aws")
	for _, tc := range []struct {
		etag         string
		offset, size int64
		want         string
		status       int
	}{
		{"", 0, 10, "0123456789", 0},
		{`"e"`, 2, 3, "234", 0},
		{`"e"`, 8, 100, "89", 0},
		{`"e"`, 9, 1, "9", 0},
		{`"e"`, 10, 1, "", 416},
		{`"other"`, 0, 1, "", 412},
	} {
		got, err := s.ReadRange(t.Context(), "b", "k", tc.etag, tc.offset, tc.size)
		e, _ := errors.AsType[*wire.StoreError](err)
		if string(got) != tc.want || (err != nil) != (tc.status != 0) || e != nil && e.Status != tc.status {
			t.Errorf("%+v: %q, %v", tc, got, err)
		}
	}
	if got := r.requests[1].Header; got.Get("Range") != "bytes=2-4" || got.Get("If-Match") != `"e"` {
		t.Errorf("header %v", got)
	}
	if len(r.requests) != 6 {
		t.Errorf("%d requests", len(r.requests))
	}
	for _, size := range []int64{0, -1} {
		if _, err := s.ReadRange(t.Context(), "b", "k", "", 0, size); err == nil || len(r.requests) != 6 {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

// What is not exactly the range is an error.
func TestReadAnotherRange(t *testing.T) {
	answer := func(status int, contentRange, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"the whole object":     answer(200, "", "0123456789"),
		"no range named":       answer(206, "", "234"),
		"another place":        answer(206, "bytes 3-5/10", "345"),
		"begins before":        answer(206, "bytes 1-4/10", "234"),
		"ends behind":          answer(206, "bytes 2-9/10", "234"),
		"fewer than said":      answer(206, "bytes 2-4/10", "23"),
		"fewer than there are": answer(206, "bytes 2-3/10", "23"),
		"more":                 answer(206, "bytes 2-5/10", "2345"),
		"more than said":       answer(206, "bytes 2-4/10", "2345"),
		"of unknown size":      answer(206, "bytes 2-4/*", "234"),
		"nonsense":             answer(206, "x", "234"),
		"without an end":       answer(206, "bytes 2-4/10", strings.Repeat("2", 1<<20)),
		"If-Match without effect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"other"`)
			w.Header().Set("Content-Range", "bytes 2-4/10")
			w.WriteHeader(206)
			io.WriteString(w, "234")
		},
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			w.Header().Set("Content-Range", "bytes 2-4/10")
			w.WriteHeader(206)
			io.WriteString(w, "23")
		},
	} {
		r := record(t, answer)
		got, err := r.store(t, "aws").ReadRange(t.Context(), "b", "k", `"e"`, 2, 3)
		if err == nil || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if e, ok := errors.AsType[*wire.StoreError](err); ok != strings.HasPrefix(name, "If-Match") || ok && e.Status != 412 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A range may be larger than the answer to any other call.
func TestReadLargeRange(t *testing.T) {
	const size = 20 << 20
	r := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", size-1, 2*size))
		w.WriteHeader(206)
		w.Write(make([]byte, size))
	})
	if got, err := r.store(t, "aws").ReadRange(t.Context(), "b", "k", "", 0, size); len(got) != size || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
