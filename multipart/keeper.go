package multipart

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chunkup/chunkup/multipart/journal"
)

// keeper keeps an upload's journal: what is written there before each effect, so
// that whoever comes after a crash knows what there may be. nil keeps nothing: only
// what is asked of an earlier run's (takeOver, remember, flush) needs one. It is
// safe for concurrent use.
type keeper struct {
	claim *journal.Claim
	found *journal.Record // an earlier run's; nil if there was none
	stale string          // why that one does not go on; empty: it does
	again bool            // it had asked for an upload, and who asks again gets the same

	mu      sync.Mutex
	record  journal.Record // without the parts
	parts   *manifest      // the run's, which are copied for each save
	saved   time.Time
	every   time.Duration // between two saves of parts
	written string        // the upload id that is on disk
	dirty   bool          // there are parts that were not saved
	mute    bool          // it was told that nothing can be saved
	settled bool
}

// Parts are saved no more often than this, nor for more than a part of the time.
const (
	saveEvery = time.Second
	saveShare = 20
)

// note writes down what comes next. The first error is returned, and those after
// it are not: the journal on disk is then older than it could be, and still true.
func (k *keeper) note(s journal.State, change func(*journal.Record)) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.record.State = s
	if s == journal.Creating {
		k.record.UploadID = ""
	}
	if change != nil {
		change(&k.record)
	}
	return k.save()
}

// save is called with the lock held.
func (k *keeper) save() error {
	start := time.Now()
	record := k.record
	if record.UploadID != "" {
		record.Parts = k.parts.written()
	}
	err := k.claim.Save(record)
	k.saved = time.Now()
	k.every = max(saveEvery, saveShare*k.saved.Sub(start))
	k.dirty = k.dirty && err != nil
	if err == nil {
		k.written = k.record.UploadID
	}
	if err == nil || k.mute {
		return nil
	}
	k.mute = true
	return err
}

// arrived writes down the parts, of which there is one more, sooner or later: the
// store's own list is what counts, and this is for when it says nothing of checksums.
func (k *keeper) arrived() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dirty = true
	if time.Since(k.saved) < k.every {
		return nil
	}
	return k.save()
}

// takeOver goes on with an earlier run's record.
func (k *keeper) takeOver() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.record.Token, k.record.UploadID, k.record.Started = k.found.Token, k.found.UploadID, k.found.Started
}

// remember keeps when the upload without a name was begun.
func (k *keeper) remember(found *journal.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.record.Started = found.Started
}

// owes adds uploads that are still to be aborted; paid takes one off. They are
// written down with what is noted next.
func (k *keeper) owes(ids []string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		if !slices.Contains(k.record.Leftover, id) {
			k.record.Leftover = append(k.record.Leftover, id)
		}
	}
}

func (k *keeper) paid(id string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.record.Keys, id)
	k.record.Leftover = slices.DeleteFunc(k.record.Leftover, func(other string) bool { return other == id })
}

func (k *keeper) leftover() []string {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.record.Leftover)
}

// forget removes the journal: nothing is left to be done. An upload whose
// leftovers are, keeps it.
func (k *keeper) forget(orphan bool) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.settled {
		return nil
	}
	k.parts = &manifest{} // they are of no upload any more
	switch {
	case orphan:
		k.record.State, k.record.UploadID = journal.Orphaned, ""
		k.mute = false
		return errors.Join(k.save(), k.drop())
	case len(k.record.Leftover) > 0:
		k.record.State, k.record.UploadID = journal.Aborting, k.record.Leftover[0]
		k.record.Leftover = k.record.Leftover[1:]
		k.mute = false
		return errors.Join(k.save(), k.drop())
	}
	k.settled = true
	return k.claim.Remove()
}

// flush writes down the parts that were not yet.
func (k *keeper) flush() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.dirty {
		return nil
	}
	return k.save()
}

// drop lets go of the journal and leaves it where it is.
func (k *keeper) drop() error {
	k.settled = true
	return k.claim.Release()
}

// release ends the claim, whatever has become of the journal.
func (k *keeper) release() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.settled {
		_ = k.drop() // the lock ends with the process at the latest
	}
}

// has reports that the journal on disk tells of an upload.
func (k *keeper) has(id string) bool {
	if k == nil || id == "" {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.written == id
}

// path is where the journal is; empty if there is none.
func (k *keeper) path() string {
	if k == nil {
		return ""
	}
	return k.claim.Path()
}

// keep tells that something could not be written down.
func (r *run) keep(err error) {
	if err != nil {
		r.warn(fmt.Errorf("%w; the upload goes on, but what it does from here on cannot be resumed", err))
	}
}

// forget tells if the journal of an upload that is over could not be removed.
func (r *run) forget(orphan bool) {
	if err := r.state.forget(orphan); err != nil {
		r.warn(fmt.Errorf("the upload is over, and its journal could not be put away: %w", err))
	}
}

// heard tells what was wrong with an earlier run's journal.
func (r *run) heard() {
	if r.state != nil && r.state.claim.Warning() != nil {
		r.warn(r.state.claim.Warning())
	}
}

// upload is one of the destination's uploads at the store.
func (k *keeper) upload(id string) Upload {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Upload{Bucket: k.record.Bucket, Key: k.record.KeyOf(id), ID: id}
}

// calls remembers an upload, and the key that it has if that is not the one asked for.
func (k *keeper) calls(u Upload) func(*journal.Record) {
	return func(j *journal.Record) {
		if j.UploadID = u.ID; u.Key == j.Key {
			return
		}
		if j.Keys == nil {
			j.Keys = map[string]string{}
		}
		j.Keys[u.ID] = u.Key
	}
}
