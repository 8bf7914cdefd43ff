package journal

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

// Version is the version of the records that this package writes, and the
// newest that it reads.
const Version = 1

// State is how far an upload is. A state is written before the call that it
// announces.
type State string

// The states.
const (
	Creating   State = "creating"   // the store is asked for an upload; its id is not known
	Uploading  State = "uploading"  // parts are sent
	Completing State = "completing" // the store is asked to make the object: it may be there already
	Aborting   State = "aborting"   // the upload is to be dropped
	Orphaned   State = "orphaned"   // given up, and the store may still hold parts. The id may be unknown
)

// Record is what is known about an upload. It is a plain value without secrets;
// the zero Record is not valid.
type Record struct {
	// Version, Updated, PID and Host are set by [Claim.Save]. Host is empty if
	// the system has no name.
	Version int       `json:"-"`
	Updated time.Time `json:"updated"`
	PID     int       `json:"pid,omitempty"`
	Host    string    `json:"host,omitempty"`

	State State `json:"state"`

	// Endpoint (scheme://host), Bucket and Key are the destination, and the
	// same as were claimed.
	Endpoint string `json:"endpoint,omitempty"`
	Bucket   string `json:"bucket,omitempty"`
	Key      string `json:"key"`

	// Token is the upload's own, in the metadata of the object. It is not a
	// secret. UploadID is empty while Creating and may be while Orphaned.
	Token    string `json:"token"`
	UploadID string `json:"upload_id,omitempty"`

	// Plan is zero if the length of the source is not known.
	Source Source       `json:"source"`
	Plan   chunker.Plan `json:"plan"`

	// Algorithm is of the digests of the parts; FullObject as the store was
	// told.
	Algorithm  chunker.Algorithm `json:"algorithm"`
	FullObject bool              `json:"full_object,omitempty"`

	// Header and Metadata are the object's own. A header that carries a key
	// ([Secret]) makes the record invalid: drop it first.
	Header   http.Header       `json:"header,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`

	// Conditional says that the object must not replace another.
	Conditional bool `json:"conditional,omitempty"`

	// Command is how its user began the upload, for people to read. It is
	// written as it is: leave out what is secret.
	Command []string `json:"command,omitempty"`

	// Parts are the receipts of the parts that the store has taken, in any
	// order, no number twice.
	Parts []Part `json:"parts,omitempty"`

	// Leftover are ids of earlier uploads to the destination that could not be
	// aborted yet.
	Leftover []string `json:"leftover,omitempty"`

	// Keys are the keys of those uploads, by id, that the control plane has given
	// another one than was asked for. See KeyOf.
	Keys map[string]string `json:"keys,omitempty"`

	Started time.Time `json:"started"`
}

// Source says where the bytes come from. The zero Source is something without a
// name: a stream, or memory.
type Source struct {
	// Path of the file, absolute. It need not be UTF-8.
	Path string `json:"path,omitempty"`

	// Identity of the file when the upload began. Its size is the plan's.
	Identity chunker.Identity `json:"identity,omitzero"`
}

// Part is a part that a store has.
type Part struct {
	Number int            `json:"number"`
	Size   int64          `json:"size"` // bytes
	ETag   string         `json:"etag"`
	Digest chunker.Digest `json:"digest,omitzero"` // zero: not known
}

// unplanned says that the length of the source is not known, so that the plan
// says nothing.
func (r *Record) unplanned() bool {
	return r.Source.Path == "" && r.Plan == chunker.Plan{}
}

// clone returns a record that shares nothing with r.
func (r Record) clone() Record {
	r.Header = r.Header.Clone()
	r.Metadata = maps.Clone(r.Metadata)
	r.Command = slices.Clone(r.Command)
	r.Parts = slices.Clone(r.Parts)
	r.Leftover = slices.Clone(r.Leftover)
	r.Keys = maps.Clone(r.Keys)
	return r
}

// KeyOf is the key of an upload to the destination.
func (r *Record) KeyOf(uploadID string) string {
	if key, ok := r.Keys[uploadID]; ok {
		return key
	}
	return r.Key
}
