package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/multipart/journal"
)

// stateFlags say where it is kept how far uploads have got.
type stateFlags struct {
	dir      string // empty: the user's
	noResume bool
}

func (s *stateFlags) define(set *pflag.FlagSet) {
	s.defineDir(set)
	set.BoolVar(&s.noResume, "no-resume", false, "keep no journal: an upload that fails is dropped at the store")
}

func (s *stateFlags) defineDir(set *pflag.FlagSet) {
	define(set, &s.dir, label{"state-dir", "", "", "DIR", "folder of the journals of unfinished uploads; chunkup in the user's state folder when not given"}, parsePath)
}

// errNoHome means that there is no telling where the user's state folder is.
var errNoHome = errors.New("there is no home folder")

// journals is the folder of the journals. It need not exist, but one that was named
// must be a folder if it does.
func (s *stateFlags) journals(getenv func(string) string) (*journal.Dir, error) {
	if s.dir != "" {
		if info, err := os.Stat(s.dir); err == nil && !info.IsDir() {
			return nil, usagef("--state-dir: %s is not a folder", show(s.dir))
		}
		return journal.Open(absolute(s.dir)), nil
	}
	home := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(home) {
		if _, err := os.UserHomeDir(); err != nil {
			return nil, errNoHome // a folder in / would be made instead
		}
		home = xdg.StateHome
	}
	return journal.Open(filepath.Join(home, "chunkup")), nil
}

// list is the folder for the commands that are about nothing else.
func (s *stateFlags) list(getenv func(string) string) (*journal.Dir, error) {
	dir, err := s.journals(getenv)
	if errors.Is(err, errNoHome) {
		return nil, usagef("%w: name the folder with --state-dir", err)
	}
	return dir, err
}

// keep is the folder for the journals of uploads, some of them perhaps in parts; nil keeps
// none. A folder that the user has named must do. Without the usual one uploads go on, and
// the warning says that they cannot be resumed.
func (s *stateFlags) keep(getenv func(string) string, inParts bool) (dir *journal.Dir, warning, err error) {
	if s.noResume {
		return nil, nil, nil
	}
	dir, err = s.journals(getenv)
	switch {
	case err == nil && inParts:
		err = writable(dir.Path())
	case errors.Is(err, errNoHome) && !inParts:
		return nil, nil, nil
	}
	_, refused := errors.AsType[*usageError](err)
	switch {
	case err == nil, refused:
		return dir, nil, err
	case s.dir != "":
		return nil, nil, usagef("--state-dir: %w: name another, or give --no-resume", err)
	}
	return nil, fmt.Errorf("no journal can be kept, so that nothing can be resumed (name a folder with --state-dir, or give --no-resume): %w", err), nil
}

// writable makes a folder, unless it is there, and a file in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func parsePath(text string) (string, error) {
	if text == "" {
		return "", errors.New("it is empty")
	}
	return text, nil
}

// absolute is a path that means the same from any folder.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path // the working directory is gone
}
