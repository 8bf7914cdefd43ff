package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/cmd/chunkup/walk"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
)

// job is one source and where it goes.
type job struct {
	source  string // as it was given, or found
	under   string // its path below the folder where it was found, with slashes; its name otherwise
	walked  bool   // nobody has written its name
	dest    string // as people read it
	scheme  string // of the destination
	address string // the destination as the user would write it; {sha256} stays in it
	size    int64  // when the command began; of a stream what is expected, 0 if nothing is
	object  multipart.Object
	plan    chunker.Plan // of a size that goes up in parts
	whole   bool         // it goes up in one PUT

	stream  bool     // the source is standard input, or what a command writes
	command []string // that command
	growth  chunker.Growth

	hashed chunker.Identity // what the file was when its key was made from its hash
}

// isAimed tells that a job has a destination.
func (j job) isAimed() bool { return j.object.Key != "" }

// addressOf is how the user would write the address of the job's object as the store
// calls it; the destination if that is not known.
func (j job) addressOf(o multipart.Object) string {
	if o.Key == "" {
		return j.dest
	}
	return destination{scheme: j.scheme, bucket: o.Bucket}.address(o.Key)
}

// destination reads DEST and refuses flags that contradict it or each other.
func (f *cpFlags) destination(text string) (destination, error) {
	dest, err := parseDestination(text)
	if err != nil {
		return dest, err
	}
	if err := checkPlaceholders(dest.key); err != nil {
		return dest, usagef("destination %s: %w", show(text), err)
	}
	if err := f.store.checkScheme(f.given, dest); err != nil {
		return dest, err
	}
	return dest, f.object.check()
}

func (f *cpFlags) newJob(ctx context.Context, source string, size int64, dest destination) (_ job, sha256 string, err error) {
	if source == "-" {
		j, err := f.newStream(dest)
		return j, "", err
	}
	return f.aimFile(ctx, job{source: source, under: filepath.Base(source), size: size}, dest)
}

// aimFile gives the job of a file its object. It reads the file if the key needs its
// hash, and returns that then.
func (f *cpFlags) aimFile(ctx context.Context, j job, dest destination) (_ job, sha256 string, err error) {
	if needs(dest.key, holdSHA256) {
		digest, was, err := hashFile(ctx, j.source)
		if err != nil {
			return j, "", err
		}
		sha256, j.hashed = digest.Hex(), was
	}
	j, err = f.aim(j, dest, sha256)
	return j, sha256, err
}

// aim gives a job its object.
func (f *cpFlags) aim(j job, dest destination, sha256 string) (job, error) {
	key, err := dest.keyOf(j.source, j.under, sha256)
	if err != nil {
		return j, err
	}
	j.scheme, j.dest, j.address = dest.scheme, dest.address(key), dest.address(literal(key))
	if needs(dest.key, holdSHA256) {
		j.address = dest.address(dest.template(j.under)) // other bytes must not go up under this hash
	}
	j.object = multipart.Object{Bucket: dest.bucket, Key: key, CreateOnly: f.object.noOverwrite,
		Header: f.object.header(j.source), Metadata: f.object.userMetadata()}
	return j, nil
}

// finish makes a job of what was found, for a store that is known by now.
func (f *cpFlags) finish(ctx context.Context, j job, s *sources, fit func(*job) error) (job, error) {
	j, sha256, err := f.aimFile(ctx, j, s.dest)
	if err != nil {
		return j, err
	}
	if j.walked {
		if err := walk.CheckKey(j.object.Key); err != nil {
			return j, &walk.Error{Path: j.source, Err: err}
		}
	}
	if err := s.claims.take(j, sha256); err != nil {
		return j, err
	}
	return j, fit(&j)
}

// knownTraits are the store's as far as they are known without asking it.
func (f *cpFlags) knownTraits() multipart.Traits {
	if f.store.mint.url != "" {
		return multipart.Traits{CreateOnly: true, PartsOnly: true} // so that there is a place for journals
	}
	p, err := s3store.ByName(f.store.provider)
	if err != nil {
		return multipart.Traits{CreateOnly: true} // detected later; until then S3's
	}
	return p.Traits
}

// fit plans the jobs within what a store can do.
func (f *cpFlags) fit(jobs []job, store multipart.Traits) error {
	if f.object.noOverwrite && !store.CreateOnly {
		return usagef("--no-overwrite: this store is not known to keep an object that is there already (see --provider)")
	}
	for i := range jobs {
		if err := f.fitOne(&jobs[i], store); err != nil {
			return err
		}
	}
	return nil
}

func (f *cpFlags) fitOne(j *job, store multipart.Traits) error {
	err := f.plan(j, store)
	if limit, ok := errors.AsType[*chunker.LimitError](err); ok {
		return usagef("%s: %w%s", j.label(), limit, remedy(*j, limit))
	}
	return err
}

// remedy says which flags a limit is about that a stream does not fit in.
func remedy(j job, limit *chunker.LimitError) string {
	if j.stream && limit.What == "memory" {
		return " (see --memory, --part-size and --expected-size)"
	}
	return ""
}

func (f *cpFlags) plan(j *job, store multipart.Traits) (err error) {
	if j.stream {
		j.growth, err = chunker.PlanStream(j.size, f.tuning.partSize, f.tuning.memory, store.Limits, store.EqualParts)
		return err
	}
	j.plan, err = chunker.NewPlan(j.size, f.tuning.partSize, store.Limits)
	j.whole = (j.size < f.tuning.threshold || j.size == 0) && !store.PartsOnly
	return err
}
