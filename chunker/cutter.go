package chunker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// ErrClosed is what [Cutter.Next] returns after [Cutter.Close], unless the
// stream had ended before.
var ErrClosed = errors.New("the cutter of the stream is closed")

// Cutter cuts a stream into parts held in memory. Next is for one goroutine;
// Size and Close may be called from any. Make one with [NewCutter], and Close it
// in the end.
//
// It leaves no goroutine behind, unless Next was left while the reader blocked:
// that one waits for its Read, keeps one block of memory as long, and ends
// without touching anything else.
type Cutter struct {
	growth   Growth
	capacity int64 // of growth
	memory   *Memory
	source   *source
	cut      atomic.Int64 // bytes of the pieces returned
	number   int          // of the last piece
	next     []byte       // the byte that was read ahead, if there is one
	ended    bool         // the stream ended, with that byte if there is one
	err      error        // what Next returns from now on
}

// NewCutter returns a cutter of what r reads, into parts as g says, held in
// memory that m gives. It reads nothing yet.
func NewCutter(r io.Reader, g Growth, m *Memory) *Cutter {
	return &Cutter{growth: g, capacity: g.Capacity(), memory: m, source: newSource(r)}
}

// Next waits for the first byte of the next piece, then for memory, reads the
// piece and returns it: a stream that has brought nothing yet holds no memory,
// however long it is silent, and takes none from others. A piece is completely
// filled, however short the reads are, unless it is the last. An empty stream
// has one piece, which is empty; any other has none that is. The caller must
// release every piece.
//
// Next reads one byte ahead to learn whether the stream ends with this piece,
// which is last; so a full piece waits for the byte after it.
//
// The error is [io.EOF] after the last piece, and else
//
//   - a [*ReadError] for any error of the reader that is not exactly io.EOF. An
//     io.ErrUnexpectedEOF is one: a stream that broke off has not ended. A
//     thousand reads in a row without data or error are io.ErrNoProgress, a panic
//     of the reader is a [*PanicError], and a count that no Read may return
//     is an error too;
//   - a [*LimitError] if the stream is longer than the growth can hold, which is
//     found out before the last part that there may be is returned, or a part
//     larger than all memory;
//   - context.Cause(ctx), at once, even if the reader blocks for ever;
//   - [ErrClosed].
//
// Every error is final: the bytes read are gone, and Next returns it again.
func (c *Cutter) Next(ctx context.Context) (piece *Piece, last bool, err error) {
	if c.err != nil {
		return nil, false, c.err
	}
	ctx, cancel := c.source.until(ctx)
	defer cancel()
	piece, last, err = c.piece(ctx)
	switch {
	case err != nil:
		c.err = err
	case last:
		c.err = io.EOF
	}
	return piece, last, err
}

// Size returns how many bytes are in the pieces returned so far.
func (c *Cutter) Size() int64 { return c.cut.Load() }

// Close gives up: a Next that waits returns, and others fail. It does not wait
// for a reader that blocks, and does not close it; pieces stay valid. Another
// call does nothing.
func (c *Cutter) Close() { c.source.leave(ErrClosed) }

// piece makes the next piece.
func (c *Cutter) piece(ctx context.Context) (_ *Piece, last bool, err error) {
	offset := c.Size()
	// Before the memory is taken, or streams that are silent would hold all of it.
	if _, err := c.readAhead(ctx, offset); err != nil {
		return nil, false, err
	}
	part := Part{Number: c.number + 1, Offset: offset, Size: min(c.growth.PartSize(c.number+1), c.capacity-offset)}
	if err := c.memory.take(ctx, part.Size); err != nil {
		return nil, false, err
	}
	p := &Piece{Part: part, memory: c.memory, cost: part.Size}
	last, err = c.fill(ctx, p)
	if err == nil && !last {
		last, err = c.readAhead(ctx, part.Offset+part.Size)
	}
	if err == nil && !last && part.Offset+part.Size == c.capacity {
		err = c.tooLong()
	}
	if err != nil {
		p.Release()
		return nil, false, err
	}
	c.number = part.Number
	c.cut.Add(p.Part.Size)
	return p, last, nil
}

// fill reads the bytes of p, and reports whether the stream ended with them.
func (c *Cutter) fill(ctx context.Context, p *Piece) (ended bool, err error) {
	for got := int64(0); got < p.Part.Size && !ended; {
		block := c.memory.borrow()
		buf := (*block)[:min(c.memory.block, p.Part.Size-got)]
		ahead := copy(buf, c.next)
		c.next = nil

		n, err := 0, io.EOF
		if !c.ended {
			n, err = c.source.fill(ctx, buf[ahead:], func() {
				c.memory.putBack(block)
				c.memory.give(int64(len(buf)))
			})
		}
		if err == errLeft {
			// The block and its bytes of the budget are the reading goroutine's.
			p.cost -= int64(len(buf))
			return false, context.Cause(ctx)
		}
		p.blocks = append(p.blocks, block)
		got += int64(ahead + n)
		if ended = err == io.EOF; ended {
			p.trim(got)
		} else if err != nil {
			return false, &ReadError{Offset: p.Part.Offset + got, Err: err, stream: true}
		}
	}
	return ended, nil
}

// readAhead reads the byte at offset, unless that was done, and reports whether
// the stream has none. It needs no memory of the budget.
func (c *Cutter) readAhead(ctx context.Context, offset int64) (ended bool, err error) {
	switch {
	case len(c.next) > 0 || c.ended:
		return len(c.next) == 0, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	next := make([]byte, 1)
	n, err := c.source.fill(ctx, next, func() {})
	switch {
	case err == errLeft:
		return false, context.Cause(ctx)
	case err == io.EOF:
		c.ended = true
	case err != nil:
		return false, &ReadError{Offset: offset + int64(n), Err: err, stream: true}
	}
	c.next = next[:n]
	return n == 0, nil
}

// tooLong says that the stream has more bytes than the plan holds, and what would
// hold those seen so far.
func (c *Cutter) tooLong() error {
	if c.capacity == c.growth.Object {
		return &LimitError{What: whatObject, Value: c.capacity + 1, Limit: c.capacity, Hint: "the stream is longer than an object may be"}
	}
	held := fmt.Sprintf("the stream is longer than the %s that fit below the store's part limit", formatBytes(c.capacity))
	needed := roundUp(pieces(c.capacity+1, int64(max(c.growth.Parts, 1))), MaxPart)
	remedy := fmt.Sprintf("it needs parts of at least %s (--part-size), or say how long it is (--expected-size)", formatBytes(needed))
	if c.memory.Limit()/2 < needed {
		remedy += fmt.Sprintf(", and memory of at least %s (--memory)", formatBytes(doubled(needed)))
	}
	return &LimitError{What: whatParts, Value: int64(c.growth.Parts) + 1, Limit: int64(c.growth.Parts), Hint: held + "; " + remedy}
}
