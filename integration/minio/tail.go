package minio

import (
	"strings"
	"sync"
)

// tail keeps the last output of a process. It is safe for concurrent use; its
// zero value is empty.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailSize is how much of the output is kept.
const tailSize = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if len(t.text) > 2*tailSize {
		t.text = append(t.text[:0], t.text[len(t.text)-tailSize:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text[max(0, len(t.text)-tailSize):]))
}
