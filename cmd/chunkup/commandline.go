package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/multipart/journal"
)

// resumeCommand is the command line that goes on with one job from any folder:
// its source, its key, and every flag that was set. What a command after -- was told
// is left out: a stream does not go on, and it may be a password.
func (s *session) resumeCommand(j job) []string {
	source := j.source
	if !j.stream {
		source = fromAnywhere(source)
	}
	s.spell.Do(func() { s.words = slices.Concat(spelled(s.flags.given, j.scheme, j.stream), s.connection.found) })
	return append([]string{"chunkup", "cp", source, j.address}, s.words...)
}

// fromAnywhere is a path that leads to the same file from any folder. One with ".." in it
// is not made shorter: "link/.." is not here where link is a link.
func fromAnywhere(path string) string {
	if os.PathSeparator != '/' || !slices.Contains(strings.Split(path, "/"), "..") {
		return absolute(path)
	}
	here, err := os.Getwd()
	if err != nil || filepath.IsAbs(path) {
		return path
	}
	return strings.TrimSuffix(here, "/") + "/" + path
}

// spelled are the flags that were set, as words of a command line. Those that a
// variable has set and that make no sense for the destination or the source are left
// out, and so are secrets; a path from here is made absolute.
func spelled(set *pflag.FlagSet, scheme string, stream bool) []string {
	var words []string
	service := set.Lookup(mintURL)
	mute := senseless(scheme, service != nil && service.Value.String() != "")
	set.VisitAll(func(f *pflag.Flag) {
		switch {
		case !isSet(f), isSecret(f), f.Name == "dry-run", f.Name == "expected-size" && !stream, slices.Contains(mute, f.Name), slices.Contains(choosing, f.Name):
		case f.Value.Type() == "k=v":
			for _, p := range f.Value.(*pairs).list {
				words = append(words, "--"+f.Name, p[0]+"="+p[1])
			}
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			words = append(words, "--"+f.Name)
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		case f.Value.Type() == "FILE", f.Value.Type() == "DIR":
			words = append(words, "--"+f.Name, fromAnywhere(f.Value.String()))
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	return words
}

// isSet tells a flag that was given, or set from the environment.
func isSet(f *pflag.Flag) bool { return f.Changed || f.Annotations[setByVariable] != nil }

// storeWords are those of a cp command line that say which store, how to speak to
// it, and where its journal is.
func storeWords(command []string) []string {
	if !isCp(command) {
		return nil
	}
	f := &cpFlags{}
	set, abort := pflag.NewFlagSet("cp", pflag.ContinueOnError), pflag.NewFlagSet("abort", pflag.ContinueOnError)
	f.groups(set)
	for _, flag := range append(slices.Sorted(maps.Keys(askingStore)), mintURL, "state-dir") {
		abort.AddFlag(set.Lookup(flag))
	}
	if set.Parse(command[2:]) != nil {
		return nil // it is of another version
	}
	scheme, _, _ := strings.Cut(command[3], "://")
	return spelled(abort, scheme, false)
}

// abortCommand is the command line that drops an upload at the store.
func abortCommand(address, id string, store []string) []string {
	return slices.Concat([]string{"chunkup", "uploads", "abort", address, "--upload-id", id}, store)
}

// hints are command lines for after a failure.
type hints struct{ resume, abort []string } // nil: there is none

// lines are how people are told.
func (h hints) lines() []string {
	var lines []string
	if h.resume != nil {
		lines = append(lines, "resume: "+shellLine(h.resume))
	}
	if h.abort != nil {
		lines = append(lines, "abort:  "+shellLine(h.abort))
	}
	if serviceOf(h.resume) != "" || serviceOf(h.abort) != "" {
		lines = append(lines, "header: a --mint-header is printed and kept nowhere: set "+variable("mint-header")+" to it before")
	}
	return lines
}

// serviceOf is the address of the minting service in a command line; empty if it has
// none.
func serviceOf(command []string) string {
	i := slices.Index(command, "--"+mintURL)
	if i < 0 || i+1 == len(command) {
		return ""
	}
	return command[i+1]
}

// addressOf is how the user has written a journal's destination.
func addressOf(r journal.Record) string { return destinationOf(r).address(r.Key) }

func destinationOf(r journal.Record) destination {
	d := destination{scheme: schemeS3, bucket: r.Bucket, key: r.Key}
	if isSandbox(r.Endpoint) {
		d.scheme = schemeSandbox
	}
	return d
}

// abortOf is the command line that drops a journal's upload; nil if there is no
// upload. Its key may be another than was asked for.
func abortOf(r journal.Record) []string {
	if r.UploadID == "" {
		return nil
	}
	return abortCommand(destinationOf(r).address(r.KeyOf(r.UploadID)), r.UploadID, storeWords(r.Command))
}
