package storetest

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// Presign makes a request that this store honours until its TTL is over.
func (m *Mem) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	query := url.Values{"nonce": {strconv.FormatInt(m.nonce.Add(1), 10)}} // no two are the same
	var notAfter time.Time
	if m.TTL != 0 {
		notAfter = time.Now().Add(m.TTL)
		query.Set("expires", strconv.FormatInt(notAfter.UnixNano(), 10))
	}
	if p.UploadID != "" {
		query.Set("uploadId", p.UploadID)
		query.Set("partNumber", strconv.Itoa(p.Number))
	}
	header := p.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if p.ChecksumHeader != "" {
		header.Set(p.ChecksumHeader, p.Checksum)
	}
	u := url.URL{Scheme: "http", Host: "mem", Path: "/" + p.Bucket + "/" + p.Key, RawQuery: query.Encode()}
	return presign.Request{Method: http.MethodPut, URL: u.String(), Header: header, NotAfter: notAfter}, nil
}

// serve takes parts and whole objects.
func (m *Mem) serve(w http.ResponseWriter, r *http.Request) {
	op, number := wire.PutObject, 0
	if id := r.FormValue("uploadId"); id != "" {
		op = wire.PutPart
		number, _ = strconv.Atoi(r.FormValue("partNumber"))
	}
	f := m.arrive(op, number, r.Header.Get("Expect") != "")
	if f == nil {
		f = &Fault{}
	}
	if wait(r.Context(), f) != nil {
		return
	}
	if expires, err := strconv.ParseInt(r.FormValue("expires"), 10, 64); err == nil && time.Now().UnixNano() >= expires {
		answer(w, 403, "AccessDenied", "Request has expired", "")
		return
	}
	if f.Reset && !f.Apply {
		io.CopyN(io.Discard, r.Body, f.After)
		hangUp(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	if f.Status != 0 && !f.Apply {
		answer(w, f.Status, f.Code, f.Message, f.RetryAfter)
		return
	}
	etag, status, code := m.store(r, number, body)
	switch {
	case f.Reset:
		hangUp(w)
	case f.Status != 0:
		answer(w, f.Status, f.Code, f.Message, f.RetryAfter)
	case status != 0:
		answer(w, status, code, code, "")
	default:
		w.Header().Set("ETag", etag)
	}
}

// store keeps what came, if its digest is right.
func (m *Mem) store(r *http.Request, number int, body []byte) (etag string, status int, code string) {
	var digest chunker.Digest
	if m.traits.Algorithm != chunker.None {
		digest, _ = chunker.Sum(strings.NewReader(string(body)), m.traits.Algorithm)
	}
	for _, name := range []string{"X-Amz-Checksum-Crc64nvme", "X-Amz-Checksum-Crc32c", "Content-Md5"} {
		if v := r.Header.Get(name); v != "" && v != digest.Base64() {
			return "", 400, "BadDigest"
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	etag = etagOf(body)
	if number == 0 {
		_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		m.objects[key] = Object{Body: body, Header: r.Header.Clone(), ETag: etag, Digest: digest}
		return etag, 0, ""
	}
	up := m.uploads[r.FormValue("uploadId")]
	if up == nil {
		return "", 404, "NoSuchUpload"
	}
	up.parts[number] = part{body: body, receipt: multipart.Receipt{Number: number, Size: int64(len(body)), ETag: etag, Digest: digest}}
	return etag, 0, ""
}

// answer refuses as S3 does.
func answer(w http.ResponseWriter, status int, code, message, retryAfter string) {
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.Header().Set("X-Amz-Request-Id", "mem")
	w.WriteHeader(status)
	if code == "" {
		return
	}
	xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
}

// hangUp breaks the connection.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}
