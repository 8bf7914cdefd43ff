// Package walk finds what there is to upload: the files under a folder ([Walk]), those
// of them that patterns choose ([Filter]), and the sources that a list names ([List]).
//
// All of it streams: a file can go up while the rest is still being looked for, and a
// million files cost no more memory than the names in one folder. What stands in the
// way of one file is yielded as an error in its place, and the walk goes on: whether
// that is a failure or a warning is the caller's to say.
package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// File is one regular file that a walk found.
type File struct {
	Path string // to open it: the root as it was given, then the system's separators
	Key  string // its path under the root, with forward slashes; never empty, no slash at either end
	Size int64  // bytes, when it was seen
}

// Options say what a walk yields. The zero value is every file, and no link.
type Options struct {
	// Filter chooses by Key; its zero value takes every file. What it leaves out is
	// never an error either, be it a socket, a link that leads nowhere, or unreadable.
	Filter Filter

	// FollowSymlinks treats a link as the file or folder that it leads to. The root
	// is followed in any case. A file that is reached in several ways is yielded each time.
	FollowSymlinks bool

	// AnyName yields files whose Key cannot be one, too, for a caller whose keys are made
	// of something else: see CheckKey.
	AnyName bool

	// Store is the folder in which the store that the files go to keeps its objects, so
	// that no walk finds what it has uploaded itself. It is passed over; nil is none.
	Store fs.FileInfo
}

// Walk yields the files under root in the order of their keys' bytes, which is also
// that of a store's listing, while it reads the folders: "a-b" and "a.txt" come before
// "a/b". Its memory is bounded by one folder's names times the depth, and it holds no
// folder open while it yields.
//
// Errors come in the place of what they are about, with an empty File:
//   - *Error, for what cannot be read, a loop of links (ErrLoop) and a name that cannot
//     be a key (ErrKey), unless any may be; the walk goes on after it;
//   - *SkipError, for what is there but is no regular file, for links that are not
//     followed, and for Options.Store; the walk goes on after it;
//   - the context's cause, once it is done, and nothing after that.
//
// A folder that changes meanwhile is seen partly as it was: a file that has vanished
// since its folder was read is an *Error that is fs.ErrNotExist. Bytes change too: Size
// is a hint for planning, and whoever opens Path finds out the truth.
//
// The sequence may be walked several times, also at the same time; each reads anew.
func Walk(ctx context.Context, root string, o Options) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		w := walker{ctx: ctx, filter: o.Filter, follow: o.FollowSymlinks, store: o.Store, any: o.AnyName, yield: yield}
		info, err := os.Stat(root)
		switch {
		case ctx.Err() != nil:
			w.stop()
		case err != nil:
			w.fail(root, err)
		case !info.IsDir():
			w.fail(root, syscall.ENOTDIR)
		default:
			w.walk(&folder{path: root, info: info})
		}
	}
}

// walker is one walk. Its methods return false when the walk is to end.
type walker struct {
	ctx    context.Context
	filter Filter
	follow bool
	store  fs.FileInfo
	any    bool // names need be no keys
	yield  func(File, error) bool
}

// folder is one that is being walked, and through parent all that it is in.
type folder struct {
	path   string
	prefix string // of its files' keys: empty, or with a slash at its end
	info   fs.FileInfo
	parent *folder
}

func (w *walker) walk(f *folder) bool {
	if w.store != nil && os.SameFile(w.store, f.info) {
		return w.fail(f.path, &SkipError{Path: f.path, Mode: fs.ModeDir})
	}
	names, err := w.names(f)
	if w.ctx.Err() != nil {
		return w.stop()
	}
	if err != nil && !w.fail(f.path, err) {
		return false
	}
	inside := inside(f.path)
	for _, name := range names {
		if w.ctx.Err() != nil {
			return w.stop()
		}
		if !w.visit(f, inside, name) {
			return false
		}
	}
	return true
}

// visit deals with one name of a folder. What is there counts, not what was there when
// the folder was read.
func (w *walker) visit(f *folder, inside, name string) bool {
	name, wasFolder := strings.CutSuffix(name, "/")
	path, key := inside+name, f.prefix+name
	info, err := w.look(path)
	switch {
	case err == nil && info.IsDir():
		return w.enter(&folder{path: path, prefix: key + "/", info: info, parent: f})
	case err != nil:
		return w.fail(path, err)
	case wasFolder && !isLink(info.Mode()) && !w.filter.Match(key):
		return true
	case !info.Mode().IsRegular():
		return w.fail(path, &SkipError{Path: path, Mode: info.Mode().Type()})
	}
	if err := CheckKey(key); err != nil && !w.any {
		return w.fail(path, err)
	}
	return w.yield(File{Path: path, Key: key, Size: info.Size()}, nil)
}

// look tells what a path is, or what it leads to if links are followed. Its errors are
// such that the path need not be named, or a *SkipError.
func (w *walker) look(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil || !w.follow || !isLink(info.Mode()) {
		return info, cause(err)
	}
	target, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &SkipError{Path: path, Mode: info.Mode().Type(), Dangling: true}
	case err != nil:
		return nil, fmt.Errorf("it is a link to what cannot be read: %w", cause(err))
	}
	return target, nil
}

// enter walks a folder, unless there is no use or no end in it.
func (w *walker) enter(f *folder) bool {
	if w.filter.misses(f.prefix) {
		return true
	}
	if err := checkPrefix(f.prefix); err != nil && !w.any {
		return w.fail(f.path, err)
	}
	// Any folder can close a loop, not only one that is a link itself: a link to the
	// parent of the root has the root in it as a plain folder.
	for above := f.parent; w.follow && above != nil; above = above.parent {
		if os.SameFile(above.info, f.info) {
			return w.fail(f.path, fmt.Errorf("%w: it is %s again", ErrLoop, show(above.path)))
		}
	}
	return w.walk(f)
}

func (w *walker) fail(path string, err error) bool {
	if skip, ok := errors.AsType[*SkipError](err); ok {
		return w.yield(File{}, skip)
	}
	return w.yield(File{}, &Error{Path: path, Err: cause(err)})
}

func (w *walker) stop() bool {
	w.yield(File{}, context.Cause(w.ctx))
	return false
}

// isLink counts Windows' mount points as links, which fs.ModeIrregular stands for.
func isLink(mode fs.FileMode) bool { return mode&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// inside is what the names in a folder are put after. It is not filepath.Join, which
// takes "link/.." for ".", and that is another folder where link is a link.
func inside(path string) string {
	if os.IsPathSeparator(path[len(path)-1]) || path == filepath.VolumeName(path) && strings.HasSuffix(path, ":") {
		return path // "C:" is the folder that the process is in on that drive, "C:\" is not
	}
	return path + string(filepath.Separator)
}
