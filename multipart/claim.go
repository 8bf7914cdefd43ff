package multipart

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
)

// claim opens the journal of a destination, which no other process has open
// then. It returns nil if none is to be kept. A source that goes up in one PUT
// needs one only to clean up after an earlier run.
func (u *Uploader) claim(o Object, src chunker.Source, plan chunker.Plan, single bool) (*keeper, error) {
	dir := u.options.Journal
	endpoint := u.control.Traits().Endpoint
	if dir == nil || single && !dir.Exists(endpoint, o.Bucket, o.Key) {
		return nil, nil
	}
	claim, err := dir.Claim(endpoint, o.Bucket, o.Key)
	if err != nil {
		return nil, fmt.Errorf("journal of %s: %w", o, err)
	}
	k := &keeper{claim: claim, every: saveEvery, record: u.record(o, src, plan)}
	if found, ok := claim.Record(); ok {
		k.found, k.written, k.record.Leftover, k.record.Keys = &found, found.UploadID, found.Leftover, found.Keys
		if k.stale = u.isStale(o, found, k.record, src); k.stale == "" {
			k.record.Plan = found.Plan // perhaps with parts of another size than it would have now
		}
		k.again = u.control.Traits().SameCreate && found.UploadID == "" && found.Token != ""
	}
	return k, nil
}

// record is what the journal says of an upload that has not begun.
func (u *Uploader) record(o Object, src chunker.Source, plan chunker.Plan) journal.Record {
	t := u.control.Traits()
	r := journal.Record{
		Endpoint: t.Endpoint, Bucket: o.Bucket, Key: o.Key, Plan: plan,
		Algorithm: t.Algorithm, FullObject: t.FullObject,
		Header: o.publicHeader(), Metadata: o.Metadata, Conditional: o.CreateOnly, Command: o.Command,
		Started: time.Now(),
	}
	if file, ok := src.(interface {
		Name() string
		Identity() chunker.Identity
	}); ok {
		r.Source.Path, _ = filepath.Abs(file.Name()) // without a working directory it is nameless
		r.Source.Identity = file.Identity()
	}
	return r
}

// isStale says why an earlier run's upload is none that this one goes on with;
// empty: it is.
func (u *Uploader) isStale(o Object, found, now journal.Record, src chunker.Source) string {
	again, err := chunker.NewPlan(now.Plan.Size, found.Plan.PartSize, u.control.Traits().Limits)
	switch {
	case found.UploadID == "":
		return "it had not begun"
	case o.IdempotencyKey != "" && found.Token != keyToken(o.IdempotencyKey):
		return "it has another idempotency key"
	case found.State == journal.Aborting:
		return "it was being aborted"
	case src == nil:
		return "a stream cannot be read again"
	case found.Source.Path != now.Source.Path:
		return "it was of another source"
	case found.Plan.Size != now.Plan.Size:
		return fmt.Sprintf("the source has %d bytes and had %d", now.Plan.Size, found.Plan.Size)
	case u.options.PartSize != 0 && found.Plan.PartSize != now.Plan.PartSize, err != nil, again != found.Plan:
		return fmt.Sprintf("its parts have %d bytes", found.Plan.PartSize)
	case found.Algorithm != now.Algorithm, found.FullObject != now.FullObject:
		return "it has other checksums"
	case found.Conditional != now.Conditional, !sameProperties(found, now):
		return "the object was to have other properties"
	}
	return ""
}

// goesOn reports that an earlier run's upload is to be resumed.
func (k *keeper) goesOn() bool { return k != nil && k.found != nil && k.stale == "" }

// token is the random token of the upload, or that of its idempotency key.
func (k *keeper) token(o Object) string {
	switch {
	case o.IdempotencyKey != "":
		return keyToken(o.IdempotencyKey)
	case k.goesOn(), k != nil && k.again:
		return k.found.Token
	}
	return newToken()
}

// keyToken is the token of all uploads with an idempotency key.
func keyToken(key string) string {
	sum := sha256.Sum256([]byte("chunkup\x00" + key))
	return hex.EncodeToString(sum[:16])
}
