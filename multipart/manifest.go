package multipart

import (
	"slices"
	"sync"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
)

// manifest holds the receipts of the parts that the store has acknowledged. It
// is safe for concurrent use; the zero value is empty.
type manifest struct {
	mu    sync.Mutex
	list  []Receipt // by part number - 1; Number 0: not there yet
	there int
}

func (m *manifest) add(r Receipt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.list) < r.Number {
		m.list = append(m.list, Receipt{})
	}
	if m.list[r.Number-1].Number == 0 {
		m.there++
	}
	m.list[r.Number-1] = r
}

// get returns the receipt of part n, whose Number is 0 if there is none.
func (m *manifest) get(n int) Receipt {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > len(m.list) {
		return Receipt{}
	}
	return m.list[n-1]
}

func (m *manifest) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list, m.there = nil, 0
}

// done is how many parts there are.
func (m *manifest) done() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.there
}

// all returns the receipts, in order. It is called when every part is there: what is
// added from then on comes after a forget and into another list, so this one is not
// copied. It is not to be changed.
func (m *manifest) all() []Receipt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clip(m.list)
}

// written are the parts that are there as the journal has them.
func (m *manifest) written() []journal.Part {
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := make([]journal.Part, 0, m.there)
	for _, r := range m.list {
		if r.Number != 0 {
			parts = append(parts, journal.Part{Number: r.Number, Size: r.Size, ETag: r.ETag, Digest: r.Digest})
		}
	}
	return parts
}

// digests are the parts', in order.
func (m *manifest) digests() []chunker.Digest {
	all := m.all()
	digests := make([]chunker.Digest, len(all))
	for i, r := range all {
		digests[i] = r.Digest
	}
	return digests
}
