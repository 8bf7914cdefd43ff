package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// Why retrying stopped; match with errors.Is.
var (
	// ErrAttempts: the operation has failed as often as it may.
	ErrAttempts = errors.New("too many attempts")

	// ErrElapsed: no byte of the upload was acknowledged for too long.
	ErrElapsed = errors.New("no progress for too long")

	// ErrExpired: new requests were refused as expired, again and again.
	ErrExpired = errors.New("fresh requests are refused as expired: is this machine's clock right?")
)

// ErrUnknownOutcome means that the store may or may not have made the object,
// and would not say.
var ErrUnknownOutcome = errors.New("the store may or may not have the object")

// ErrSourceChanged means that the source was not the same from the first byte
// read to the last. No object was made from it, unless the error says so.
var ErrSourceChanged = errors.New("the source changed while it was read")

// ErrExists means that another object is under the key of an upload that may
// only create one.
var ErrExists = errors.New("there is another object under the key")

// ErrUnproven means that the store names no checksum of the object which the
// source can be held against.
var ErrUnproven = errors.New("the store names no checksum that can be compared")

// ErrCredentials means that there are no credentials, or none that can be used.
// A [Control] or provider wraps it; it is never tried again.
var ErrCredentials = presign.ErrCredentials

// MismatchError says that the store holds something else than was sent.
type MismatchError struct {
	What      string // "crc64nvme", "size"
	Want, Got string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s mismatch: the store says %s, the source has %s", e.What, e.Got, e.Want)
}

// Error is how an upload fails: what was being done, what failed last, why it
// was not tried again, and what is needed to go on or to clean up.
type Error struct {
	Op       wire.Operation
	Object   string // s3://bucket/key
	UploadID string // empty before there was one, and for a single PUT
	Part     int    // 0 if it was not a part
	Size     int64  // of that part, in bytes

	// Done of Parts were at the store when an upload in parts ended.
	Done, Parts int

	Attempts int           // of this operation
	Elapsed  time.Duration // since the operation began
	Stopped  error         // ErrAttempts, ErrElapsed, ErrExpired, or the end of the caller's context; nil if trying again was no use
	Err      error         // what failed last

	// Budget is the level of the endpoint's retry budget when the upload gave up.
	Budget budget.Level

	// Orphan says that an attempt to create the upload got no clear answer: there
	// may be one at the store whose id nobody knows.
	Orphan bool

	// Journal is the file that says how to go on: the same call resumes. Empty
	// if there is none.
	Journal string

	// Abort is why the upload could not be dropped at the store; nil if it was
	// dropped or there was none.
	Abort error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op.String())
	if e.Part > 0 {
		fmt.Fprintf(&b, " %d", e.Part)
	}
	fmt.Fprintf(&b, " of %s", e.Object)
	if s, ok := errors.AsType[*wire.StoreError](e.Err); ok && (s.Status == http.StatusRequestEntityTooLarge || s.Code == "EntityTooLarge") {
		fmt.Fprintf(&b, " (%d bytes)", e.Size)
	}
	b.WriteString(": ")
	if e.Stopped != nil {
		fmt.Fprintf(&b, "gave up after %s in %v, %v", attempts(e.Attempts), e.Elapsed.Round(time.Millisecond), e.Stopped)
		if !errors.Is(e.Stopped, ErrAttempts) && !errors.Is(e.Stopped, ErrExpired) { // it may have been waiting for it
			fmt.Fprintf(&b, " (%.1f of %.0f retries left in the budget)", e.Budget.Requests, e.Budget.CapacityRequests)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	if e.Part > 1 && e.Done > 0 && codeOf(e.Err) == "InvalidArgument" {
		fmt.Fprintf(&b, ": if the store takes fewer than %d parts, it needs a larger part size", e.Part)
	}
	if e.Part > 0 && e.Parts > 1 {
		fmt.Fprintf(&b, " (%d of %d parts were done)", e.Done, e.Parts)
	}
	if e.Orphan {
		b.WriteString(" (an unfinished upload may be left at the store: no answer said that there is none)")
	}
	if e.Abort != nil {
		fmt.Fprintf(&b, " (upload %s could not be aborted and may be billed until it is: %v)", e.UploadID, e.Abort)
	}
	return b.String()
}

// Unwrap gives the last failure first, then why retrying stopped.
func (e *Error) Unwrap() []error {
	if e.Stopped == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Stopped}
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// isLocal tells what failed on this side: there is no point in asking the store
// again, and nothing to hold against it.
func isLocal(err error) bool {
	_, read := errors.AsType[*chunker.ReadError](err)
	_, mint := errors.AsType[*mintError](err)
	_, request := errors.AsType[*wire.RequestError](err)
	return read || mint || request || errors.Is(err, ErrCredentials)
}

// canceled tells the end of the caller's context (or a sibling's failure) from
// everything that may be tried again.
func canceled(ctx context.Context) bool { return ctx.Err() != nil }
