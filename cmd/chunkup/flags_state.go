package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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

// journals is the folder of the journals. It need not exist.
func (s *stateFlags) journals(getenv func(string) string) *journal.Dir {
	if s.dir != "" {
		return journal.Open(absolute(s.dir))
	}
	home := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(home) {
		home = xdg.StateHome
	}
	return journal.Open(filepath.Join(home, "chunkup"))
}

// keep is the folder for the journals of the jobs; nil keeps none. A folder that
// the user has named must do. Without the usual one uploads go on, and it is
// said that they cannot be resumed.
func (s *stateFlags) keep(getenv func(string) string, jobs []job, warn func(job, error)) (*journal.Dir, error) {
	if s.noResume {
		return nil, nil
	}
	dir := s.journals(getenv)
	inParts := slices.ContainsFunc(jobs, func(j job) bool { return !j.whole })
	if !inParts {
		return dir, nil
	}
	err := os.MkdirAll(dir.Path(), 0o700)
	switch {
	case err == nil:
		return dir, nil
	case s.dir != "":
		return nil, usagef("--state-dir: %w", err)
	}
	for _, j := range jobs {
		warn(j, fmt.Errorf("no journal can be kept, so that nothing can be resumed (see --state-dir): %w", err))
	}
	return nil, nil
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
