package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/chunkup/chunkup/cmd/chunkup/walk"
)

// runAhead is how many files are found before they are needed, so that to read a folder
// holds up nobody.
const runAhead = 256

// found is a file in a folder, or on a list.
type found struct {
	walk.File
	in     string // that folder or list
	walked bool   // it is that folder
}

// all yields all jobs: those of the command line, and then those that are found
// meanwhile, which have no destination yet. An error is about the job's source, and what
// comes after it goes on; but the end of the context is the last one.
func (s *sources) all(ctx context.Context) iter.Seq2[job, error] {
	return func(yield func(job, error) bool) {
		for _, j := range s.named {
			if !yield(j, nil) {
				return
			}
		}
		if !s.finds() {
			return
		}
		in := append(s.roots, s.listName)[0]
		for f, err := range ahead(ctx, s.find(ctx), runAhead) {
			in = cmp.Or(f.in, in)
			j := job{source: f.Path, under: f.Key, walked: f.walked, size: f.Size}
			if e, ok := errors.AsType[*walk.Error](err); ok {
				j.source = e.Path
			}
			j.source = cmp.Or(j.source, in)
			if !yield(j, err) {
				return
			}
		}
	}
}

// ahead runs a sequence in a goroutine of its own, and up to n elements ahead. The end of
// the context is yielded as the last error, without waiting for that goroutine: it may be
// waiting for somebody who types.
func ahead[T any](ctx context.Context, seq iter.Seq2[T, error], n int) iter.Seq2[T, error] {
	type element struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		used, stop := context.WithCancel(ctx)
		defer stop()
		elements := make(chan element, n)
		go func() {
			defer close(elements)
			for v, err := range seq {
				select {
				case elements <- element{v, err}:
				case <-used.Done():
					return
				}
			}
		}()
		for {
			var none T
			select {
			case <-ctx.Done():
				yield(none, context.Cause(ctx))
				return
			case e, ok := <-elements:
				if !ok && ctx.Err() != nil {
					yield(none, context.Cause(ctx)) // which has perhaps ended the sequence
				}
				if !ok || !yield(e.value, e.err) {
					return
				}
			}
		}
	}
}

// find yields the files in the folders, and then those of the list.
func (s *sources) find(ctx context.Context) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		for _, root := range s.roots {
			if !s.walk(ctx, root, yield) {
				return
			}
		}
		if s.list != nil && !s.read(ctx, yield) {
			return
		}
		s.tally.whole.Store(true)
	}
}

// walk yields the files in a folder, unless it is over before.
func (s *sources) walk(ctx context.Context, root string, yield func(found, error) bool) bool {
	options := s.options
	if s.store != "" {
		options.Store, _ = os.Stat(s.store) // it is made when the command begins
	}
	for file, err := range walk.Walk(ctx, root, options) {
		if ctx.Err() != nil {
			return false
		}
		if !s.count(found{file, root, true}, err, yield) {
			return false
		}
	}
	return true
}

// read yields the sources of the list.
func (s *sources) read(ctx context.Context, yield func(found, error) bool) bool {
	for path, err := range walk.List(s.list, s.null) {
		if ctx.Err() != nil {
			return false
		}
		f := found{walk.File{Path: path, Key: filepath.Base(path)}, s.listName, false}
		var folder bool
		switch {
		case err != nil:
			err = fmt.Errorf("--files-from: %s: %w", show(s.listName), err)
		default:
			f.Size, folder, err = s.look(path)
		}
		if folder {
			if !s.walk(ctx, path, yield) {
				return false
			}
			continue
		}
		if !s.count(f, err, yield) {
			return false
		}
	}
	return true
}

// count yields what was found, and counts it: what fails has a result, too.
func (s *sources) count(f found, err error, yield func(found, error) bool) bool {
	if _, skipped := errors.AsType[*walk.SkipError](err); !skipped {
		s.tally.add(f.Size)
	}
	return yield(f, err)
}
