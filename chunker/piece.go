package chunker

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

var (
	errReleased = errors.New("the piece was released")
	errOffset   = errors.New("the offset lies before the piece")
)

// Piece is one part of a stream, in memory. It is an [io.ReaderAt] for
// Piece.Part.Reader, as often as an attempt needs the bytes. [Cutter.Next] makes
// it.
type Piece struct {
	Part Part // which part of the object it is

	memory *Memory
	mu     sync.RWMutex
	blocks []*[]byte // nil once released
	cost   int64     // bytes of the budget that it holds
}

// ReadAt implements [io.ReaderAt], with offsets in the whole object: those of the
// piece begin at Part.Offset. Many goroutines may call it at once. One that comes
// too late, after Release, gets an error and never the bytes of another piece.
func (p *Piece) ReadAt(b []byte, off int64) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	from := off - p.Part.Offset
	switch {
	case p.memory == nil:
		return 0, fmt.Errorf("read part %d of a stream: %w", p.Part.Number, errReleased)
	case from < 0:
		return 0, fmt.Errorf("read part %d of a stream at %d: %w", p.Part.Number, off, errOffset)
	}
	n := 0
	for n < len(b) && from < p.Part.Size {
		at := from % p.memory.block
		block := (*p.blocks[from/p.memory.block])[at:min(p.memory.block, at+p.Part.Size-from)]
		copied := copy(b[n:], block)
		n += copied
		from += int64(copied)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Release gives the memory back, once the part is stored or given up. Call it
// once; another call does nothing.
func (p *Piece) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory == nil {
		return
	}
	for _, block := range p.blocks {
		p.memory.putBack(block)
	}
	p.memory.give(p.cost)
	p.memory, p.blocks = nil, nil
}

// trim says that the piece ends after size bytes, and gives back the memory that
// was taken for more.
func (p *Piece) trim(size int64) {
	p.Part.Size = size
	if spare := p.cost - int64(len(p.blocks))*p.memory.block; spare > 0 {
		p.memory.give(spare)
		p.cost -= spare
	}
}
