package walk

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFilterMatch(t *testing.T) {
	for _, c := range []struct {
		patterns string // separated by spaces: "-" excludes, "+" includes
		in, out  string // keys, separated by spaces
	}{
		{"", "a a/b .hidden", ""},
		{"+*.txt", "a a.txt", ""}, // everything is in at first
		{"-*.txt", "a txt .txt/a", "a.txt .txt a/b/c.txt"},
		{"-* +*.txt", "a.txt a/b/c.txt", "a a.txt.gz a.TXT"},
		{"+*.txt -*", "", "a a.txt"}, // later ones win
		{"-* +*.txt -a/*", "a.txt b/a.txt", "a/a.txt a/b/a.txt b"},
		{"-*.git/* +.git/config", ".gitignore .git/config", ".git/HEAD sub/.git/config x.git/y"},
		{"-a", "a/b aa", "a"},
		{"-a?c", "ac a?", "abc a/c aéc a😀c a\xffc"},
		{"-[ab]x", "cx x abx", "ax bx"},
		{"-[!ab]x", "ax bx", "cx éx /x \xffx"},
		{"-[a-cx]", "d - w", "a b c x"},
		{"-[]a]", "b", "] a"},
		{"-[!]a]", "] a", "b ["},
		{"-[a-]", "b", "a -"},
		{"-[-a]", "b", "a -"},
		{"-[*]", "a **", "*"},
		{"-[[]*", "a[", "[ [a"},
		{"-[?]", "a", "?"},
		{"-[é-ë]", "e f é́", "é ê ë"},
		{"-a^b", "ab", "a^b"},
		{"-[^a]", "b", "^ a"}, // only ! turns a set round
		{"-]", "a", "]"},
		{"-!a", "a", "!a"},
		{"-\uFFFD", "\xff", "\uFFFD"}, // a byte that is no character is not that one
		{"-**/x", "x", "a/x a/b/x /x"},
		{"-a**b", "a", "ab a/b axxb"},
		{"-*a*b*c*", "abd bac ab", "abc xaxbxcx a/b/c aabbcc"},
		{"-*??xb", "😀xb", "a😀xb abxb"}, // a star takes whole characters
		{"-*ab", "aba abx", "ab aab abab a/ab"},
	} {
		f := filterOf(t, strings.Fields(c.patterns)...)
		for _, key := range strings.Fields(c.in) {
			if !f.Match(key) {
				t.Errorf("%q leaves out %q", c.patterns, key)
			}
		}
		for _, key := range strings.Fields(c.out) {
			if f.Match(key) {
				t.Errorf("%q lets in %q", c.patterns, key)
			}
		}
	}
}

// Both ways: what must be pruned, and what must not.
func TestFilterMisses(t *testing.T) {
	for _, c := range []struct{ patterns, missed, kept string }{
		{"", "", "a/"},
		{"-*", "a/ a/b/", ""},
		{"-a/*", "a/ a/b/", "b/ aa/ b/a/"},
		{"-*/node_modules/*", "a/node_modules/ a/node_modules/b/", "node_modules/ a/"},
		{"-*node_modules/*", "node_modules/ a/node_modules/", "a/"},
		{"-a", "", "a/"},
		{"-a/?*", "a/b/", "a/"}, // it could be missed too, but need not be
		{"-* +b/*", "a/ bb/ a/b/", "b/ b/c/"},
		{"-* +*.txt", "", "a/ b/"},
		{"-* +a/b/c.txt", "b/ a/c/ a/b/c.txt/ a/b/c/", "a/ a/b/"},
		{"-* +[ab]?/x*", "c/ aa/b/ a/b/", "aa/ b0/ aa/x/ a/"},
		{"-* +a/* -a/b/*", "a/b/ b/", "a/"},
		{"-* +a/* -a/*.txt", "b/", "a/ a/x.txt/"},
		{"-a/* +*", "", "a/"},
	} {
		f := filterOf(t, strings.Fields(c.patterns)...)
		for _, prefix := range strings.Fields(c.missed) {
			if !f.misses(prefix) {
				t.Errorf("%q would read %q", c.patterns, prefix)
			}
		}
		for _, prefix := range strings.Fields(c.kept) {
			if f.misses(prefix) {
				t.Errorf("%q would not read %q", c.patterns, prefix)
			}
		}
	}
}

// What is missed is missed rightly: no key under it matches.
func TestFilterMissesNothingThatMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t)
		prefix := rapid.StringMatching(`[ab]{1,2}/([ab]/)?`).Draw(t, "prefix")
		key := prefix + rapid.StringMatching(`[ab/]{0,3}[ab]`).Draw(t, "rest")
		if f.misses(prefix) && f.Match(key) {
			t.Fatalf("%q is missed, and %q matches", prefix, key)
		}
	})
}

