package multipart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
)

// DefaultMemory bounds the buffers of streams, in bytes.
const DefaultMemory = 256 << 20

// UploadStream uploads what r gives until io.EOF. Its parts are held in memory, all
// streams of the uploader within [Options.Memory]; while that is used up, r is not
// read. expected is how many bytes there may be, 0 if nobody knows: without it the
// parts grow as the stream goes on, so that the store's number of parts lasts (where
// all must have one size, it is needed for streams that are large).
//
// Any other error of r than io.EOF fails the upload, and no object is made of what
// came before it. r is read by one goroutine; on a cancel UploadStream returns when
// it has cleaned up, though a Read that hangs goes on until it ends.
//
// A stream cannot be read again, so it is never resumed: [Options.Journal] serves to
// clean up after a crash. An object that is there already under the same
// [Object.IdempotencyKey] is a success, and r is not read. Errors are those of
// [Uploader.Upload]; a stream that is too long for its parts is a
// *chunker.LimitError, one that fails a *chunker.ReadError.
func (u *Uploader) UploadStream(ctx context.Context, o Object, r io.Reader, expected int64) (Result, error) {
	if err := u.check(ctx, o); err != nil {
		return Result{}, err
	}
	traits := u.control.Traits()
	growth, err := chunker.PlanStream(expected, u.options.PartSize, u.memory.Limit(), traits.Limits, traits.EqualParts)
	if err != nil {
		return Result{}, err
	}
	state, err := u.claim(o, nil, chunker.Plan{}, false)
	if err != nil {
		return Result{}, err
	}
	run := u.newRun(o, nil, chunker.Plan{Size: expected, PartSize: growth.PartSize(1)}, state)
	defer run.end()
	cutter := chunker.NewCutter(r, growth, u.memory)
	defer cutter.Close()
	run.teller.tell(Event{Kind: Planned, Plan: run.plan})
	err = run.uploadStream(ctx, cutter, growth)
	return run.result(), err
}

// uploadStream is the upload of a stream, from a look at what there is to the end.
func (r *run) uploadStream(ctx context.Context, cutter *chunker.Cutter, growth chunker.Growth) error {
	r.heard()
	there, err := r.isThere(ctx)
	if err != nil && !errors.Is(err, ErrExists) {
		return r.leave(err)
	}
	r.dropFound(ctx)
	if there || err != nil {
		return r.conclude(ctx, err)
	}
	first, last, err := cutter.Next(ctx)
	if err != nil {
		return r.conclude(ctx, r.local(wire.PutPart, err))
	}
	if size := first.Part.Size; last && (size == 0 || size < r.options.Threshold) && !r.traits.PartsOnly {
		defer first.Release()
		r.plan = chunker.Plan{Size: size, PartSize: max(size, 1)}
		r.progress.total.Store(size)
		return r.conclude(ctx, r.putObject(ctx, first))
	}
	return r.conclude(ctx, r.streamParts(ctx, cutter, growth, first, last))
}

// streamParts is an upload of a stream in parts, of which the first was read.
func (r *run) streamParts(ctx context.Context, cutter *chunker.Cutter, growth chunker.Growth, first *chunker.Piece, last bool) error {
	if last && first.Part.Size == 0 {
		r.empties()
	}
	if err := r.start(ctx); err != nil {
		first.Release()
		return err
	}
	if err := r.sendStream(ctx, cutter, growth, first, last); err != nil {
		return err
	}
	r.plan.Size = cutter.Size()
	r.progress.total.Store(cutter.Size())
	r.total.Store(int64(r.parts.done()))
	return r.complete(ctx)
}

// sendStream sends the parts as the stream gives them.
func (r *run) sendStream(ctx context.Context, cutter *chunker.Cutter, growth chunker.Growth, piece *chunker.Piece, last bool) error {
	g, parts := errgroup.WithContext(ctx)
	warned := false
	var failed error
	for {
		if !warned && cutter.Size() > growth.Capacity()/8 {
			warned = true
			r.warn(fmt.Errorf("the stream may have %d bytes at most, as its parts are: more takes an expected size, or more memory", growth.Capacity()))
		}
		if cutter.Size() > r.progress.total.Load() {
			r.progress.total.Store(0) // it was expected to be shorter
		}
		p := piece
		g.Go(func() error {
			defer p.Release()
			if err := r.deck.enter(parts); err != nil {
				return r.local(wire.PutPart, err)
			}
			return r.sendPart(parts, p.Part, p)
		})
		if last {
			break
		}
		if piece, last, failed = cutter.Next(parts); failed != nil {
			break
		}
	}
	// A part that failed is why there was no next one; a stream that failed does not
	// wait for the parts that are under way.
	if failed != nil && !canceled(parts) {
		failed = r.local(wire.PutPart, failed)
		g.Go(func() error { return failed })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if canceled(ctx) || failed != nil {
		return r.local(wire.PutPart, cmp.Or(context.Cause(ctx), failed))
	}
	return nil
}
