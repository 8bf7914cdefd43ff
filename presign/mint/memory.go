package mint

import "sync"

// maxRemembered bounds a memory. Only the uploads that are being completed matter.
const maxRemembered = 4096

// memory is which upload was the last of a key: the service tells of an object to
// whom it has given the upload. It is safe for concurrent use; the zero value is
// ready to use.
type memory struct {
	mu    sync.Mutex
	ids   map[string]string
	order []string // of the keys, the oldest first
}

// note remembers an upload, and forgets the oldest if there are too many.
func (m *memory) note(key, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = map[string]string{}
	}
	if _, known := m.ids[key]; !known {
		m.order = append(m.order, key)
	}
	m.ids[key] = id
	if len(m.order) > maxRemembered {
		delete(m.ids, m.order[0])
		m.order = m.order[1:]
	}
}

// of is the upload of a key; empty if none is known.
func (m *memory) of(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[key]
}
