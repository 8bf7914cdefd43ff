package mint

import (
	"context"
	"time"

	"github.com/chunkup/chunkup/multipart"
)

const (
	sweepMost     = 10               // uploads that one sweep aborts
	sweepPatience = 10 * time.Second // in all: somebody waits for his create
	sweepGiveUp   = 7 * 24 * time.Hour
	clockSlack    = 5 * time.Second // stores tell the begin of an upload in seconds
)

// sweep forgets what is over and aborts what was never finished. What does not succeed
// is tried again by the next one.
func (h *Handler) sweep(ctx context.Context) {
	now := time.Now()
	dead, over := h.book.stale(now, sweepMost)
	for _, e := range dead {
		_ = h.book.drop(e.ID) // it is found again after the next start
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepPatience)
	defer cancel()
	for _, e := range over {
		if h.retire(ctx, e) == nil || now.Sub(e.Begun) > h.o.Lifetime+sweepGiveUp {
			_ = h.book.dropSame(e)
		}
	}
}

// retire aborts the upload of an entry, if it has one.
func (h *Handler) retire(ctx context.Context, e Entry) error {
	if e.UploadID == "" {
		e.UploadID = h.findUpload(ctx, e)
	}
	if e.UploadID == "" {
		return nil
	}
	return h.o.Control.Abort(ctx, multipart.Upload{Bucket: e.Bucket, Key: e.Key, ID: e.UploadID})
}

// findUpload looks at the store for the upload of an entry whose create was not
// answered: the only unfinished one of its key that was begun within the time that a
// create may take and is in no other entry. Empty: there is no such, or more than one, or the store does not list them.
func (h *Handler) findUpload(ctx context.Context, e Entry) string {
	lister, ok := h.o.Control.(multipart.UploadLister)
	if !ok {
		return ""
	}
	all, err := lister.ListUploads(ctx, e.Bucket, e.Key)
	if err != nil {
		return ""
	}
	now, found := time.Now(), ""
	for _, u := range all {
		clock := u.Listed // the age is told by one clock
		if clock.IsZero() {
			clock = now
		}
		age, ago := clock.Sub(u.Initiated), now.Sub(e.Begun)
		if u.Key != e.Key || age > ago+clockSlack || age < ago-createPatience-clockSlack || h.book.uses(u.ID) {
			continue
		}
		if found != "" {
			return ""
		}
		found = u.ID
	}
	return found
}
