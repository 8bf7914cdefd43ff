package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

const tokenHeader = "X-Amz-Meta-" + tokenKey

// stored is an object of the fake.
type stored struct {
	token   string
	content []byte
	etag    string
}

// begunUpload is an unfinished upload of the fake.
type begunUpload struct {
	id, path, token string
	initiated       time.Time
	parts           map[int]storedPart
}

type storedPart struct {
	content []byte
	sum     string // CRC64NVME, if it was sent
}

// serve answers as a store does.
func (f *fake) serve(w http.ResponseWriter, r *http.Request, op string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch op {
	case "create":
		f.create(w, r)
	case "part":
		f.put(w, r, body)
	case "put":
		if !f.taken(w, r) {
			w.Header().Set("ETag", `"part"`)
			f.objects[r.URL.Path] = stored{r.Header.Get(tokenHeader), body, `"part"`}
		}
	case "complete":
		f.complete(w, r)
	case "head", "get":
		f.get(w, r)
	case "list":
		f.list(w, r)
	case "uploads":
		f.listUploads(w, r)
	case "abort":
		f.abort(w, r)
	}
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	f.ids++
	u := &begunUpload{fmt.Sprint("U", f.ids), r.URL.Path, r.Header.Get(tokenHeader), time.Now(), map[int]storedPart{}}
	f.uploads = append(f.uploads, u)
	fmt.Fprintf(w, `<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>`, u.id)
}

// of a request: the upload that it is about, or an answer that there is none.
func (f *fake) upload(w http.ResponseWriter, r *http.Request) *begunUpload {
	i := slices.IndexFunc(f.uploads, func(u *begunUpload) bool { return u.id == r.URL.Query().Get("uploadId") && u.path == r.URL.Path })
	if i < 0 {
		refuse(w, http.StatusNotFound, "NoSuchUpload")
		return nil
	}
	return f.uploads[i]
}

func (f *fake) put(w http.ResponseWriter, r *http.Request, body []byte) {
	u := f.upload(w, r)
	if u == nil {
		return
	}
	n, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
	sum := r.Header.Get("X-Amz-Checksum-Crc64nvme")
	if sum == "" {
		sum = r.URL.Query().Get("x-amz-checksum-crc64nvme")
	}
	u.parts[n] = storedPart{body, sum}
	w.Header().Set("ETag", `"part"`)
}

// lay lays an object down, past the requests; forget takes all away, and keys are what
// there is.
func (f *fake) lay(path string, o stored) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[path] = o
}

func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.objects)
}

func (f *fake) keys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.objects))
}

// taken refuses to replace an object where that was asked for.
func (f *fake) taken(w http.ResponseWriter, r *http.Request) bool {
	_, there := f.objects[r.URL.Path]
	return there && r.Header.Get("If-None-Match") == "*" && refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
}

func (f *fake) complete(w http.ResponseWriter, r *http.Request) {
	u := f.upload(w, r)
	if u == nil || f.taken(w, r) {
		return
	}
	o := stored{u.token, nil, `"whole-1"`}
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		o.content = append(o.content, u.parts[n].content...)
	}
	f.objects[u.path] = o
	f.drop(u)
	fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"whole-1"</ETag></CompleteMultipartUploadResult>`)
}

func (f *fake) drop(u *begunUpload) {
	f.uploads = slices.DeleteFunc(f.uploads, func(other *begunUpload) bool { return other == u })
}

func (f *fake) abort(w http.ResponseWriter, r *http.Request) {
	if u := f.upload(w, r); u != nil {
		f.drop(u)
		w.WriteHeader(http.StatusNoContent)
	}
}

// get answers HEAD and ranges.
func (f *fake) get(w http.ResponseWriter, r *http.Request) {
	o, ok := f.objects[r.URL.Path]
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", o.etag)
	w.Header().Set(tokenHeader, o.token)
	if sum, err := chunker.Sum(bytes.NewReader(o.content), chunker.CRC64NVME); err == nil && r.Header.Get("X-Amz-Checksum-Mode") != "" && !f.sumless {
		w.Header().Set("X-Amz-Checksum-Crc64nvme", sum.Base64())
		w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.content))
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	u := f.upload(w, r)
	if u == nil {
		return
	}
	fmt.Fprint(w, "<ListPartsResult>")
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		p := u.parts[n]
		fmt.Fprintf(w, `<Part><PartNumber>%d</PartNumber><Size>%d</Size><ETag>"part"</ETag><ChecksumCRC64NVME>%s</ChecksumCRC64NVME></Part>`, n, len(p.content), p.sum)
	}
	fmt.Fprint(w, "</ListPartsResult>")
}

func (f *fake) listUploads(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "<ListMultipartUploadsResult>")
	for _, u := range f.uploads {
		bucket, key, _ := strings.Cut(strings.TrimPrefix(u.path, "/"), "/")
		if "/"+bucket != strings.TrimSuffix(r.URL.Path, "/") || !strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
			continue
		}
		fmt.Fprint(w, "<Upload><Key>")
		_ = xml.EscapeText(w, []byte(key))
		fmt.Fprintf(w, "</Key><UploadId>%s</UploadId><Initiated>%s</Initiated></Upload>", u.id, u.initiated.UTC().Format(time.RFC3339))
	}
	fmt.Fprint(w, "</ListMultipartUploadsResult>")
}

// unfinished are the ids of the uploads that are open.
func (f *fake) unfinished() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range f.uploads {
		ids = append(ids, u.id)
	}
	return ids
}

// object is what the fake has under a path.
func (f *fake) object(path string) (stored, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.objects[path]
	return o, ok
}

// begin puts an unfinished upload there, as somebody else has begun it.
func (f *fake) begin(path string, ago time.Duration, parts ...string) (id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids++
	u := &begunUpload{id: fmt.Sprint("U", f.ids), path: path, initiated: time.Now().Add(-ago), parts: map[int]storedPart{}}
	for i, p := range parts {
		u.parts[i+1] = storedPart{content: []byte(p)}
	}
	f.uploads = append(f.uploads, u)
	return u.id
}
