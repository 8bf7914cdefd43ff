package s3store_test

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// partsServer lists parts a page at a time.
type partsServer struct {
	numbers []int
	page    int

	deaf     bool // takes no notice of the marker
	whole    bool // gives everything, and says so
	endless  bool // never says that it has given everything
	mute     bool // does not name the next marker
	stuck    bool // always names the same marker
	requests int
}

func (p *partsServer) answer(w http.ResponseWriter, req *http.Request) {
	p.requests++
	marker, _ := strconv.Atoi(req.FormValue("part-number-marker"))
	left := slices.DeleteFunc(slices.Clone(p.numbers), func(n int) bool { return n <= marker && !p.deaf })
	if !p.whole {
		left = left[:min(p.page, len(left))]
	}
	last := 0
	if len(left) > 0 {
		last = left[len(left)-1]
	}
	fmt.Fprintf(w, `<ListPartsResult><IsTruncated>%v</IsTruncated>`, p.endless || !p.whole && last < slices.Max(p.numbers))
	switch {
	case p.stuck:
		io.WriteString(w, `<NextPartNumberMarker>1</NextPartNumberMarker>`)
	case !p.mute:
		fmt.Fprintf(w, `<NextPartNumberMarker>%d</NextPartNumberMarker>`, last)
	}
	for _, n := range left {
		fmt.Fprintf(w, `<Part><PartNumber>%d</PartNumber><Size>%d</Size><ETag>"e%d"</ETag><ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME></Part>`, n, n, n)
	}
	io.WriteString(w, `</ListPartsResult>`)
}

