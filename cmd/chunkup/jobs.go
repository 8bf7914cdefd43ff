package main

import (
	"errors"
	"os"

	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
)

// job is one source and where it goes.
type job struct {
	source string // as it was given
	dest   string // as the user would write it
	size   int64  // when the command began
	object multipart.Object
	plan   chunker.Plan // of a size that goes up in parts
	whole  bool         // it goes up in one PUT
}

// prepare makes the jobs of a command line, and refuses what cannot work before
// anything is sent.
func (f *cpFlags) prepare(given *pflag.FlagSet, args []string) ([]job, destination, error) {
	sources, last := args[:len(args)-1], args[len(args)-1]
	dest, err := parseDestination(last)
	if err != nil {
		return nil, dest, err
	}
	if len(sources) > 1 && !dest.isPrefix() {
		return nil, dest, usagef("destination %s: several sources need one that ends with a slash", show(last))
	}
	if dest.scheme == schemeSandbox {
		if err := checkSandbox(given); err != nil {
			return nil, dest, err
		}
	}
	if err := f.object.check(); err != nil {
		return nil, dest, err
	}
	jobs := make([]job, 0, len(sources))
	taken := map[string]string{}
	for _, source := range sources {
		j, err := f.newJob(source, dest)
		if err != nil {
			return nil, dest, err
		}
		if first, twice := taken[j.dest]; twice {
			return nil, dest, usagef("%s and %s would both become %s", show(first), show(source), show(j.dest))
		}
		taken[j.dest] = source
		jobs = append(jobs, j)
	}
	return jobs, dest, f.fit(jobs, f.knownLimits())
}

func (f *cpFlags) newJob(source string, dest destination) (job, error) {
	size, err := sourceSize(source)
	if err != nil {
		return job{}, err
	}
	key, err := dest.keyOf(source)
	if err != nil {
		return job{}, err
	}
	return job{
		source: source, dest: dest.address(key), size: size,
		object: multipart.Object{Bucket: dest.bucket, Key: key,
			Header: f.object.header(source), Metadata: f.object.userMetadata()},
	}, nil
}

// sourceSize opens a source, so that one that cannot be read is refused at
// once, and closes it again: there may be more of them than may be open.
func sourceSize(source string) (int64, error) {
	if source == "-" {
		return 0, usagef(`"-" cannot be uploaded: the source must be a file`)
	}
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		return 0, usagef("%s is a directory: name the files in it", show(source))
	}
	file, err := chunker.OpenFile(source)
	if err != nil {
		return 0, usagef("source: %w", err)
	}
	return file.Size(), file.Close()
}

// knownLimits are the store's as far as they are known without asking it.
func (f *cpFlags) knownLimits() chunker.Limits {
	p, err := s3store.ByName(f.store.provider)
	if err != nil {
		return chunker.Limits{} // detected later; until then S3's
	}
	return p.Traits.Limits
}

// fit plans the jobs within a store's limits.
func (f *cpFlags) fit(jobs []job, limits chunker.Limits) error {
	for i := range jobs {
		j := &jobs[i]
		plan, err := chunker.NewPlan(j.size, f.tuning.partSize, limits)
		if err != nil {
			if limit, ok := errors.AsType[*chunker.LimitError](err); ok {
				return usagef("%s: %w", show(j.source), limit)
			}
			return err
		}
		j.plan, j.whole = plan, j.size < f.tuning.threshold || j.size == 0
	}
	return nil
}
