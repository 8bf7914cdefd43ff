package multipart

import (
	"context"
	"io"
	"sync"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/presign"
)

// deck is where the next few parts stand before there is a lane for them, half as many
// as lanes, in the order of their coming. More would only take memory. It is safe for
// concurrent use.
type deck struct {
	lanes func() int

	mu      sync.Mutex
	held    int
	waiting []chan struct{}
}

// enter waits for a place.
func (d *deck) enter(ctx context.Context) error {
	d.mu.Lock()
	if d.held < d.places() {
		d.held++
		d.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	d.waiting = append(d.waiting, turn)
	d.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		d.giveUp(turn)
		return context.Cause(ctx)
	}
}

// giveUp takes a waiter out, or passes on the place that it was given meanwhile.
func (d *deck) giveUp(turn chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, other := range d.waiting {
		if other == turn {
			d.waiting = append(d.waiting[:i], d.waiting[i+1:]...)
			return
		}
	}
	d.free()
}

// leave gives a place back.
func (d *deck) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free()
}

// free hands one place on, and those that there are more of by now. It is called with
// the lock held.
func (d *deck) free() {
	d.held--
	for d.held < d.places() && len(d.waiting) > 0 {
		close(d.waiting[0])
		d.waiting = d.waiting[1:]
		d.held++
	}
}

func (d *deck) places() int { return max(1, d.lanes()/2) }

// anticipate tells the provider of a part that is next, if that is of use to it: where a
// request costs it a call, no lane has to wait for one. What cannot be read here fails
// when it is to be sent.
func (r *run) anticipate(ctx context.Context, p chunker.Part, src io.ReaderAt, receipt *Receipt) {
	if r.provider.Anticipates() && r.hash(ctx, p, src, receipt) == nil {
		r.provider.Anticipate(r.partRequest(p, receipt.Digest))
	}
}

// partRequest is what the provider is asked for to send a part.
func (r *run) partRequest(p chunker.Part, d chunker.Digest) presign.Part {
	part := presign.Part{Bucket: r.object.Bucket, Key: r.object.Key, Size: p.Size, UploadID: r.upload.ID, Number: p.Number}
	if !d.IsZero() {
		part.ChecksumHeader, part.Checksum = r.checksumHeader(d.Algorithm()), r.checksum(d)
	}
	return part
}
