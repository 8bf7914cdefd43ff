package rawstore

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// shelf is what is stored: objects by key and unfinished uploads by id. All
// buckets are one. It is safe for concurrent use.
type shelf struct {
	mu      sync.Mutex
	objects map[string]object
	uploads map[string]*upload
	last    int // upload id
}

// object is one, or a part. What it says of itself is what it is, unless somebody
// pretends.
type object struct {
	body []byte
	etag string
	crc  string // CRC64NVME; empty if the client has none to compare it with
	meta http.Header
}

type upload struct {
	key   string
	sums  bool // the parts have CRC64NVME, and the object will
	meta  http.Header
	parts map[int]object
}

func newShelf() *shelf {
	return &shelf{objects: map[string]object{}, uploads: map[string]*upload{}}
}

// do lets a request take effect, with a lie or with the zero one, and returns the
// answer.
func (s *shelf) do(t target, h http.Header, body []byte, l lie) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t.op {
	case Create:
		return s.create(t, h)
	case PutObject:
		o, told, refused := take(h, body, l)
		if refused != nil {
			return refused
		}
		o.meta = metaOf(h)
		if o.etag != "" {
			s.objects[t.key] = o
		}
		return &answer{status: http.StatusOK, header: told.headers()}
	case Get, Head:
		o, ok := s.objects[t.key]
		if !ok {
			return refusal(http.StatusNotFound, "NoSuchKey", "there is no such object")
		}
		return o.read(h)
	case ListUploads:
		return s.list(t)
	case PutPart, Complete, Abort, ListParts:
		return s.withUpload(t, h, body, l)
	}
	return refusal(http.StatusNotImplemented, "NotImplemented", "this store does not know that")
}

func (s *shelf) create(t target, h http.Header) *answer {
	s.last++
	id := fmt.Sprintf("upload-%d", s.last)
	s.uploads[id] = &upload{key: t.key, sums: h.Get("X-Amz-Checksum-Algorithm") == "CRC64NVME", meta: metaOf(h), parts: map[int]object{}}
	return document(struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		Key      string
		UploadId string
	}{Key: t.key, UploadId: id})
}

// withUpload does what needs an unfinished upload.
func (s *shelf) withUpload(t target, h http.Header, body []byte, l lie) *answer {
	u := s.uploads[t.uploadID]
	if u == nil || u.key != t.key {
		return refusal(http.StatusNotFound, "NoSuchUpload", "there is no such upload")
	}
	switch t.op {
	case PutPart:
		p, told, refused := take(h, body, l)
		if refused != nil {
			return refused
		}
		if p.etag != "" {
			u.parts[t.part] = p
		}
		return &answer{status: http.StatusOK, header: told.headers()}
	case Complete:
		return s.complete(t, u, h, body, l)
	case Abort:
		delete(s.uploads, t.uploadID)
		return &answer{status: http.StatusNoContent}
	}
	return u.list()
}

func (u *upload) list() *answer {
	var parts []partTag
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		p := u.parts[n]
		parts = append(parts, partTag{n, p.etag, p.crc, len(p.body)})
	}
	return document(struct {
		XMLName xml.Name `xml:"ListPartsResult"`
		Part    []partTag
	}{Part: parts})
}

// list lists the unfinished uploads under a prefix.
func (s *shelf) list(t target) *answer {
	type row struct{ Key, UploadId string }
	var rows []row
	for _, id := range slices.Sorted(maps.Keys(s.uploads)) {
		if key := s.uploads[id].key; strings.HasPrefix(key, t.prefix) {
			rows = append(rows, row{key, id})
		}
	}
	return document(struct {
		XMLName xml.Name `xml:"ListMultipartUploadsResult"`
		Upload  []row
	}{Upload: rows})
}

func newObject(body []byte) object {
	sum := md5.Sum(body)
	return object{body: body, etag: `"` + hex.EncodeToString(sum[:]) + `"`}
}

// headers are those of every answer about it.
func (o object) headers() http.Header {
	h := http.Header{"Etag": {o.etag}}
	if o.crc != "" {
		h.Set(crcHeader, o.crc)
	}
	return h
}

// read answers to GET and HEAD: with a range if there is one, and with the
// checksum only if it is asked for.
func (o object) read(asked http.Header) *answer {
	if tag := asked.Get("If-Match"); tag != "" && tag != o.etag {
		return refusal(http.StatusPreconditionFailed, "PreconditionFailed", "it has another ETag")
	}
	a := &answer{status: http.StatusOK, header: o.headers(), body: o.body}
	maps.Copy(a.header, o.meta)
	switch {
	case asked.Get("X-Amz-Checksum-Mode") != "ENABLED":
		a.header.Del(crcHeader)
	case o.crc != "":
		a.header.Set("X-Amz-Checksum-Type", fullObject)
	}
	var from, to int
	if n, _ := fmt.Sscanf(asked.Get("Range"), "bytes=%d-%d", &from, &to); n == 2 {
		if from >= len(o.body) || to < from {
			return refusal(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "there is no such range")
		}
		to = min(to, len(o.body)-1)
		a.status, a.body = http.StatusPartialContent, o.body[from:to+1]
		a.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(o.body)))
	}
	return a
}

// metaOf are the user's metadata of a request.
func metaOf(h http.Header) http.Header {
	meta := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			meta[name] = values
		}
	}
	return meta
}

// document is a successful answer with an XML body.
func document(v any) *answer {
	body, err := xml.Marshal(v)
	if err != nil {
		panic(err) // plain structs: cannot happen
	}
	return &answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/xml"}},
		body: append([]byte(xml.Header), body...)}
}

// refusal is S3's error document
// (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
func refusal(status int, code, message string) *answer {
	a := document(struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}{Code: code, Message: message})
	a.status = status
	return a
}