func drawFilter(t *rapid.T) Filter {
	var f Filter
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		add := f.Exclude
		if rapid.Bool().Draw(t, "include") {
			add = f.Include
		}
		if err := add(rapid.StringMatching(`([ab*?]|\[ab\]|\[!a\])([ab/*?]|\[!a\]){0,4}[ab*?]`).Draw(t, "pattern")); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// A walk that prunes yields what one that looks everywhere does.
func TestWalkFiltersAsMatchDoes(t *testing.T) {
	var keys []string
	for _, a := range []string{"a", "b", "ab"} {
		for _, b := range []string{"a", "b", "ba"} {
			keys = append(keys, a+"/"+b+"/a", a+"/"+b+"/b")
		}
		keys = append(keys, a+"/aa", a+a+a)
	}
	root := plant(t, t.TempDir(), keys...)
	slices.Sort(keys)
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFilter(rt)
		var want []string
		for _, key := range keys {
			if f.Match(key) {
				want = append(want, key)
			}
		}
		if got := seen(t, root, Options{Filter: f, FollowSymlinks: rapid.Bool().Draw(rt, "follow")}); !slices.Equal(got, want) {
			rt.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestWalkDoesNotTouchFoldersThatAreOut(t *testing.T) {
	root := plant(t, t.TempDir(), "a", "node_modules/x", "z/node_modules/y")
	f := filterOf(t, "-*node_modules/*")
	var got []string
	w := walker{ctx: t.Context(), filter: f, yield: func(file File, err error) bool {
		got = append(got, line(t, root, file, err))
		return true
	}}
	names, err := w.names(&folder{path: root})
	if want := []string{"a", "z/"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the walk would visit %q (%v), want %q", names, err, want)
	}
	// One that was a file when its folder was read is not entered either.
	must(t, os.RemoveAll(filepath.Join(root, "node_modules")))
	if !w.enter(&folder{path: filepath.Join(root, "node_modules"), prefix: "node_modules/"}) || got != nil {
		t.Errorf("it was looked for: %q", got)
	}
}

// A link is a file or a folder to the filter, whichever it leads to.
func TestWalkFiltersLinks(t *testing.T) {
	other := plant(t, t.TempDir(), "x.txt", "y")
	root := plant(t, t.TempDir(), "file->"+other+"/y", "folder->"+other, "nowhere->missing")
	for _, c := range []struct {
		patterns       string
		passed, follow []string
	}{
		{"-* +folder/*", []string{"skip: folder"}, []string{"folder/x.txt", "folder/y"}},
		{"-* +*.txt", []string{"skip: folder"}, []string{"folder/x.txt"}},
		{"-* +f*/y", []string{"skip: folder"}, []string{"folder/y"}},
		{"-* +file", []string{"skip: file"}, []string{"file"}},
		{"-* +n*", []string{"skip: nowhere"}, []string{"skip: nowhere"}},
		{"-folder/*", []string{"skip: file", "skip: folder", "skip: nowhere"}, []string{"file", "skip: nowhere"}},
		{"-*/*", []string{"skip: file", "skip: folder", "skip: nowhere"}, []string{"file", "skip: nowhere"}},
		{"-folder*", []string{"skip: file", "skip: nowhere"}, []string{"file", "skip: nowhere"}},
	} {
		f := filterOf(t, strings.Fields(c.patterns)...)
		if got := seen(t, root, Options{Filter: f}); !slices.Equal(got, c.passed) {
			t.Errorf("%q, not followed: got %q, want %q", c.patterns, got, c.passed)
		}
		if got := seen(t, root, Options{Filter: f, FollowSymlinks: true}); !slices.Equal(got, c.follow) {
			t.Errorf("%q, followed: got %q, want %q", c.patterns, got, c.follow)
		}
	}
	w := walker{ctx: t.Context(), filter: filterOf(t, "-folder/*"), follow: true}
	if names, err := w.names(&folder{path: root}); err != nil || !slices.Equal(names, []string{"file", "nowhere"}) {
		t.Errorf("the walk would visit %q (%v)", names, err)
	}
}

func TestFilterCopiesDoNotShare(t *testing.T) {
	base := filterOf(t, "-a", "-b", "-c")
	one, two := base, base
	must(t, one.Exclude("x"))
	must(t, two.Exclude("y"))
	if one.Match("x") || !one.Match("y") || two.Match("y") || !two.Match("x") || !base.Match("x") {
		t.Error("the copies share what was added to one")
	}
}
