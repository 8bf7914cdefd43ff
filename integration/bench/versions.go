package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// commit is the tree's, with a + if what chunkup is built from has been changed since;
// empty outside of git.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=7", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":!docs", ":!*.md").Output()
	if err != nil || len(changed) > 0 {
		return strings.TrimSpace(string(out)) + "+"
	}
	return strings.TrimSpace(string(out))
}

// versions are the peers', in the order of their names; those of the SDK's uploaders
// are in go.mod.
func versions(ctx context.Context, peers map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		all = append(all, name+" "+cmp.Or(built(peers[name]), said(ctx, peers[name]), "of an unknown version"))
	}
	return all
}

// built is the version that Go has put into a program.
func built(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	return versionOf(info)
}

// versionOf is the module's version, or the commit.
func versionOf(info *buildinfo.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	return ""
}

// said is what a program says of its version: the first word with a figure in it, or
// what follows its name.
func said(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return ""
	}
	for word := range strings.FieldsSeq(string(out)) {
		if strings.ContainsAny(word, "0123456789") {
			return word[strings.LastIndexByte(word, '/')+1:]
		}
	}
	return ""
}