// R31: all pages of a list, whatever the store makes of markers, and no list
// without end (https://github.com/s3tools/s3cmd/issues/346).
func TestListPages(t *testing.T) {
	forty := make([]int, 40) // of 60
	for i := range forty {
		forty[i] = 1 + i*3/2
	}
	for name, tc := range map[string]struct {
		server   partsServer
		parts    int
		requests int
	}{
		"a: pages of 7":         {partsServer{page: 7}, 40, 6},
		"no marker named":       {partsServer{page: 7, mute: true}, 40, 6},
		"always the same one":   {partsServer{page: 7, stuck: true}, 40, 6},
		"never the end":         {partsServer{page: 7, endless: true}, 40, 7},
		"b: marker ignored":     {partsServer{page: 7, deaf: true, endless: true}, 7, 2},
		"c: everything always":  {partsServer{whole: true, deaf: true}, 40, 1},
		"everything, no end":    {partsServer{whole: true, deaf: true, endless: true}, 40, 2},
		"one page that is full": {partsServer{page: 40}, 40, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.server
			s.numbers = forty
			r := record(t, s.answer)
			parts, err := r.store(t, "aws").List(t.Context(), upload)
			if err != nil || len(parts) != tc.parts || s.requests != tc.requests {
				t.Fatalf("%d parts in %d requests, want %d in %d; err = %v", len(parts), s.requests, tc.parts, tc.requests, err)
			}
			for i, p := range parts {
				if n := forty[i]; p.Number != n || p.Size != int64(n) || p.ETag != fmt.Sprintf(`"e%d"`, n) || p.Digest.IsZero() {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// R31: a part that is listed twice is one part, as it was sent last.
func TestListDuplicates(t *testing.T) {
	r := record(t, answerXML(200, `<ListPartsResult><Part><PartNumber>2</PartNumber><Size>1</Size><ETag>"old"</ETag></Part>`+
		`<Part><PartNumber>1</PartNumber><Size>5</Size><ETag>"e"</ETag></Part><Part><PartNumber>2</PartNumber><Size>2</Size><ETag>"new"</ETag></Part></ListPartsResult>`))
	parts, err := r.store(t, "aws").List(t.Context(), upload)
	if want := []multipart.Receipt{{Number: 1, Size: 5, ETag: `"e"`}, {Number: 2, Size: 2, ETag: `"new"`}}; err != nil || !slices.Equal(parts, want) {
		t.Errorf("%+v, %v", parts, err)
	}
}

// begun is an upload as a store lists it.
type begun struct{ Key, UploadId, Initiated string }

// uploadsServer lists uploads a page at a time, by both markers.
type uploadsServer struct {
	uploads  []begun
	page     int
	deaf     bool // takes no notice of the markers
	mute     bool // does not name the next ones
	endless  bool
	requests int
}

func (u *uploadsServer) answer(w http.ResponseWriter, req *http.Request) {
	u.requests++
	key, id := req.FormValue("key-marker"), req.FormValue("upload-id-marker")
	left := slices.DeleteFunc(slices.Clone(u.uploads), func(b begun) bool {
		behind := cmp.Or(strings.Compare(b.Key, key), strings.Compare(b.UploadId, id)) > 0
		return !strings.HasPrefix(b.Key, req.FormValue("prefix")) || !behind && !u.deaf
	})
	page := left[:min(u.page, len(left))]
	answer := struct {
		XMLName                           xml.Name `xml:"ListMultipartUploadsResult"`
		IsTruncated                       bool
		NextKeyMarker, NextUploadIdMarker *string
		Upload                            []begun
	}{IsTruncated: u.endless || len(left) > len(page), Upload: page}
	if n := len(page); n > 0 && !u.mute {
		answer.NextKeyMarker, answer.NextUploadIdMarker = &page[n-1].Key, &page[n-1].UploadId
	}
	xml.NewEncoder(w).Encode(answer)
}

func TestListUploads(t *testing.T) {
	var all []begun
	for i := range 20 { // three uploads of one key may be on two pages
		all = append(all, begun{fmt.Sprintf("a/%02d", i/3), fmt.Sprintf("u%02d", i), "2026-01-02T03:04:05.000Z"})
	}
	all = append(all, begun{"b", "u99", "2026-01-02T03:04:05.000Z"})
	for name, tc := range map[string]struct {
		server            uploadsServer
		prefix            string
		uploads, requests int
	}{
		"pages":           {uploadsServer{page: 4}, "", 21, 6},
		"prefix":          {uploadsServer{page: 4}, "a/", 20, 5},
		"of one key":      {uploadsServer{page: 4}, "a/01", 3, 1},
		"none":            {uploadsServer{page: 4}, "c", 0, 1},
		"no marker named": {uploadsServer{page: 4, mute: true}, "", 21, 6},
		"marker ignored":  {uploadsServer{page: 4, deaf: true, endless: true}, "", 4, 2},
		"never the end":   {uploadsServer{page: 4, endless: true}, "", 21, 7},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.server
			s.uploads = all
			r := record(t, s.answer)
			uploads, err := r.store(t, "aws").ListUploads(t.Context(), "b", tc.prefix)
			if err != nil || len(uploads) != tc.uploads || s.requests != tc.requests {
				t.Fatalf("%d uploads in %d requests, want %d in %d; err = %v", len(uploads), s.requests, tc.uploads, tc.requests, err)
			}
			expected := slices.DeleteFunc(slices.Clone(all), func(b begun) bool { return !strings.HasPrefix(b.Key, tc.prefix) })
			for i, u := range uploads {
				if want := (multipart.Upload{Bucket: "b", Key: expected[i].Key, ID: expected[i].UploadId}); u.Upload != want ||
					!u.Initiated.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
					t.Errorf("%+v, want %+v", u, want)
				}
			}
		})
	}
}

// exactServer is uploadsServer as MinIO lists: the uploads of the one key that the
// prefix is; for none, those that it remembers.
type exactServer struct {
	uploadsServer
	remembered []begun
}

func (e *exactServer) answer(w http.ResponseWriter, req *http.Request) {
	server := e.uploadsServer
	if key := req.FormValue("prefix"); key != "" {
		server.uploads = slices.DeleteFunc(slices.Clone(e.uploads), func(b begun) bool { return b.Key != key })
	} else {
		server.uploads = e.remembered
	}
	server.answer(w, req)
}

// A store that takes no prefix but a whole key is asked for all that it remembers as
// well: each upload is listed once, and none of another prefix.
func TestListUploadsOfExactKeys(t *testing.T) {
	at := "2026-01-02T03:04:05.000Z"
	old, known, below, other := begun{"a", "u1", at}, begun{"a", "u2", at}, begun{"a/b", "u3", at}, begun{"b", "u4", at}
	for prefix, want := range map[string][]string{"a": {"u1", "u2", "u3"}, "a/": {"u3"}, "": {"u2", "u3", "u4"}, "c": nil} {
		s := exactServer{uploadsServer{page: 4, uploads: []begun{old, known, below, other}}, []begun{known, below, other}}
		uploads, err := record(t, s.answer).store(t, "minio").ListUploads(t.Context(), "b", prefix)
		var ids []string
		for _, u := range uploads {
			ids = append(ids, u.ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%q: %q, want %q; err = %v", prefix, ids, want, err)
		}
	}
}

// A proxy's page is not an empty list.
func TestListOfAPage(t *testing.T) {
	r := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<html><body>Welcome! Please log in.</body></html>")
	})
	s := r.store(t, "aws")
	parts, list := s.List(t.Context(), upload)
	_, uploads := s.ListUploads(t.Context(), "b", "")
	for _, err := range []error{list, uploads} {
		if e, ok := errors.AsType[*wire.StoreError](err); !ok || wire.Classify(wire.Outcome{Op: wire.List, Status: e.Status, Code: e.Code}) != wire.Retry {
			t.Errorf("%v, err = %v", parts, err)
		}
	}
}
