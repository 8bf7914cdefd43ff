package mint

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chunkup/chunkup/multipart/journal"
)

// Entry is what a service remembers of one upload.
type Entry struct {
	ID     string `json:"id"` // its own: hexadecimal digits
	Bucket string `json:"bucket"`
	Caller string `json:"caller"`
	Key    string `json:"key"`

	// UploadID is the store's. Empty: the upload is about to be created, or may have been.
	UploadID string `json:"uploadId,omitempty"`

	// Asked is the SHA-256 of what was asked for, in hexadecimal; Named says that it
	// came with an Idempotency-Key.
	Asked string `json:"asked"`
	Named bool   `json:"named,omitempty"`

	Begun  time.Time  `json:"begun"`
	Closed *time.Time `json:"closed,omitempty"` // when it was completed or aborted; nil: it is open

	Size       *int64 `json:"size,omitempty"` // of the object, in bytes; nil: it was not said
	Algorithm  string `json:"algorithm,omitempty"`
	FullObject bool   `json:"fullObject,omitempty"`
}

// Ledger keeps the entries of one [Handler] at a time, which asks for all of them at
// its start. It is called from many goroutines at once, but not for one entry.
type Ledger interface {
	// Entries returns all entries, in any order.
	Entries() ([]Entry, error)

	// Put keeps an entry in place of the one with its ID. After a crash there is all
	// of either.
	Put(e Entry) error

	// Delete forgets an entry; one that is not there is a success.
	Delete(id string) error
}

// NewLedger returns a ledger that lives as long as the process.
func NewLedger() Ledger { return &volatile{entries: map[string]Entry{}} }

type volatile struct {
	mu      sync.Mutex
	entries map[string]Entry
}

func (m *volatile) Entries() ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.entries)), nil
}

func (m *volatile) Put(e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[e.ID] = e
	return nil
}

func (m *volatile) Delete(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, id)
	return nil
}

const (
	entrySuffix = ".json"
	draftSuffix = ".new"
)

// OpenLedger returns a ledger in a folder, which it makes if need be: one file for
// each entry, that only this user can read, written beside the old one and renamed.
// One process at a time may use it. The error is of the file system.
func OpenLedger(dir string) (Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mint: the folder of the ledger: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("mint: the folder of the ledger: %w", err)
	}
	for _, file := range files {
		if strings.Contains(file.Name(), entrySuffix+draftSuffix) { // of a process that has died
			if err := os.Remove(filepath.Join(dir, file.Name())); err != nil {
				return nil, fmt.Errorf("mint: the folder of the ledger: %w", err)
			}
		}
	}
	return folder{dir}, nil
}

type folder struct{ dir string }

func (f folder) Entries() ([]Entry, error) {
	files, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("mint: the ledger: %w", err)
	}
	var entries []Entry
	for _, file := range files {
		id, ok := strings.CutSuffix(file.Name(), entrySuffix)
		if !ok {
			continue
		}
		e, err := f.read(id)
		if err != nil {
			return nil, fmt.Errorf("mint: the ledger: %w: move the file away to go on without it", err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (f folder) read(id string) (Entry, error) {
	path := filepath.Join(f.dir, id+entrySuffix)
	data, err := os.ReadFile(path)
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Entry{}, fmt.Errorf("%s: %w", path, err)
	}
	if e.ID != id {
		return Entry{}, fmt.Errorf("%s is of entry %q", path, e.ID)
	}
	return e, nil
}

func (f folder) Put(e Entry) error {
	path, err := f.path(e.ID)
	if err != nil {
		return err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("mint: the ledger: %w", err)
	}
	if err := journal.Replace(path, filepath.Base(path)+draftSuffix, data); err != nil {
		return fmt.Errorf("mint: the ledger: %w", err)
	}
	return nil
}

func (f folder) Delete(id string) error {
	path, err := f.path(id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("mint: the ledger: %w", err)
	}
	return nil
}

// path is the file of an entry.
func (f folder) path(id string) (string, error) {
	if _, err := hex.DecodeString(id); err != nil || id == "" {
		return "", fmt.Errorf("mint: the ledger: %q is no id of an entry", id)
	}
	return filepath.Join(f.dir, id+entrySuffix), nil
}
