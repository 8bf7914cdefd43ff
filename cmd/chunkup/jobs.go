package main

import (
	"context"
	"errors"
	"os"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
)

// job is one source and where it goes.
type job struct {
	source  string // as it was given
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

// addressOf is how the user would write the address of the job's object as the store
// calls it; the destination if that is not known.
func (j job) addressOf(o multipart.Object) string {
	if o.Key == "" {
		return j.dest
	}
	return destination{scheme: j.scheme, bucket: o.Bucket}.address(o.Key)
}

// prepare makes the jobs of a command line, and refuses what cannot work before
// anything is sent. dash is how many arguments come before a "--", or negative.
func (f *cpFlags) prepare(ctx context.Context, args []string, dash int) ([]job, destination, error) {
	args, command, err := splitCommand(args, dash)
	if err != nil {
		return nil, destination{}, err
	}
	sources, last := args[:len(args)-1], args[len(args)-1]
	dest, err := f.destination(last)
	if err != nil {
		return nil, dest, err
	}
	if len(sources) > 1 && !dest.isPrefix() {
		return nil, dest, usagef("destination %s: several sources need one that ends with a slash", show(last))
	}
	jobs := make([]job, 0, len(sources))
	taken := map[string]string{}
	for _, source := range sources {
		j, err := f.newJob(ctx, source, dest)
		if err != nil {
			return nil, dest, err
		}
		j.command = command
		if first, twice := taken[j.dest]; twice {
			return nil, dest, usagef("%s and %s would both become %s", show(first), show(source), show(j.dest))
		}
		taken[j.dest] = source
		jobs = append(jobs, j)
	}
	if f.given.Changed("expected-size") && !jobs[0].stream {
		return nil, dest, usagef("--expected-size is for standard input: give - as the SOURCE")
	}
	return jobs, dest, f.fit(jobs, f.knownTraits())
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

func (f *cpFlags) newJob(ctx context.Context, source string, dest destination) (job, error) {
	if source == "-" {
		return f.newStream(dest)
	}
	size, err := sourceSize(source)
	if err != nil {
		return job{}, err
	}
	j := job{source: source, size: size}
	var sha256 string
	if needs(dest.key, holdSHA256) {
		digest, was, err := hashFile(ctx, source)
		if err != nil {
			return job{}, err
		}
		sha256, j.hashed = digest.Hex(), was
	}
	return f.aim(j, dest, sha256)
}

// aim gives a job its object.
func (f *cpFlags) aim(j job, dest destination, sha256 string) (job, error) {
	key, err := dest.keyOf(j.source, sha256)
	if err != nil {
		return job{}, err
	}
	j.scheme, j.dest, j.address = dest.scheme, dest.address(key), dest.address(literal(key))
	if needs(dest.key, holdSHA256) {
		j.address = dest.address(dest.key) // other bytes must not go up under this hash
	}
	j.object = multipart.Object{Bucket: dest.bucket, Key: key, CreateOnly: f.object.noOverwrite,
		Header: f.object.header(j.source), Metadata: f.object.userMetadata()}
	return j, nil
}

// sourceSize opens a source, so that one that cannot be read is refused at
// once, and closes it again: there may be more of them than may be open.
func sourceSize(source string) (int64, error) {
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		return 0, usagef("%s is a directory: name the files in it", show(source))
	}
	file, err := chunker.OpenFile(source)
	if err != nil {
		return 0, usagef("source: %w", err)
	}
	return file.Size(), file.Close()
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
		j := &jobs[i]
		if err := f.plan(j, store); err != nil {
			if limit, ok := errors.AsType[*chunker.LimitError](err); ok {
				return usagef("%s: %w%s", j.label(), limit, remedy(*j, limit))
			}
			return err
		}
	}
	return nil
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
