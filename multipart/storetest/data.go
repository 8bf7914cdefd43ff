package storetest

import (
	"bytes"
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
	has, status, code := m.store(r, number, body)
	switch {
	case f.Reset:
		hangUp(w)
	case f.Status != 0:
		answer(w, f.Status, f.Code, f.Message, f.RetryAfter)
	case status != 0:
		answer(w, status, code, code, "")
	default:
		w.Header().Set("ETag", has.ETag)
		if d := has.Digest; declared(d.Algorithm()) && !m.traits.GoogHash { // as S3 answers
			w.Header().Set(checksumHeader(d.Algorithm()), d.Base64())
		}
	}
}

// store keeps what came, if its digest is right and it may replace what is there.
func (m *Mem) store(r *http.Request, number int, body []byte) (has multipart.Receipt, status int, code string) {
	if !isIntact(r.Header, body) {
		return has, 400, "BadDigest"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	_, exists := m.objects[key]
	up := m.uploads[r.FormValue("uploadId")]
	op, algorithm := wire.PutPart, m.traits.Algorithm
	switch {
	case number == 0 && exists && m.traits.CreateOnly && r.Header.Get("If-None-Match") == "*":
		return has, 412, "PreconditionFailed"
	case number == 0:
		op = wire.PutObject
	case up == nil:
		return has, 404, "NoSuchUpload"
	default:
		algorithm = up.intent.Algorithm
	}
	body, believed := m.tamper(op, number, body, body)
	has = multipart.Receipt{Number: number, Size: int64(len(believed)), ETag: etagOf(believed)}
	if declared(algorithm) {
		has.Digest, _ = chunker.Sum(bytes.NewReader(believed), algorithm)
	}
	if number == 0 {
		m.objects[key] = Object{Body: body, believed: believed, Header: r.Header.Clone(), ETag: has.ETag, Digest: has.Digest}
		return has, 0, ""
	}
	up.parts[number] = part{body: body, believed: believed, receipt: has}
	return has, 0, ""
}

// isIntact compares a body with each digest that came with it.
func isIntact(h http.Header, body []byte) bool {
	goog, googSum, _ := strings.Cut(h.Get("X-Goog-Hash"), "=")
	for _, a := range []chunker.Algorithm{chunker.CRC64NVME, chunker.CRC32C, chunker.CRC32, chunker.SHA256, chunker.MD5} {
		sent := h.Get(checksumHeader(a))
		if sent == "" && goog != a.String() {
			continue
		}
		d, _ := chunker.Sum(bytes.NewReader(body), a)
		if sent != "" && sent != d.Base64() || goog == a.String() && googSum != d.Base64() {
			return false
		}
	}
	return true
}

// checksumHeader is how S3 spells a part's digest.
func checksumHeader(a chunker.Algorithm) string {
	if a == chunker.MD5 {
		return "Content-Md5"
	}
	return http.CanonicalHeaderKey("x-amz-checksum-" + a.String())
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
