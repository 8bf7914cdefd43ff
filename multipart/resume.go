package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// begin makes sure of an upload at the store: that of an earlier run if it is
// still there, else a new one. done says that the earlier run had made the object.
func (r *run) begin(ctx context.Context) (done bool, err error) {
	if r.state.goesOn() {
		done, err := r.resume(ctx)
		if done || err != nil || r.upload.ID != "" {
			return done, err
		}
		r.anew()
	} else {
		r.dropFound(ctx)
	}
	return false, r.start(ctx)
}

// anew gives the upload a token of its own, for there may be an object with that of
// the earlier run, which is not to be taken for this one's.
func (r *run) anew() {
	if r.object.IdempotencyKey == "" {
		r.token = newToken()
		r.header = r.object.headers(r.traits.MetaPrefix, r.token)
	}
}

// start begins a new upload, and writes down that it will before it does.
func (r *run) start(ctx context.Context) error {
	r.begun = true
	err := r.state.note(journal.Creating, func(j *journal.Record) {
		j.Algorithm, j.FullObject = r.traits.Algorithm, r.traits.FullObject
		if j.Token = r.token; !r.orphan { // else it tells when the one without a name was begun
			j.Started = time.Now()
		}
	})
	if err != nil {
		return r.local(wire.Create, err)
	}
	r.upload = Upload{}
	if err := r.create(ctx); err != nil {
		return err
	}
	r.keep(r.state.note(journal.Uploading, r.state.calls(r.upload)))
	r.follow(r.upload)
	r.teller.tell(Event{Kind: Created, UploadID: r.upload.ID})
	return nil
}

// resume goes on with an earlier run's upload: the parts that the store lists are
// kept if they are the source's, which is read for it. It leaves r.upload empty
// if there is nothing to go on with.
func (r *run) resume(ctx context.Context) (done bool, err error) {
	found := r.state.found
	r.upload = r.state.upload(found.UploadID)
	r.follow(r.upload)
	listed, err := r.listSettled(ctx)
	switch {
	case isNoUpload(err), err == nil && r.isEmptied(listed):
		done, madeErr := r.madeBefore(ctx)
		switch {
		case madeErr != nil:
		case err == nil && !done:
			r.drop(ctx) // it is of no use, and still there
		default:
			r.upload = Upload{}
		}
		if !done {
			r.unfollow()
		}
		return done, madeErr
	case refused(err):
		r.warn(fmt.Errorf("the store does not let us list the parts of upload %s, so the journal has to do: %w", found.UploadID, err))
		listed = found.Parts
	case err != nil:
		return false, err
	}
	r.begun = true
	r.state.takeOver()
	if err := r.keepParts(ctx, journal.Kept(*found, listed)); err != nil {
		return false, err
	}
	r.teller.tell(Event{Kind: Resumed, UploadID: r.upload.ID, Parts: r.parts.done(), Done: r.progress.done.Load()})
	// An earlier Complete may be applied yet: that it was sent is not forgotten.
	r.keep(r.state.note(found.State, nil))
	return false, nil
}

// How often, and how long at first, what an earlier Complete has left is looked at
// again: while a store is at work on it, one of them has the upload no more and the
// object not yet.
const (
	underWayLooks = 6
	underWayWait  = 250 * time.Millisecond // doubles
)

// listSettled lists the parts of an upload that an earlier run had perhaps completed,
// again if they seem to be on their way into the object.
func (r *run) listSettled(ctx context.Context) ([]journal.Part, error) {
	found := r.state.found
	for look := 1; ; look++ {
		listed, err := r.listed(ctx)
		missing := isNoUpload(err) || err == nil && len(listed) < len(found.Parts)
		if found.State != journal.Completing || !missing || look == underWayLooks || isNoUpload(err) && r.isMade(ctx) {
			return listed, err
		}
		if err := r.endpoint.awake.sleep(ctx, underWayWait<<(look-1)); err != nil {
			return nil, r.local(wire.List, err)
		}
	}
}

// isEmptied reports that the store has an upload, and not one of the parts that an
// earlier run was about to make the object of: its Complete was cut short, and what it
// leaves takes parts and makes no object any more (see [spoiltError]).
func (r *run) isEmptied(listed []journal.Part) bool {
	found := r.state.found
	return found.State == journal.Completing && len(found.Parts) > 0 && len(listed) == 0
}

