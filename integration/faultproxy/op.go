package faultproxy

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Op is the S3 operation of a request, as far as method, path and query tell
// it. Paths are read in path style: /bucket/key.
//
// The zero value is Any: in a rule it matches every request, a recorded
// request never has it.
type Op uint8

// The operations a rule can name.
const (
	Any         Op = iota
	PutPart        // PUT key?partNumber&uploadId, also when it copies
	PutObject      // PUT key
	Create         // POST key?uploads
	Complete       // POST key?uploadId
	Abort          // DELETE key?uploadId
	ListParts      // GET key?uploadId
	ListUploads    // GET bucket?uploads
	Head           // HEAD key
	Get            // GET key
	Delete         // DELETE key
	Other          // everything else: buckets, tags, minting services
)

// String returns the name of the constant.
func (o Op) String() string {
	names := [...]string{
		"Any", "PutPart", "PutObject", "Create", "Complete", "Abort",
		"ListParts", "ListUploads", "Head", "Get", "Delete", "Other",
	}
	if int(o) < len(names) {
		return names[o]
	}
	return "Op(" + strconv.Itoa(int(o)) + ")"
}

// target is what a request is about.
type target struct {
	op       Op
	bucket   string
	key      string
	part     int
	uploadID string
}

// parse reads the target from method, path and query. It never fails: what it
// does not know is Other.
func parse(method string, u *url.URL) target {
	q := u.Query()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	t := target{bucket: bucket, key: key, uploadID: q.Get("uploadId")}
	if n, err := strconv.Atoi(q.Get("partNumber")); err == nil {
		t.part = n
	}
	t.op = operation(method, t, q)
	return t
}

func operation(method string, t target, q url.Values) Op {
	if t.key == "" {
		if method == http.MethodGet && q.Has("uploads") {
			return ListUploads
		}
		return Other
	}
	for _, sub := range []string{"acl", "tagging", "retention", "legal-hold", "attributes"} {
		if q.Has(sub) {
			return Other
		}
	}
	upload := q.Has("uploadId")
	switch method {
	case http.MethodPut:
		return pick(upload && q.Has("partNumber"), PutPart, PutObject)
	case http.MethodPost:
		return pick(q.Has("uploads"), Create, pick(upload, Complete, Other))
	case http.MethodDelete:
		return pick(upload, Abort, Delete)
	case http.MethodGet:
		return pick(upload, ListParts, Get)
	case http.MethodHead:
		return Head
	}
	return Other
}

func pick(first bool, a, b Op) Op {
	if first {
		return a
	}
	return b
}
