package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/cmd/chunkup/walk"
)

// sourceFlags say what is uploaded besides the files that the command line names.
type sourceFlags struct {
	recursive bool
	patterns  patterns
	follow    bool
	list      string // empty: none
	null      bool
}

func (s *sourceFlags) define(set *pflag.FlagSet) {
	set.BoolVarP(&s.recursive, "recursive", "r", false, "upload what is in folders, too: DIR/a/b becomes PREFIX/a/b")
	set.Var(patternFlag{&s.patterns, false}, "include", "of the files in folders, upload those whose path below the folder is like this, even if an --exclude before it matches; repeats, and of all --include and --exclude that match the last one counts")
	set.Var(patternFlag{&s.patterns, true}, "exclude", "do not upload those; * matches slashes as well, ? one character, [a-z] one of them, [!a-z] none of them; repeats")
	set.BoolVar(&s.follow, "follow-symlinks", false, "in folders, take links for what they lead to; they are skipped, with a warning, otherwise")
	define(set, &s.list, label{"files-from", "", "", "FILE", "also upload the sources that this file names, one a line; - is standard input"}, parsePath)
	set.BoolVar(&s.null, "null", false, "they are separated by NUL bytes, as find -print0 does")
}

// choosing are the flags that say which files are uploaded. They are no business of one
// of these files.
var choosing = []string{"recursive", "include", "exclude", "follow-symlinks", "files-from", "null"}

// check refuses flags that do nothing. What a variable has set may be for another day.
func (s *sourceFlags) check(given *pflag.FlagSet) error {
	for _, name := range []string{"include", "exclude", "follow-symlinks"} {
		if given.Changed(name) && !s.recursive {
			return usagef("--%s makes no sense without -r (--recursive)", name)
		}
	}
	if given.Changed("null") && s.list == "" {
		return usagef("--null makes no sense without --files-from")
	}
	return nil
}

// patterns are those of --include and --exclude in their order, which matters. Those of
// the environment come first, so that a flag beats them.
type patterns struct {
	list      []pattern
	variables int // how many of them are from the environment
}

type pattern struct {
	text    string
	exclude bool
}

func (p pattern) addTo(f *walk.Filter) error {
	if p.exclude {
		return f.Exclude(p.text)
	}
	return f.Include(p.text)
}

// filter chooses by the patterns.
func (p *patterns) filter() (f walk.Filter, err error) {
	for _, one := range p.list {
		if err := one.addTo(&f); err != nil {
			return f, err
		}
	}
	return f, nil
}

// patternFlag is one of the two flags that share the patterns.
type patternFlag struct {
	to      *patterns
	exclude bool
}

// Set implements pflag.Value.
func (p patternFlag) Set(text string) error { return p.insert(text, len(p.to.list)) }

// setVariable implements variableValue. The flags come in the order of their names: what
// CHUNKUP_INCLUDE names is uploaded although CHUNKUP_EXCLUDE has it.
func (p patternFlag) setVariable(text string) error {
	err := p.insert(text, p.to.variables)
	if err == nil {
		p.to.variables++
	}
	return err
}

func (p patternFlag) insert(text string, at int) error {
	one := pattern{text, p.exclude}
	if err := one.addTo(&walk.Filter{}); err != nil {
		return err
	}
	p.to.list = slices.Insert(p.to.list, at, one)
	return nil
}

// String implements pflag.Value.
func (p patternFlag) String() string { return "" }

// Type implements pflag.Value.
func (p patternFlag) Type() string { return "PATTERN" }