// isMade reports that the object is there, or that nobody will say.
func (r *run) isMade(ctx context.Context) bool {
	info, err := r.headAlone(ctx)
	return err == nil && info.Metadata[tokenKey] == r.state.found.Token || err != nil && statusOf(err) != http.StatusNotFound
}

// listed asks the store for the upload's parts.
func (r *run) listed(ctx context.Context) ([]journal.Part, error) {
	c := r.newCall(wire.List, 0, 0)
	defer c.pay.End()
	c.first = !r.begun
	var list []Receipt
	err := r.do(ctx, c, func(ctx context.Context) (res result) {
		var err error
		list, err = r.control.List(ctx, r.upload)
		return controlResult(err)
	})
	parts := make([]journal.Part, len(list))
	for i, p := range list {
		parts[i] = journal.Part{Number: p.Number, Size: p.Size, ETag: p.ETag, Digest: p.Digest}
	}
	return parts, err
}

// keepParts holds each part against the source's bytes, some at a time, and keeps
// those that are the same.
func (r *run) keepParts(ctx context.Context, parts []journal.Part) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range parts {
		g.Go(func() error {
			if canceled(ctx) {
				return r.local(wire.List, context.Cause(ctx))
			}
			receipt, same, err := r.isSame(ctx, p)
			if err != nil {
				return r.local(wire.PutPart, r.sourceError(err))
			}
			if same {
				r.parts.add(receipt)
				r.progress.done.Add(p.Size)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	r.mu.Lock()
	r.stats.Resumed = r.parts.done()
	r.mu.Unlock()
	if other := len(parts) - r.parts.done(); other > 0 {
		r.warn(fmt.Errorf("%d parts at the store are not what the source holds now: they are sent again", other))
	}
	return nil
}

// isSame tells whether a part at the store has the source's bytes: by its digest,
// or by its ETag where that is an MD5.
func (r *run) isSame(ctx context.Context, p journal.Part) (Receipt, bool, error) {
	receipt := Receipt{Number: p.Number, Size: p.Size, ETag: p.ETag}
	err := r.hash(ctx, r.plan.Part(p.Number), r.source, &receipt)
	if err != nil || !p.Digest.IsZero() {
		return receipt, receipt.Digest == p.Digest, err
	}
	md5, err := chunker.Sum(&whileReader{ctx, r.plan.Part(p.Number).Reader(r.source)}, chunker.MD5)
	return receipt, sameETag(p.ETag, md5.Hex()), err
}

// madeBefore finds out whether an upload that is gone has become the object, and
// this object the source's bytes.
func (r *run) madeBefore(ctx context.Context) (bool, error) {
	found := r.state.found
	if r.traits.Unseen {
		r.warn(fmt.Errorf("upload %s is gone, and whether it became the object nobody can say: it is uploaded again", found.UploadID))
		return false, nil
	}
	info, err := r.headAlone(ctx)
	switch {
	case err == nil && info.Metadata[tokenKey] == found.Token && info.Size == r.plan.Size:
		err := r.holds(ctx, info)
		if err == nil || errors.Is(err, ErrUnproven) && r.isUntouched(found) {
			r.take(info)
			return true, nil
		}
		if _, other := errors.AsType[*MismatchError](err); !other && !errors.Is(err, ErrUnproven) {
			return false, err
		}
		r.warn(errors.New("an earlier run made the object of other bytes than the source has now: it is uploaded again"))
		return false, nil
	case err != nil && statusOf(err) != http.StatusNotFound && !refused(err):
		return false, err
	case refused(err) && found.State == journal.Completing:
		r.warn(fmt.Errorf("whether an earlier run made the object the store would not say: it is uploaded again (%w)", err))
		return false, nil
	}
	r.warn(fmt.Errorf("upload %s is gone at the store: a new one is begun", found.UploadID))
	return false, nil
}

// isUntouched reports that the source is the file that an earlier run read.
func (r *run) isUntouched(found *journal.Record) bool {
	return found.Source.Path != "" && found.Source == r.state.record.Source
}

// headAlone looks at the object as an operation of its own.
func (r *run) headAlone(ctx context.Context) (info Info, err error) {
	c := r.newCall(wire.Head, 0, 0)
	defer c.pay.End()
	c.first = !r.begun
	err = r.do(ctx, c, func(ctx context.Context) result {
		var err error
		info, err = r.control.Head(ctx, r.object.Bucket, r.object.Key)
		return controlResult(err)
	})
	return info, err
}
