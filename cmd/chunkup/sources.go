package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/cmd/chunkup/walk"
)

// sources are what a command line is about. What it names has been looked at; what is in
// folders and on a list is found while the rest goes up.
type sources struct {
	dest      destination
	named     []job         // files and standard input, as they were given
	roots     []string      // folders
	folders   []fs.FileInfo // what they are
	recursive bool
	store     string // folder of the store of sandbox://; empty: it is another
	options   walk.Options
	list      io.Reader // nil: none
	listName  string
	null      bool   // it has NUL bytes between them
	shut      func() // closes the list

	claims claims
	tally  tally
}

// tally counts the files that there are, as far as they are known. It is safe for
// concurrent use.
type tally struct {
	files, bytes atomic.Int64
	whole        atomic.Bool // there are no more
}

func (t *tally) add(size int64) {
	t.files.Add(1)
	t.bytes.Add(size)
}

// remove takes a file back that needs no upload.
func (t *tally) remove(size int64) {
	t.files.Add(-1)
	t.bytes.Add(-size)
}

// finds tells whether there are sources besides those that are named.
func (s *sources) finds() bool { return len(s.roots) > 0 || s.list != nil }

// How far the heap of an upload grows before garbage is collected, in percent. What is
// kept of it is little, and soon looked through: of 10 GB that is 0.6 % of the CPU. Of
// many small files it is a quarter.
const (
	garbageOfFew  = 25
	garbageOfMany = 100
	few           = 32 // files
)

// garbage is how much the heap may grow before it is collected.
func (s *sources) garbage() (percent int) {
	if s.finds() || len(s.named) > few {
		return garbageOfMany
	}
	return garbageOfFew
}

// prepare looks at the sources of a command line, and refuses what cannot work before
// anything is sent. dash is how many arguments come before a "--", or negative.
func (f *cpFlags) prepare(ctx context.Context, e env, args []string, dash int) (*sources, error) {
	args, command, err := splitCommand(args, dash)
	if err != nil {
		return nil, err
	}
	if len(args) > 1 && !f.given.Changed("files-from") {
		f.from.list = "" // that of a variable, which is for when no SOURCE is given
	}
	if len(args) == 0 || len(args) == 1 && f.from.list == "" {
		return nil, usagef("cp takes at least one SOURCE and a DEST (see chunkup cp --help)")
	}
	given, last := args[:len(args)-1], args[len(args)-1]
	s, err := f.newSources(last)
	if err != nil {
		return nil, err
	}
	if (len(given) > 1 || f.from.list != "") && !s.dest.holdsMany() {
		return nil, usagef("destination %s: several sources need one that ends with a slash", show(last))
	}
	for _, source := range given {
		if err := f.name(ctx, s, source, command); err != nil {
			return nil, err
		}
	}
	if f.given.Changed("expected-size") && (len(s.named) == 0 || !s.named[0].stream) {
		return nil, usagef("--expected-size is for standard input: give - as the SOURCE")
	}
	if err := f.fit(s.named, f.knownTraits()); err != nil {
		return nil, err
	}
	err = f.openList(s, e)
	f.tuning.many = s.finds()
	return s, err
}

// newSources reads DEST and the flags that say what is found.
func (f *cpFlags) newSources(text string) (*sources, error) {
	dest, err := f.destination(text)
	if err != nil {
		return nil, err
	}
	if err := f.from.check(f.given); err != nil {
		return nil, err
	}
	filter, err := f.from.patterns.filter()
	s := &sources{dest: dest, recursive: f.from.recursive, null: f.from.null, claims: claims{named: map[string]claim{}},
		options: walk.Options{Filter: filter, FollowSymlinks: f.from.follow, AnyName: !dest.isPrefix()}, shut: func() {}}
	if dest.scheme == schemeSandbox {
		s.store = f.store.sandboxDir
	}
	return s, err
}

// name adds a source of the command line.
func (f *cpFlags) name(ctx context.Context, s *sources, source string, command []string) error {
	var size int64
	if source != "-" {
		n, folder, err := s.look(source)
		if folder {
			return s.addRoot(source)
		}
		if err != nil {
			return err
		}
		size = n
	}
	j, sha256, err := f.newJob(ctx, source, size, s.dest)
	if err != nil {
		return err
	}
	if err := s.claims.take(j, ""); err != nil {
		return err
	}
	j.command = command
	s.claims.named[j.dest] = claim{source, sha256}
	s.named = append(s.named, j)
	s.tally.add(j.size)
	return nil
}

// addRoot adds a folder, which has to be readable and not to be there before.
func (s *sources) addRoot(root string) error {
	if !s.dest.holdsMany() {
		dest := s.dest.address(s.dest.key)
		return usagef("destination %s: for a folder it has to end with a slash: %s", show(dest), show(dest+"/"))
	}
	dir, err := os.Open(root)
	if err != nil {
		return usagef("source: %w", err)
	}
	defer dir.Close()
	if _, err := dir.Readdirnames(1); err != nil && err != io.EOF {
		return usagef("source: %w", err)
	}
	info, err := dir.Stat()
	if err != nil {
		return usagef("source: %w", err)
	}
	for i, other := range s.folders {
		if os.SameFile(other, info) {
			return usagef("%s and %s are the same folder", show(s.roots[i]), show(root))
		}
	}
	s.roots, s.folders = append(s.roots, root), append(s.folders, info)
	if len(s.roots) == 2 || !s.dest.isPrefix() {
		s.claims.remember()
	}
	return nil
}

// look opens a source, so that one that cannot be read is refused at once, and closes it
// again: there may be more of them than may be open. A folder is none unless it was asked
// for what is in it.
func (s *sources) look(source string) (size int64, folder bool, err error) {
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		if !s.recursive {
			return 0, false, usagef("%s is a directory: give -r (--recursive) to upload what is in it", show(source))
		}
		return 0, true, nil
	}
	file, err := chunker.OpenFile(source)
	if err != nil {
		return 0, false, usagef("source: %w", err)
	}
	return file.Size(), false, file.Close()
}

// openList opens the list of sources.
func (f *cpFlags) openList(s *sources, e env) error {
	switch f.from.list {
	case "":
		s.tally.whole.Store(len(s.roots) == 0)
		return nil
	case "-":
		if s.list, s.listName = e.stdin, "standard input"; s.list == nil {
			s.list = strings.NewReader("")
		}
	default:
		file, err := os.Open(f.from.list)
		if err != nil {
			return usagef("--files-from: %w", err)
		}
		if info, err := file.Stat(); err == nil && info.IsDir() {
			file.Close()
			return usagef("--files-from: %s is a directory", show(f.from.list))
		}
		s.list, s.listName, s.shut = file, f.from.list, func() { file.Close() }
	}
	s.claims.remember()
	return nil
}
