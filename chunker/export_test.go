package chunker

import "sync/atomic"

// Free reports whether so many bytes of the budget are free, and no more.
func (m *Memory) Free(bytes int64) bool {
	if bytes < m.limit && m.budget.TryAcquire(bytes+1) {
		m.budget.Release(bytes + 1)
		return false
	}
	if !m.budget.TryAcquire(bytes) {
		return false
	}
	m.budget.Release(bytes)
	return true
}

// Block returns the size of a block.
func (m *Memory) Block() int64 { return m.block }

// CountBlocks counts the blocks that are allocated from now on.
func (m *Memory) CountBlocks() *atomic.Int64 {
	made, allocate := new(atomic.Int64), m.blocks.New
	m.blocks.New = func() any {
		made.Add(1)
		return allocate()
	}
	return made
}
