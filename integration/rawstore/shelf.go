package rawstore

import (
	"bytes"
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

type object struct {
	body []byte
	etag string
	meta http.Header
}

type upload struct {
	key   string
	meta  http.Header
	parts map[int]object
}

func newShelf() *shelf {
	return &shelf{objects: map[string]object{}, uploads: map[string]*upload{}}
}

// do lets a request take effect and returns the answer.
func (s *shelf) do(t target, h http.Header, body []byte) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t.op {
	case Create:
		return s.create(t, h)
	case PutObject:
		o := newObject(body, metaOf(h))
		s.objects[t.key] = o
		return &answer{status: http.StatusOK, header: o.headers()}
	case Get, Head:
		o, ok := s.objects[t.key]
		if !ok {
			return refusal(http.StatusNotFound, "NoSuchKey", "there is no such object")
		}
		return &answer{status: http.StatusOK, header: o.headers(), body: o.body}
	case ListUploads:
		return s.list(t)
	case PutPart, Complete, Abort, ListParts:
		return s.withUpload(t, body)
	}
	return refusal(http.StatusNotImplemented, "NotImplemented", "this store does not know that")
}

func (s *shelf) create(t target, h http.Header) *answer {
	s.last++
	id := fmt.Sprintf("upload-%d", s.last)
	s.uploads[id] = &upload{key: t.key, meta: metaOf(h), parts: map[int]object{}}
	return document(struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		Key      string
		UploadId string
	}{Key: t.key, UploadId: id})
}

// withUpload does what needs an unfinished upload.
func (s *shelf) withUpload(t target, body []byte) *answer {
	u := s.uploads[t.uploadID]
	if u == nil || u.key != t.key {
		return refusal(http.StatusNotFound, "NoSuchUpload", "there is no such upload")
	}
	switch t.op {
	case PutPart:
		p := newObject(body, nil)
		u.parts[t.part] = p
		return &answer{status: http.StatusOK, header: p.headers()}
	case Complete:
		return s.complete(t, u, body)
	case Abort:
		delete(s.uploads, t.uploadID)
		return &answer{status: http.StatusNoContent}
	}
	return u.list()
}

type partTag struct {
	PartNumber int
	ETag       string
	Size       int
}

func (s *shelf) complete(t target, u *upload, body []byte) *answer {
	var asked struct{ Part []partTag }
	if err := xml.Unmarshal(body, &asked); err != nil || len(asked.Part) == 0 {
		return refusal(http.StatusBadRequest, "MalformedXML", "that is no list of parts")
	}
	var whole bytes.Buffer
	sums := md5.New()
	for _, p := range asked.Part {
		part, ok := u.parts[p.PartNumber]
		if !ok || part.etag != p.ETag {
			return refusal(http.StatusBadRequest, "InvalidPart", fmt.Sprintf("part %d is not here", p.PartNumber))
		}
		whole.Write(part.body)
		sum := md5.Sum(part.body)
		sums.Write(sum[:])
	}
	o := object{body: whole.Bytes(), meta: u.meta, etag: fmt.Sprintf("%q", fmt.Sprintf("%x-%d", sums.Sum(nil), len(asked.Part)))}
	s.objects[t.key] = o
	delete(s.uploads, t.uploadID)
	return document(struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		Key     string
		ETag    string
	}{Key: t.key, ETag: o.etag})
}

func (u *upload) list() *answer {
	var parts []partTag
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		parts = append(parts, partTag{n, u.parts[n].etag, len(u.parts[n].body)})
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

func newObject(body []byte, meta http.Header) object {
	sum := md5.Sum(body)
	return object{body: body, meta: meta, etag: `"` + hex.EncodeToString(sum[:]) + `"`}
}

func (o object) headers() http.Header {
	h := http.Header{"Etag": {o.etag}}
	maps.Copy(h, o.meta)
	return h
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
