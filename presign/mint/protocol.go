package mint

import "time"

// The wire protocol is that of Uppy Companion's S3 multipart API
// (https://github.com/transloadit/uppy, packages/@uppy/companion, 6.2.2). The
// fields that Companion does not have are optional in what is asked and extra in
// what is answered: each side ignores what it does not know. docs/mint.md has an
// example of every call.

// Version is that of the fields beyond Companion's, as [About] names it.
const Version = 1

const (
	// HeaderAttempt is how often a call was made, this time included: "1", "2", ….
	HeaderAttempt = "Upload-Attempt"

	// HeaderIdempotency names a create; the same one again gives the same upload.
	HeaderIdempotency = "Idempotency-Key"
)

// Paths, below the address of the service.
const (
	pathAbout     = "/s3/chunkup"   // GET: About. Companion answers 404.
	pathMultipart = "/s3/multipart" // POST: create; and what is below it
	pathParams    = "/s3/params"    // GET: one request for a whole object
	pathObject    = "/s3/object"    // GET: what is under a key. Companion answers 404.
)

// About is what the service says of itself and of its store: GET /s3/chunkup.
type About struct {
	Version int    `json:"version"`
	Bucket  string `json:"bucket"`

	// Prefix is that under which the caller may choose keys; ChooseKeys says
	// whether it may at all.
	ChooseKeys bool   `json:"chooseKeys"`
	Prefix     string `json:"prefix"`

	MaxSize  int64    `json:"maxSize"`           // of an object, in bytes; 0: the store's limit
	MaxParts int      `json:"maxParts"`          // of an upload; 0: the store's limit
	Headers  []string `json:"headers,omitempty"` // that an object may have besides its type and metadata

	Store Store `json:"store"`
}

// Store is what the client has to know of the store: multipart.Traits as JSON.
type Store struct {
	MinPart   int64  `json:"minPart"`
	MaxPart   int64  `json:"maxPart"`
	MaxParts  int    `json:"maxParts"`
	MaxObject int64  `json:"maxObject"`
	Algorithm string `json:"algorithm"` // as chunker.Algorithm is written: "crc64nvme"; empty: none
	Whole     string `json:"whole,omitempty"`

	FullObject bool   `json:"fullObject,omitempty"`
	EqualParts bool   `json:"equalParts,omitempty"`
	CreateOnly bool   `json:"createOnly,omitempty"`
	OpaqueETag bool   `json:"opaqueETag,omitempty"`
	GoogHash   bool   `json:"googHash,omitempty"`
	MetaPrefix string `json:"metaPrefix,omitempty"`
}

// createRequest is the body of POST /s3/multipart.
type createRequest struct {
	Filename string            `json:"filename"`
	Type     string            `json:"type"`
	Metadata map[string]string `json:"metadata"`

	Key        string            `json:"key,omitempty"`     // the wish; refused or ignored unless About.ChooseKeys
	Size       *int64            `json:"size,omitempty"`    // of the object, in bytes
	Headers    map[string]string `json:"headers,omitempty"` // of About.Headers
	Algorithm  string            `json:"algorithm,omitempty"`
	FullObject bool              `json:"fullObject,omitempty"`
}

// createResponse answers it.
type createResponse struct {
	Key      string `json:"key"`
	UploadID string `json:"uploadId"`
	Bucket   string `json:"bucket"`
}

// signedRequest answers GET /s3/multipart/{uploadId}/{partNumber}, and is what a
// batch has for each part. The question's extras are the query's size, checksum and
// checksumHeader; with them the request is good for exactly these bytes.
type signedRequest struct {
	Method  string            `json:"method"` // PUT
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"` // to be sent as they are
	Expires int64             `json:"expires"`           // seconds from now

	// NotAfter is the same by the service's clock, which the Date of the answer
	// tells.
	NotAfter *time.Time `json:"notAfter,omitempty"`
}

// batchResponse answers GET /s3/multipart/{uploadId}/batch?partNumbers=1,2. The
// extras of the question are sizes and checksums, lists of as many elements, and
// checksumHeader.
type batchResponse struct {
	PresignedURLs map[string]string        `json:"presignedUrls"`
	Parts         map[string]signedRequest `json:"parts,omitempty"`
}

// part is one of the answer to GET /s3/multipart/{uploadId} and of a complete. The
// names are the AWS SDK's for JavaScript, whose values Companion passes on.
type part struct {
	PartNumber        int
	Size              int64 `json:",omitempty"`
	ETag              string
	ChecksumCRC32     string `json:",omitempty"`
	ChecksumCRC32C    string `json:",omitempty"`
	ChecksumCRC64NVME string `json:",omitempty"`
	ChecksumSHA1      string `json:",omitempty"`
	ChecksumSHA256    string `json:",omitempty"`
}

// completeRequest is the body of POST /s3/multipart/{uploadId}/complete.
type completeRequest struct {
	Parts []part `json:"parts"`

	Size       *int64 `json:"size,omitempty"`     // of the object, in bytes
	Checksum   string `json:"checksum,omitempty"` // of the whole object, of the upload's algorithm, base64
	CreateOnly bool   `json:"createOnly,omitempty"`
}

// completeResponse answers it. Companion's has the first three.
type completeResponse struct {
	Location string `json:"location"`
	Key      string `json:"key"`
	Bucket   string `json:"bucket"`

	objectInfo
}

// objectInfo is what the store says of an object: GET /s3/object?key=…&uploadId=….
type objectInfo struct {
	Size       int64             `json:"size,omitempty"`
	ETag       string            `json:"etag,omitempty"`
	VersionID  string            `json:"versionId,omitempty"`
	Algorithm  string            `json:"algorithm,omitempty"`
	Checksum   string            `json:"checksum,omitempty"`  // base64
	Composite  int               `json:"composite,omitempty"` // not 0: Checksum is of so many parts' checksums
	Metadata   map[string]string `json:"metadata,omitempty"`
	OpaqueETag bool              `json:"opaqueETag,omitempty"`
}

// paramsResponse answers GET /s3/params. With a size in the question it is a PUT of
// exactly so many bytes; without one a form to POST, which bounds the size.
type paramsResponse struct {
	signedRequest
	Fields map[string]string `json:"fields"`
	Key    string            `json:"key"`
	Bucket string            `json:"bucket"`
}

// errorResponse is the body of every refusal.
type errorResponse struct {
	Error   string      `json:"error"`   // one sentence
	Message string      `json:"message"` // the same: what Uppy shows
	Store   *storeError `json:"store,omitempty"`
}

// storeError is there if it was the store that refused.
type storeError struct {
	Status       int    `json:"status"`
	Code         string `json:"code,omitempty"`
	Message      string `json:"message,omitempty"`
	RequestID    string `json:"requestId,omitempty"`
	RetryAfterMS int64  `json:"retryAfterMs,omitempty"`
}
