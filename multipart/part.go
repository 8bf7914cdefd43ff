package multipart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// sendAll sends every part of the source that the store does not have yet. A part is
// begun when there is a place on deck for it. The group holds more than there are lanes
// and places, because those that wait for a retry hold none.
func (r *run) sendAll(ctx context.Context) error {
	g, parts := errgroup.WithContext(ctx)
	g.SetLimit(2 * r.endpoint.lanes.Max())
	for p := range r.plan.Parts() {
		if canceled(parts) {
			break
		}
		if r.parts.get(p.Number).Number != 0 {
			continue
		}
		if r.deck.enter(parts) != nil {
			break
		}
		g.Go(func() error { return r.sendPart(parts, p, r.source) })
	}
	err := g.Wait()
	if err == nil && canceled(ctx) { // before a part had begun
		err = r.local(wire.PutPart, context.Cause(ctx))
	}
	return err
}

// sendPart sends a part, whose bytes are in src. It has a place on deck, which it gives
// back when it is on a lane.
func (r *run) sendPart(ctx context.Context, p chunker.Part, src io.ReaderAt) error {
	onLane := sync.OnceFunc(r.deck.leave)
	defer onLane()
	c := r.newCall(wire.PutPart, p.Number, p.Size)
	defer c.pay.End()
	var receipt Receipt
	r.anticipate(ctx, p, src, &receipt)
	err := r.do(ctx, c, func(ctx context.Context) result {
		onLane()
		return r.put(ctx, c, p, src, &receipt)
	})
	if err == nil {
		r.parts.add(receipt)
		r.keep(r.state.arrived())
	}
	return err
}

// errTooLate ends an attempt before anything was sent: while the bytes were
// hashed or the request was made, the store asked to be left alone or the endpoint came into trouble.
var errTooLate = errors.New("the store is not to be asked now")

// put makes one attempt to send the bytes of p, and fills in the receipt.
func (r *run) put(ctx context.Context, c *call, p chunker.Part, src io.ReaderAt, receipt *Receipt) result {
	if receipt.Digest.IsZero() || c.rereads > 0 {
		if err := r.hash(ctx, p, src, receipt); err != nil {
			return result{err: r.sourceError(err), local: true}
		}
	}
	request, err := r.mint(ctx, c, p, receipt.Digest)
	if err != nil {
		return result{err: err, local: true}
	}
	if !r.mayStart(c, c.permit) {
		return result{err: errTooLate, local: true}
	}
	res, arrived := r.send(ctx, c, request, p, src)
	if res.err == nil {
		res = r.receive(res, p, receipt)
	}
	if res.local {
		res.err = r.sourceError(res.err)
	}
	res.expired = hasExpired(request, res.answer)
	arrived(res.err == nil)
	return res
}

// hash fills in the digests of the bytes of p.
func (r *run) hash(ctx context.Context, p chunker.Part, src io.ReaderAt, receipt *Receipt) error {
	digests, err := chunker.SumMany(&whileReader{ctx, p.Reader(src)}, r.traits.Algorithm, r.traits.Whole)
	if err != nil {
		return err
	}
	receipt.Digest, receipt.whole = digests[0], digests[1]
	return nil
}

// send puts the bytes of p on the wire, and returns what to call when it is known
// whether they have arrived.
func (r *run) send(ctx context.Context, c *call, request presign.Request, p chunker.Part, src io.ReaderAt) (result, func(bool)) {
	e := r.endpoint
	a := attempt{progress: r.progress}
	way := &passage{link: &e.link, limits: e.client.Limits(), size: p.Size, stretch: c.stretch, inFlight: r.inFlight}
	answer, err := e.client.Do(ctx, wire.Request{
		Method: request.Method, URL: request.URL, Header: request.Header,
		Body: e.paced(ctx, p.Reader(src)), Size: p.Size, HeadFirst: e.pace != nil,
		Send: way.deadline, Stall: e.link.stall(e.client.Limits().Stall),
		Fresh: c.fresh, Expect: c.expect && !e.noContinue.Load(),
		Progress: func(n int) {
			a.moved(n)
			way.moved(n)
			e.lanes.Moved(n)
		},
	})
	if err != nil && answer.Status == 0 && answer.Conn != "" {
		r.cutOff.Store(true)
	}
	return result{answer: answer, err: err, local: isLocal(err)}, func(yes bool) {
		if yes {
			way.arrived()
		} else {
			a.failed()
		}
	}
}

// receive checks what a successful answer carries.
func (r *run) receive(res result, p chunker.Part, receipt *Receipt) result {
	etag := res.answer.Header.Get("ETag")
	switch {
	case etag == "":
		res.bare, res.err = true, errors.New("the store answered success without an ETag")
		return res
	case res.answer.Sent != p.Size:
		res.bare, res.err = true, fmt.Errorf("the store answered success after %d of %d bytes", res.answer.Sent, p.Size)
		return res
	}
	if wrong := r.misstored(res.answer.Header, receipt.Digest); wrong != nil {
		res.other, res.err = true, wrong
		return res
	}
	receipt.Number, receipt.Size, receipt.ETag = p.Number, p.Size, etag
	return res
}

// inFlight is how many parts share the link.
func (r *run) inFlight() int { return max(r.endpoint.lanes.Held(), 1) }

// sourceError says that the source changed, if that is why it could not be
// read.
func (r *run) sourceError(err error) error {
	if r.source == nil {
		return err
	}
	changed := r.source.Changed()
	if _, ok := errors.AsType[*chunker.ChangedError](changed); ok {
		return fmt.Errorf("%w: %w", ErrSourceChanged, changed)
	}
	return err
}

// hasExpired tells by the store's clock whether the request was over when it
// arrived: that is when stores look. The header has no fraction of a second.
func hasExpired(r presign.Request, a wire.Answer) bool {
	if r.NotAfter.IsZero() || a.Status == 0 {
		return false
	}
	date, err := http.ParseTime(a.Header.Get("Date"))
	return err == nil && date.Add(time.Second-a.Elapsed).After(r.NotAfter)
}

// local is the error of what was not asked of the store.
func (r *run) local(op wire.Operation, err error) *Error {
	return &Error{Op: op, Object: r.object.String(), UploadID: r.upload.ID, Done: r.parts.done(), Parts: int(r.total.Load()), Err: err}
}

// proveSource looks at the source again before the parts become an object. If
// it is not as it was, what was sent must still be what is there.
func (r *run) proveSource(ctx context.Context, op wire.Operation) *Error {
	if r.source == nil {
		return nil
	}
	changed := r.source.Changed()
	if changed == nil {
		return nil
	}
	failed := r.local(op, fmt.Errorf("%w: %w", ErrSourceChanged, changed))
	for p := range r.plan.Parts() {
		if canceled(ctx) {
			failed.Err = context.Cause(ctx)
			return failed
		}
		d, err := chunker.Sum(&whileReader{ctx, p.Reader(r.source)}, r.traits.Algorithm)
		if canceled(ctx) {
			failed.Err = context.Cause(ctx)
			return failed
		}
		if err != nil || d.IsZero() || d != r.parts.get(p.Number).Digest {
			return failed
		}
	}
	r.warn(fmt.Errorf("the bytes that were sent are still there, but %w", changed))
	return nil
}
