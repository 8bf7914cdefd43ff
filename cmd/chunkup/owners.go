package main

import (
	"slices"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
)

// Who owns an upload, as far as the journals of this machine tell.
const (
	ownedLive  = "live"      // a process is at work on it
	ownedKept  = "resumable" // a journal says how to go on
	ownedGiven = "given up"  // a journal says that it is to be dropped
	ownedNone  = "none"
)

// owner is who owns an upload.
type owner struct{ kind, path string }

// owners are the journals that are about a store's bucket.
type owners []journal.Entry

// owners reads the journals. List the uploads first: an upload that is begun
// after that is not among them, and the others have their journals.
func (r *remote) owners() (owners, error) {
	entries, err := r.journals.List()
	endpoint := r.control.Traits().Endpoint
	return slices.DeleteFunc(entries, func(x journal.Entry) bool {
		return x.Err != nil || x.Record.Endpoint != endpoint || x.Record.Bucket != r.dest.bucket
	}), err
}

// of tells who owns an upload. A live upload whose id is not written down yet
// may be any of its key's.
func (o owners) of(u multipart.Upload) owner {
	for _, x := range o {
		switch r := x.Record; {
		case r.Key != u.Key:
		case x.Live && (r.UploadID == u.ID || r.UploadID == ""):
			return owner{ownedLive, x.Path}
		case slices.Contains(r.Leftover, u.ID), r.UploadID == u.ID && givenUp(r):
			return owner{ownedGiven, x.Path}
		case r.UploadID == u.ID:
			return owner{ownedKept, x.Path}
		}
	}
	return owner{kind: ownedNone}
}

// givenUp tells an upload that nobody goes on with.
func givenUp(r journal.Record) bool {
	return r.State == journal.Aborting || r.State == journal.Orphaned
}
