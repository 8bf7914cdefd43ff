package sink

import (
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// object is what is remembered of one, or of a part.
type object struct {
	size int64
	etag string // without quotes
	sums []sum
	kind string // of the checksum: FULL_OBJECT, or empty
	meta []byte
	made time.Time
}

type upload struct {
	bucket, key string
	meta        []byte
	parts       map[int]object
}

// shelf holds what is remembered. Its zero value has to be cleared once.
type shelf struct {
	mu      sync.Mutex
	last    uint64 // of the ETags and upload ids that were given out
	objects map[string]object
	uploads map[string]*upload
	stored  int64 // bytes of objects that were made
	made    int64 // objects
	pieces  int64 // that they were made of
}

func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.uploads = map[string]object{}, map[string]*upload{}
	s.stored, s.made, s.pieces = 0, 0, 0
}

func (s *shelf) next() string {
	s.last++
	return "sink" + strconv.FormatUint(s.last, 36)
}

// apply does what a request asks for, whose object or part has that size.
func (s *shelf) apply(op Op, h *head, size int64) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[h.param("uploadId")]
	switch op {
	case Other:
		return s.other(h)
	case List:
		return s.list(h)
	case ListUploads:
		return document("<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
	case Create:
		return s.create(h)
	case Put:
		o := s.newObject(h, size)
		o.setKind("")
		s.keep(h, o, 1)
		return o.answer()
	case Head:
		if o, ok := s.objects[h.bucket+"/"+h.key]; ok {
			a := o.answer()
			a.length = o.size
			return a
		}
		return refusal(http.StatusNotFound, "NoSuchKey")
	case Delete:
		delete(s.objects, h.bucket+"/"+h.key)
		return answer{status: http.StatusNoContent}
	}
	if u == nil || u.bucket != h.bucket || u.key != h.key {
		return refusal(http.StatusNotFound, "NoSuchUpload")
	}
	switch op {
	case Abort:
		delete(s.uploads, h.param("uploadId"))
		return answer{status: http.StatusNoContent}
	case ListParts:
		return u.list(h)
	case Complete:
		return s.complete(h, u)
	}
	number, err := strconv.Atoi(h.param("partNumber"))
	if err != nil || number < 1 || number > 10000 {
		return refusal(http.StatusBadRequest, "InvalidArgument")
	}
	o := s.newObject(h, size)
	u.parts[number] = o
	return o.answer()
}

// newObject has the ETag that its declared MD5 makes, as with S3, or one that
// nobody takes for an MD5.
func (s *shelf) newObject(h *head, size int64) object {
	o := object{size: size, sums: h.sums, meta: h.meta, made: time.Now()}
	if b, err := base64.StdEncoding.DecodeString(h.md5); err == nil && len(b) == md5.Size {
		o.etag = hex.EncodeToString(b)
		return o
	}
	o.etag = s.next()
	return o
}

// setKind takes what the client says of its checksum; S3's word for that of a whole
// object if it says nothing.
func (o *object) setKind(declared string) {
	if len(o.sums) > 0 {
		o.kind = cmp.Or(declared, "FULL_OBJECT")
	}
}

func (s *shelf) keep(h *head, o object, pieces int) {
	s.objects[h.bucket+"/"+h.key] = o
	s.stored += o.size
	s.made++
	s.pieces += int64(pieces)
}

func (s *shelf) create(h *head) answer {
	id := s.next()
	s.uploads[id] = &upload{bucket: h.bucket, key: h.key, meta: h.meta, parts: map[int]object{}}
	return document("<InitiateMultipartUploadResult><Bucket>" + escape(h.bucket) + "</Bucket><Key>" + escape(h.key) +
		"</Key><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>")
}

// complete makes the object of all parts that came, whichever are listed.
func (s *shelf) complete(h *head, u *upload) answer {
	o := object{sums: h.sums, meta: u.meta, made: time.Now()}
	o.setKind(h.kind)
	for _, p := range u.parts {
		o.size += p.size
	}
	if o.etag = u.etag(); o.etag == "" {
		o.etag = s.next() + "-" + strconv.Itoa(len(u.parts))
	}
	s.keep(h, o, len(u.parts))
	delete(s.uploads, h.param("uploadId"))
	return document("<CompleteMultipartUploadResult><Bucket>" + escape(h.bucket) + "</Bucket><Key>" + escape(h.key) +
		"</Key><ETag>&#34;" + o.etag + "&#34;</ETag>" + o.sumElements() + "</CompleteMultipartUploadResult>")
}

// etag is made of those of the parts, as S3 makes it; empty if one of them is no MD5.
func (u *upload) etag() string {
	sum := md5.New()
	for _, number := range slices.Sorted(maps.Keys(u.parts)) {
		b, err := hex.DecodeString(u.parts[number].etag)
		if err != nil || len(b) != md5.Size {
			return ""
		}
		sum.Write(b)
	}
	return fmt.Sprintf("%x-%d", sum.Sum(nil), len(u.parts))
}
