package multipart

import (
	"context"
	"net/http"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

// Control is the control plane of a store: the small, rare and sometimes
// ambiguous calls around the parts. The uploader calls it from many goroutines
// at once.
//
// Every method makes one attempt and does not retry. A refusal is returned as
// a *wire.StoreError (wrapped or not), a missed deadline as a
// *wire.DeadlineError, the end of the context as its cause, the failure of a
// service in between as a *[ServiceError], anything else as the transport's error.
type Control interface {
	// Traits says what the store can do. It makes no call.
	Traits() Traits

	// Create begins an upload. It is not idempotent, but with [Traits.SameCreate]:
	// each success is another upload. What it returns may have another key than was
	// asked for, which is the object's then.
	Create(ctx context.Context, i Intent) (Upload, error)

	// List returns the parts that the store holds, all pages of them, in the
	// order of their numbers.
	List(ctx context.Context, u Upload) ([]Receipt, error)

	// Complete makes the object from the parts. An empty ETag in what it
	// returns counts as no answer.
	Complete(ctx context.Context, u Upload, c Completion) (Info, error)

	// Abort drops an upload and its parts. An upload that is already gone is a
	// success.
	Abort(ctx context.Context, u Upload) error

	// Head says what the store has under a key, its checksum included if it
	// keeps one.
	Head(ctx context.Context, bucket, key string) (Info, error)
}

// ServiceError is the failure of a service that stands between here and the store's
// control plane, or of the way to it. The store has no part in it, so neither the
// retry budget nor the breaker nor the lanes hear of it; what it wraps decides
// whether the call is made again.
type ServiceError struct {
	Service string // its address, without a secret
	Err     error  // a *wire.StoreError for an answer other than success, else why there is none
}

func (e *ServiceError) Error() string { return "service " + e.Service + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ServiceError) Unwrap() error { return e.Err }

// UploadLister is a [Control] that can list unfinished uploads.
type UploadLister interface {
	// ListUploads returns the unfinished uploads of keys that begin with the
	// prefix, all pages of them.
	ListUploads(ctx context.Context, bucket, prefix string) ([]Unfinished, error)
}

// Unfinished is an upload that was begun and neither completed nor aborted.
type Unfinished struct {
	Upload
	Initiated time.Time // by the store's clock
	Listed    time.Time // by the same clock, when it answered; zero if it did not say
}

// RangeReader is a [Control] that can read objects.
type RangeReader interface {
	// ReadRange reads size bytes from offset on, fewer only at the end of the
	// object. With an ETag, an object that has another one meanwhile is a
	// *wire.StoreError of status 412.
	ReadRange(ctx context.Context, bucket, key, etag string, offset, size int64) ([]byte, error)
}

// Traits are what stores differ in, as data.
type Traits struct {
	// Endpoint is the scheme and host that requests go to; with the bucket it
	// names the [Endpoint] that uploads share.
	Endpoint string

	// Limits of part sizes and numbers; zero fields mean S3's.
	Limits chunker.Limits

	// Algorithm is that of the digest which is signed into each part's
	// request. None sends none.
	Algorithm chunker.Algorithm

	// FullObject says that the store combines the parts' digests into the
	// whole object's (Algorithm must be a CRC), takes ours with Complete and
	// compares them.
	FullObject bool

	// Whole is the algorithm of the digest that the store names of the whole object,
	// where the parts' is none that combines: it has to be a CRC. None: that of the
	// parts.
	Whole chunker.Algorithm

	// MetaPrefix is how the store spells user metadata ("X-Amz-Meta-" if
	// empty).
	MetaPrefix string

	// EqualParts says that all parts but the last must have one size.
	EqualParts bool

	// CreateOnly says that the store honours If-None-Match: * on a PUT and on
	// Complete, and so never replaces an object that is there already.
	CreateOnly bool

	// OpaqueETag says that the ETag of an object from parts is not made of the
	// parts' MD5s, however much it looks like it.
	OpaqueETag bool

	// GoogHash says that a part's digest goes up as X-Goog-Hash instead of a
	// header of its algorithm's own.
	GoogHash bool

	// PartsOnly says that an object goes up in parts whatever its size is, an
	// empty one in one empty part.
	PartsOnly bool

	// Unseen says that Head cannot look at objects: what Complete answers is all
	// that is ever known of one, and success without an ETag is a success.
	Unseen bool

	// SameCreate says that Create with the same header, which has the upload's
	// token, is one upload however often it is called.
	SameCreate bool
}

// Intent is an upload that is to be created.
type Intent struct {
	Bucket, Key string

	// Size of the object in bytes; negative if nobody knows yet.
	Size int64

	// Header holds the object's properties and metadata as HTTP headers.
	Header http.Header

	// Algorithm and FullObject are declared at creation where the store needs
	// that; None declares nothing.
	Algorithm  chunker.Algorithm
	FullObject bool
}

// Upload names an unfinished multipart upload at its store.
type Upload struct {
	Bucket, Key, ID string
}

// Receipt is a part that the store has acknowledged or lists.
type Receipt struct {
	Number int
	Size   int64
	ETag   string
	Digest chunker.Digest // zero if the store named none

	whole chunker.Digest // of [Traits.Whole]; zero if that is None
}

// Completion is what Complete sends.
type Completion struct {
	Parts      []Receipt // in the order of their numbers; not to be changed
	Size       int64     // of the whole object, in bytes
	Algorithm  chunker.Algorithm
	FullObject bool
	Digest     chunker.Digest // the whole object's, if FullObject

	// CreateOnly asks for a refusal (412) if there is an object under the key.
	CreateOnly bool
}

// Info is what a store says of an object.
type Info struct {
	Size      int64
	ETag      string
	VersionID string
	Digest    chunker.Digest    // of the whole object; zero if the store named none
	Composite int               // not 0: Digest is the composite one of so many parts
	Metadata  map[string]string // the user's, keys in lower case

	// OpaqueETag says that the ETag is no MD5, however much it looks like one: of
	// an object that is encrypted with a key of the user's or of KMS.
	OpaqueETag bool
}
