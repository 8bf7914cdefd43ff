package sink

import "net/http"

// Op is the operation of a request, as the counters name it.
type Op string

// The operations that are told apart.
const (
	Create      Op = "create"
	PutPart     Op = "part"
	Complete    Op = "complete"
	Abort       Op = "abort"
	ListParts   Op = "list parts"
	ListUploads Op = "list uploads"
	Put         Op = "put"
	Head        Op = "head"
	Delete      Op = "delete"
	List        Op = "list"
	Other       Op = "other" // of buckets and of the service, and what is not served
)

// isBody tells whether a request carries an object's bytes.
func (o Op) isBody() bool { return o == PutPart || o == Put }

func (h *head) op() Op {
	upload := h.has("uploadId")
	switch {
	case h.key == "" && h.method == http.MethodGet && h.has("uploads"):
		return ListUploads
	case h.bucket != "" && h.key == "" && h.method == http.MethodGet && !h.subresource():
		return List
	case h.key == "":
		return Other
	case h.method == http.MethodPost && h.has("uploads"):
		return Create
	case h.method == http.MethodPost && upload:
		return Complete
	case h.method == http.MethodPut && upload:
		return PutPart
	case h.method == http.MethodPut && !h.subresource():
		return Put
	case h.method == http.MethodGet && upload:
		return ListParts
	case h.method == http.MethodDelete && upload:
		return Abort
	case h.method == http.MethodDelete:
		return Delete
	case h.method == http.MethodHead:
		return Head
	}
	return Other
}

// subresource tells whether a request is about a setting: of a bucket or an object.
func (h *head) subresource() bool {
	for _, name := range []string{"location", "versioning", "acl", "tagging", "object-lock", "encryption", "policy",
		"lifecycle", "replication", "notification", "retention", "legal-hold", "cors", "versions", "events"} {
		if h.has(name) {
			return true
		}
	}
	return false
}
