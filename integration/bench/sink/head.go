package sink

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// head is a request without its body.
type head struct {
	method      string
	bucket, key string
	query       string // as it was sent

	length  int64 // of the body; -1: it comes in chunks
	decoded int64 // of the object, where the body is wrapped in aws-chunked; -1: it is not
	expects bool  // to be welcomed before the body is sent
	last    bool  // of its connection

	checked bool // what is sent can be told from what was meant

	md5  string // Content-MD5
	sums []sum  // what the client says of the body, or of the object
	kind string // x-amz-checksum-type
	meta []byte // the lines of user metadata, as they were sent
}

// sum is a declared checksum.
type sum struct{ name, value string } // crc64nvme, base64

var errHead = errors.New("that is no HTTP request")

// parseHead reads a request's head, which ends in an empty line.
func parseHead(b []byte) (head, error) {
	h := head{decoded: -1}
	line, rest, _ := bytes.Cut(b, crlf)
	method, line, _ := bytes.Cut(line, []byte(" "))
	target, version, ok := bytes.Cut(line, []byte(" "))
	if !ok || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return h, errHead
	}
	h.method, h.last = string(method), string(version) == "HTTP/1.0"
	if err := h.setTarget(string(target)); err != nil {
		return h, err
	}
	for len(rest) > len(crlf) {
		line, rest, _ = bytes.Cut(rest, crlf)
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return h, errHead
		}
		if err := h.setField(name, bytes.TrimSpace(value), line); err != nil {
			return h, err
		}
	}
	return h, nil
}

var crlf = []byte("\r\n")

// setTarget reads /bucket/key?query. A target may also be a whole URL.
func (h *head) setTarget(t string) error {
	if i := strings.Index(t, "://"); i > 0 && t[0] != '/' {
		t = t[i+len("://"):]
		t = t[max(0, strings.IndexByte(t, '/')):]
	}
	path, query, _ := strings.Cut(t, "?")
	path, err := url.PathUnescape(path)
	if err != nil {
		return errHead
	}
	h.query = query
	h.bucket, h.key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name, ok := checksumName([]byte(name)); ok {
			value, _ = url.QueryUnescape(value)
			h.sums, h.checked = append(h.sums, sum{name, value}), true
		}
	}
	return nil
}

func (h *head) setField(name, value, line []byte) (err error) {
	is := func(s string) bool { return len(s) == len(name) && strings.EqualFold(s, string(name)) }
	switch {
	case is("Content-Length"):
		if h.length, err = strconv.ParseInt(string(value), 10, 64); err != nil || h.length < 0 {
			return errHead
		}
	case is("Transfer-Encoding"):
		h.length = -1
	case is("X-Amz-Decoded-Content-Length"):
		if h.decoded, err = strconv.ParseInt(string(value), 10, 64); err != nil || h.decoded < 0 {
			return errHead
		}
	case is("Expect"):
		h.expects = true
	case is("Connection"):
		h.last = h.last || strings.EqualFold(string(value), "close")
	case is("Content-Md5"):
		h.md5, h.checked = string(value), true
	case is("X-Amz-Content-Sha256"): // or the hashes of the chunks, or of a trailer's
		h.checked = h.checked || string(value) != "UNSIGNED-PAYLOAD"
	case is("X-Amz-Checksum-Type"):
		h.kind = string(value)
	case hasPrefixFold(name, "x-amz-meta-"):
		h.meta = append(append(h.meta, line...), crlf...)
	default:
		if name, ok := checksumName(name); ok {
			h.sums, h.checked = append(h.sums, sum{name, string(value)}), true
		}
	}
	return nil
}

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

// checksumName tells which checksum a header or a query parameter is, if it is one.
func checksumName(name []byte) (string, bool) {
	const prefix = "x-amz-checksum-"
	if !hasPrefixFold(name, prefix) {
		return "", false
	}
	switch n := strings.ToLower(string(name[len(prefix):])); n {
	case "crc32", "crc32c", "crc64nvme", "sha1", "sha256":
		return n, true
	}
	return "", false
}

// has tells whether the query has a parameter.
func (h *head) has(name string) bool {
	_, ok := h.find(name)
	return ok
}

// param is the value of a parameter of the query; empty if it is not there.
func (h *head) param(name string) string {
	v, _ := h.find(name)
	return v
}

func (h *head) find(name string) (string, bool) {
	for pair := range strings.SplitSeq(h.query, "&") {
		if n, value, _ := strings.Cut(pair, "="); n == name {
			value, _ = url.QueryUnescape(value)
			return value, true
		}
	}
	return "", false
}

// size is that of the object in the body, which was n bytes long.
func (h *head) size(n int64) int64 {
	if h.decoded >= 0 {
		return h.decoded
	}
	return n
}
