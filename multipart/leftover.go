package multipart

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// How long before and after a journal says that an upload is begun the store may
// have begun it, by one clock: stores count in seconds, and a create is tried for
// some minutes.
const (
	namelessBefore = 5 * time.Second
	namelessAfter  = 5 * time.Minute
)

// dropFound aborts what an earlier run has left at the store and this one does not
// go on with. What cannot be aborted now stays in the journal.
func (r *run) dropFound(ctx context.Context) {
	if r.state == nil || r.state.found == nil {
		return
	}
	found := r.state.found
	switch {
	case found.UploadID != "":
		why := cmp.Or(r.state.stale, "the object is there already")
		r.warn(fmt.Errorf("upload %s of an earlier run is dropped: %s", found.UploadID, why))
		r.state.owes([]string{found.UploadID})
	case !r.state.again: // else this run's create finds it
		r.state.owes(r.nameless(ctx, found))
	}
	r.dropLeftover(ctx)
}

// leftoverLimit bounds how long an upload is held up by what earlier ones have left:
// that stays in the journal until it is done.
const leftoverLimit = 10 * time.Second

// dropLeftover aborts the uploads that the journal says are still to be aborted.
func (r *run) dropLeftover(ctx context.Context) {
	left := r.state.leftover()
	if len(left) == 0 || r.endpoint.Breaker() == breaker.Open {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverLimit)
	defer cancel()
	for _, id := range left {
		err := r.dropParts(ctx, r.state.upload(id), r.tryControl)
		if err != nil {
			r.warn(fmt.Errorf("upload %s of an earlier run could not be aborted, which is tried again another time: %w", id, err))
			continue
		}
		r.state.paid(id)
	}
}

// nameless finds the upload that an earlier run had asked for when it ended, and
// whose id it never learned. If the store would not list them now, the journal
// remembers it for another time.
func (r *run) nameless(ctx context.Context, found *journal.Record) (ids []string) {
	lister, ok := r.control.(UploadLister)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverLimit)
	defer cancel()
	err := r.tryControl(ctx, wire.ListUploads, func(ctx context.Context) (err error) {
		ids, err = partless(ctx, r.control, lister, *found)
		return err
	})
	if err != nil {
		r.state.remember(found)
		r.orphan = true
		r.warn(fmt.Errorf("an earlier run may have begun an upload of %s of which nobody knows, and the store would not list it: %w", r.object, err))
	}
	return ids
}

// partless are the uploads of a journal's key that IsNameless tells, and that have no
// part.
func partless(ctx context.Context, c Control, l UploadLister, found journal.Record) (ids []string, err error) {
	all, err := l.ListUploads(ctx, found.Bucket, found.Key)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if !IsNameless(u, found) {
			continue
		}
		parts, err := c.List(ctx, u.Upload)
		if err != nil && !isNoUpload(err) {
			return nil, err
		}
		if err == nil && len(parts) == 0 {
			ids = append(ids, u.ID)
		}
	}
	return ids, nil
}

// IsNameless reports that an unfinished upload may be the one that a journal says was
// asked for, by a process that ended before it learned its id: it is of the same key
// and was begun when the journal says. That process never sent a part of it, so an
// upload with parts is another's, however well it fits. One that fits and has none is
// another's only if somebody began it within the same minutes, for the same key, and
// has not sent a part since.
func IsNameless(u Unfinished, r journal.Record) bool {
	if r.UploadID != "" || r.State != journal.Creating && r.State != journal.Orphaned || u.Bucket != r.Bucket || u.Key != r.Key {
		return false
	}
	var ahead time.Duration // the store's clock
	if !u.Listed.IsZero() {
		ahead = time.Until(u.Listed)
	}
	after := u.Initiated.Add(-ahead).Sub(r.Started)
	return -namelessBefore <= after && after <= namelessAfter
}
