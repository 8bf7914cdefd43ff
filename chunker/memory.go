package chunker

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// maxBlock is the size of the blocks of which buffers are made: few system calls,
// and little to waste on a stream of some bytes.
const maxBlock = 256 << 10

// Memory is a budget of bytes for buffers, which many streams share. Each takes
// the bytes of a whole part at once, holding none while it waits, and the streams
// are served in the order in which they asked. A stream asks when it has the first
// byte of the part; one that stops within a part keeps the part's bytes until it
// goes on or is given up.
//
// Buffers are made of blocks of at most 256 KiB, and as the bytes arrive, so that
// a short stream does not cost a whole part. Blocks are used again; the garbage
// collector takes those that are idle for long. Beyond the budget, each piece
// costs at most one block.
//
// It is safe for concurrent use. Make one with [NewMemory].
type Memory struct {
	limit  int64
	budget *semaphore.Weighted
	block  int64     // bytes of each block
	blocks sync.Pool // of *[]byte
}

// NewMemory returns a budget of limit bytes. It allocates nothing yet.
func NewMemory(limit int64) *Memory {
	limit = max(limit, 0)
	m := &Memory{limit: limit, budget: semaphore.NewWeighted(limit), block: maxBlock}
	for m.block > 1 && m.block > limit/64 {
		m.block /= 2
	}
	m.blocks.New = func() any {
		block := make([]byte, m.block)
		return &block
	}
	return m
}

// Limit returns the size of the budget in bytes.
func (m *Memory) Limit() int64 { return m.limit }

// take waits for size bytes of the budget. The error is context.Cause(ctx), and
// then nothing was taken.
func (m *Memory) take(ctx context.Context, size int64) error {
	if size > m.limit {
		return &LimitError{What: whatMemory, Value: m.limit, Limit: size, Hint: "a part must fit"}
	}
	if m.budget.Acquire(ctx, size) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// give returns bytes of the budget.
func (m *Memory) give(size int64) { m.budget.Release(size) }

// borrow returns a block, with any bytes in it.
func (m *Memory) borrow() *[]byte { return m.blocks.Get().(*[]byte) }

// putBack takes back a block that nobody uses any more.
func (m *Memory) putBack(block *[]byte) { m.blocks.Put(block) }
