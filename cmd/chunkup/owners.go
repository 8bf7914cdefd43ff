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
type owner struct {
	kind, path string
	pid        int // of the process at work, 0 if it is not known
}

// owners are the journals that are about a bucket of that name. A store has many
// names, and a journal's may be another than ours: one that protects an upload does
// so by the upload's id, or while that is not known by its key, at whatever endpoint.
type owners struct {
	here     []journal.Entry // at the endpoint as we call it
	all      []journal.Entry
	unread   []journal.Entry // live ones, that another version has written
	dir      *journal.Dir
	endpoint string
}

// owners reads the journals. List the uploads first: an upload that is begun
// after that is not among them, and the others have their journals.
func (r *remote) owners() (owners, error) {
	o := owners{dir: r.journals, endpoint: r.control.Traits().Endpoint}
	if r.journals == nil {
		return o, nil
	}
	entries, err := r.journals.List()
	for _, x := range entries {
		switch {
		case x.Err != nil && x.Live:
			o.unread = append(o.unread, x)
		case x.Err != nil || x.Record.Bucket != r.dest.bucket:
		default:
			o.all = append(o.all, x)
			if x.Record.Endpoint == o.endpoint {
				o.here = append(o.here, x)
			}
		}
	}
	return o, err
}

// of tells who owns an upload. A live upload whose id is not written down yet
// may be any of its key's.
func (o owners) of(u multipart.Upload) owner {
	for _, x := range o.all {
		if r := x.Record; x.Live && isFor(r, u) && (r.UploadID == u.ID || r.UploadID == "") {
			return owner{ownedLive, x.Path, r.PID}
		}
	}
	if len(o.unread) > 0 && o.isUnread(u) {
		return owner{kind: ownedLive, path: o.unread[0].Path}
	}
	for _, x := range o.all {
		if r := x.Record; isFor(r, u) && r.UploadID == u.ID && !givenUp(r) && !slices.Contains(r.Leftover, u.ID) {
			return owner{kind: ownedKept, path: x.Path}
		}
	}
	for _, x := range o.here {
		if r := x.Record; isFor(r, u) && (r.UploadID == u.ID || slices.Contains(r.Leftover, u.ID)) {
			return owner{kind: ownedGiven, path: x.Path}
		}
	}
	return owner{kind: ownedNone}
}

// isFor tells a journal of the upload's key, which may be another than was asked for.
func isFor(r journal.Record, u multipart.Upload) bool { return r.KeyOf(u.ID) == u.Key }

// isUnread tells that there is a journal of an upload's destination, and that it is
// none of those that could be read.
func (o owners) isUnread(u multipart.Upload) bool {
	return o.dir.Exists(o.endpoint, u.Bucket, u.Key) &&
		!slices.ContainsFunc(o.here, func(x journal.Entry) bool { return x.Record.Key == u.Key })
}

// givenUp tells an upload that nobody goes on with.
func givenUp(r journal.Record) bool {
	return r.State == journal.Aborting || r.State == journal.Orphaned
}
