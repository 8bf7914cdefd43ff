package multipart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chunkup/chunkup/multipart/journal"
)

// createSlack is how far an upload's beginning by the store's clock may be from
// when we wrote down that we would begin it: stores refuse a request whose clock
// is off by more than 15 minutes
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html).
const createSlack = 15 * time.Minute

// dropFound aborts what an earlier run has left at the store and this one does not
// go on with. What cannot be aborted now stays in the journal.
func (r *run) dropFound(ctx context.Context) {
	if r.state == nil || r.state.found == nil {
		return
	}
	found := r.state.found
	r.state.owes(found.Leftover)
	if found.UploadID != "" {
		r.warn(fmt.Errorf("upload %s of an earlier run is dropped and a new one begun: %s", found.UploadID, r.state.stale))
		r.state.owes([]string{found.UploadID})
	} else {
		r.state.owes(r.nameless(ctx, found))
	}
	r.dropLeftover(ctx)
}

// dropLeftover aborts the uploads that the journal says are still to be aborted.
func (r *run) dropLeftover(ctx context.Context) {
	for _, id := range r.state.leftover() {
		err := r.clean(ctx, Upload{Bucket: r.object.Bucket, Key: r.object.Key, ID: id})
		if err != nil {
			r.warn(fmt.Errorf("upload %s of an earlier run could not be aborted, which is tried again another time: %w", id, err))
			continue
		}
		r.state.paid(id)
	}
}

// nameless finds the upload that an earlier run had asked for when it ended, and
// whose id it never learned: one of exactly this key, begun when the journal says,
// without a single part. Nobody else's upload is all of that, but for one which
// was begun at the same moment and never got a part either.
func (r *run) nameless(ctx context.Context, found *journal.Record) []string {
	lister, ok := r.control.(UploadLister)
	if !ok {
		return nil
	}
	ids, err := partless(ctx, r.control, lister, *found)
	if err != nil && !canceled(ctx) {
		r.warn(fmt.Errorf("an earlier run may have begun an upload of %s of which nobody knows, and the store would not list it: %w", r.object, err))
	}
	return ids
}

// partless are the uploads of a journal's key that were begun around its start and
// have no part.
func partless(ctx context.Context, c Control, l UploadLister, found journal.Record) (ids []string, err error) {
	all, err := l.ListUploads(ctx, found.Bucket, found.Key)
	for _, u := range all {
		if u.Key != found.Key || u.Initiated.Sub(found.Started).Abs() > createSlack {
			continue
		}
		parts, listErr := c.List(ctx, u.Upload)
		err = errors.Join(err, listErr)
		if listErr == nil && len(parts) == 0 {
			ids = append(ids, u.ID)
		}
	}
	return ids, err
}
