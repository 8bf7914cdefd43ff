package mint

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	keptClosed = 24 * time.Hour // an entry that is closed, for creates that are repeated
	keptDoubt  = 24 * time.Hour // one whose create has not been answered
	keptMost   = 10_000         // entries of a caller that are not open
	sweepPause = time.Minute
)

// book is the ledger in memory: what is open, for whom, and what is just being created.
type book struct {
	ledger   Ledger
	lifetime time.Duration
	maxOpen  int

	mu        sync.Mutex
	entries   map[string]Entry
	callers   map[string]map[string]struct{} // the ids of a caller's
	busy      map[string]struct{}            // the ids of those whose create is under way
	nextSweep time.Time
}

// openBook reads the entries of the bucket.
func openBook(l Ledger, bucket string, lifetime time.Duration, maxOpen int) (*book, error) {
	b := &book{ledger: l, lifetime: lifetime, maxOpen: maxOpen, entries: map[string]Entry{},
		callers: map[string]map[string]struct{}{}, busy: map[string]struct{}{}}
	entries, err := l.Entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Bucket == bucket {
			b.set(e)
		}
	}
	return b, nil
}

// set and unset change the entries; the lock is held.
func (b *book) set(e Entry) {
	b.entries[e.ID] = e
	if b.callers[e.Caller] == nil {
		b.callers[e.Caller] = map[string]struct{}{}
	}
	b.callers[e.Caller][e.ID] = struct{}{}
}

func (b *book) unset(id string) {
	caller := b.entries[id].Caller
	delete(b.entries, id)
	delete(b.callers[caller], id)
	if len(b.callers[caller]) == 0 {
		delete(b.callers, caller)
	}
}

// isOpen tells that an entry counts: its upload is there, or will be in a moment.
func (b *book) isOpen(e Entry, now time.Time) bool {
	_, busy := b.busy[e.ID]
	return e.Closed == nil && (busy || e.UploadID != "" && !b.isOver(e, now))
}

// isOver tells that the time of an upload has run out.
func (b *book) isOver(e Entry, now time.Time) bool {
	return e.Closed == nil && now.Sub(e.Begun) > b.lifetime
}

// reserve makes room for an upload that is about to be created, or returns the entry
// that an equal create has made before; one without an upload id is the caller's to
// settle, drop or release.
func (b *book) reserve(e Entry) (known Entry, fresh bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, found := b.entries[e.ID]
	switch {
	case found && known.Asked != e.Asked:
		return e, false, refuse(http.StatusUnprocessableEntity, "this %s was used for another upload", HeaderIdempotency)
	case found && known.UploadID != "" && !b.isOver(known, e.Begun):
		return known, false, nil
	case !found:
		known = e
	}
	open := 0
	for id := range b.callers[e.Caller] {
		if id != e.ID && b.isOpen(b.entries[id], e.Begun) {
			open++
		}
	}
	if open >= b.maxOpen {
		return e, false, refuse(http.StatusTooManyRequests, "too many uploads are open: complete or abort some of the %d", open)
	}
	b.busy[e.ID] = struct{}{}
	b.set(known)
	return known, !found, nil
}

// write keeps an entry that was reserved as it is now.
func (b *book) write(e Entry) error {
	b.mu.Lock()
	b.set(e)
	b.mu.Unlock()
	return b.ledger.Put(e)
}

// release ends the create of an entry: it is what write kept last.
func (b *book) release(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.busy, id)
}

// drop forgets an entry.
func (b *book) drop(id string) error {
	b.mu.Lock()
	b.unset(id)
	delete(b.busy, id)
	b.mu.Unlock()
	return b.ledger.Delete(id)
}

// dropSame forgets an entry, unless a create has made another of it meanwhile.
func (b *book) dropSame(e Entry) error {
	b.mu.Lock()
	now, found := b.entries[e.ID]
	_, busy := b.busy[e.ID]
	b.mu.Unlock()
	if !found || busy || now.UploadID != e.UploadID || !now.Begun.Equal(e.Begun) {
		return nil
	}
	return b.drop(e.ID)
}

// close ends an upload. A create that is repeated is told of it for a while yet. What
// happened at the store is done; if the ledger fails to learn of it, the sweep aborts the
// upload once more, in vain and without harm.
func (b *book) close(v sealed) {
	now := time.Now().UTC()
	b.mu.Lock()
	e, found := b.of(v)
	found = found && e.Closed == nil
	if found && e.Named {
		e.Closed = &now
		b.set(e)
	}
	b.mu.Unlock()
	switch {
	case found && e.Named:
		_ = b.ledger.Put(e)
	case found:
		_ = b.drop(e.ID)
	}
}

// forget drops the entry of an upload that is gone, so that an equal create makes
// another. The sweep finds what the ledger fails to forget.
func (b *book) forget(v sealed) {
	b.mu.Lock()
	e, found := b.of(v)
	b.mu.Unlock()
	if found {
		_ = b.drop(e.ID)
	}
}

// of finds the entry of an upload, which may have another one by now; the lock is held.
func (b *book) of(v sealed) (Entry, bool) {
	e, found := b.entries[v.Record]
	return e, found && e.UploadID == v.ID
}

// uses tells whether an entry has this upload.
func (b *book) uses(uploadID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.UploadID == uploadID {
			return true
		}
	}
	return false
}

// stale are the entries that can be forgotten, and those whose upload has to be aborted
// first. It looks at most once a minute, and finds at most as many of the latter as given.
func (b *book) stale(now time.Time, most int) (dead, over []Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Before(b.nextSweep) {
		return nil, nil
	}
	b.nextSweep = now.Add(sweepPause)
	for id, e := range b.entries {
		_, busy := b.busy[id]
		inDoubt := e.UploadID == "" && now.Sub(e.Begun) > keptDoubt
		switch {
		case busy:
		case e.Closed != nil && now.Sub(*e.Closed) > keptClosed:
			dead = append(dead, e)
		case (inDoubt || b.isOver(e, now)) && len(over) < most:
			over = append(over, e)
		}
	}
	for caller := range b.callers {
		dead = append(dead, b.surplus(caller, now)...)
	}
	return dead, over
}

// surplus are the oldest of a caller's entries that are not open, where there are too
// many: who creates and aborts for ever shall not fill a disk.
func (b *book) surplus(caller string, now time.Time) []Entry {
	if len(b.callers[caller]) <= keptMost {
		return nil
	}
	var idle []Entry
	for id := range b.callers[caller] {
		if e := b.entries[id]; !b.isOpen(e, now) && !b.isOver(e, now) {
			idle = append(idle, e)
		}
	}
	slices.SortFunc(idle, func(x, y Entry) int { return x.Begun.Compare(y.Begun) })
	return idle[:max(0, len(idle)-keptMost)]
}
