package walk

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPatternsThatAreRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"":              "it is empty",
		"[":             "not closed",
		"[!":            "not closed",
		"[]":            "not closed",
		"[!]":           "not closed",
		"a[b":           "not closed",
		"[]b":           "not closed",
		"[a-":           "not closed",
		"[a][":          "not closed",
		"[z-a]":         "the range z-a runs backwards",
		"[!0-9b-a]":     "the range b-a runs backwards",
		"/etc/*":        "begins with a path",
		"./a":           "begins with a path",
		"../a":          "begins with a path",
		"node_modules/": "ends with a slash",
		"*/":            "ends with a slash",
		"\xff":          "not UTF-8",
	} {
		var f Filter
		for _, add := range []func(string) error{f.Include, f.Exclude} {
			refused, ok := errors.AsType[*PatternError](add(pattern))
			if !ok || refused.Pattern != pattern || !strings.Contains(refused.Why, want) {
				t.Errorf("%q: got %v, want %q in it", pattern, refused, want)
			}
		}
		if len(f.rules) != 0 {
			t.Errorf("%q was refused, and added", pattern)
		}
	}
	err := &PatternError{Pattern: "a\n[", Why: "a [ is not closed"}
	if got, want := err.Error(), `pattern "a\n[": a [ is not closed`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBackslashInAPattern(t *testing.T) {
	f := filterOf(t, `-a\b`)
	if slash := runtime.GOOS == "windows"; f.Match("a/b") == slash || f.Match(`a\b`) != slash {
		t.Errorf(`a\b: "a/b" is in %v, "a\b" is in %v`, f.Match("a/b"), f.Match(`a\b`))
	}
}

func TestGlobAgreesWithTheNaiveMatcher(t *testing.T) {
	pattern := rapid.StringMatching(`([abé*?-]|\[!?[]abé][abé-]{0,2}\]){1,8}`)
	key := rapid.StringMatching(`([abé/*?-]|\]){0,10}`)
	rapid.Check(t, func(t *rapid.T) { agree(t, pattern.Draw(t, "pattern"), key.Draw(t, "key")) })
}

// The time is bounded by the product of the lengths; the naive matcher would not finish.
func TestGlobWithManyStars(t *testing.T) {
	g, err := parseGlob(strings.Repeat("a*", 100) + "b")
	must(t, err)
	if g.match(strings.Repeat("a", 10_000)) {
		t.Error("there is no b")
	}
}

func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"*.txt", "a/b.txt"}, {"[!a-c]?", "dé"}, {"[]", "]"}, {"[[]", "["}, {"a\xff", "a\xff"}, {"?", "\xff"}, {"a**", "a"}, {"[a-z-9]", "-"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, key string) {
		if strings.Count(pattern, "*") > 4 || len(key) > 64 {
			t.Skip("the naive matcher is slow")
		}
		agree(t, pattern, key)
		g, err := parseGlob(pattern)
		if err != nil {
			return
		}
		for i := range key {
			prefix, rest := key[:i], key[i:]
			if g.covers(prefix) && !g.match(key) {
				t.Errorf("%q covers %q, but not with %q after it", pattern, prefix, rest)
			}
			if !g.reaches(prefix) && g.match(key) {
				t.Errorf("%q does not reach %q, but with %q after it", pattern, prefix, rest)
			}
		}
	})
}

func agree(t rapid.TB, pattern, key string) {
	t.Helper()
	g, err := parseGlob(pattern)
	if err != nil {
		if _, ok := errors.AsType[*PatternError](err); !ok {
			t.Fatalf("%q: %T: %v", pattern, err, err)
		}
		return
	}
	if runtime.GOOS == "windows" {
		pattern = strings.ReplaceAll(pattern, `\`, "/")
	}
	if got, want := g.match(key), naive(pattern, key); got != want {
		t.Fatalf("%q matches %q: got %v, want %v", pattern, key, got, want)
	}
}

// naive matches a well-formed pattern by the definition, trying everything, and without
// reading it into anything first.
func naive(pattern, key string) bool {
	if pattern == "" {
		return key == ""
	}
	p, rest := pattern[0], pattern[1:]
	char, n := utf8.DecodeRuneInString(key)
	if p == '*' {
		return naive(rest, key) || key != "" && naive(pattern, key[n:])
	}
	if key == "" {
		return false
	}
	if p == '?' {
		return naive(rest, key[n:])
	}
	if p == '[' {
		set, after := rest, ""
		skip := 1 + strings.Count(set[:1], "!")
		end := skip + strings.Index(set[skip:], "]")
		set, after = set[:end], set[end+1:]
		return naiveSet(set, char, n) && naive(after, key[n:])
	}
	_, m := utf8.DecodeRuneInString(pattern)
	return m == n && pattern[:m] == key[:n] && naive(pattern[m:], key[n:])
}

func naiveSet(set string, char rune, n int) bool {
	if strings.HasPrefix(set, "!") {
		return !naiveSet(set[1:], char, n)
	}
	if char == utf8.RuneError && n == 1 {
		return false
	}
	chars := []rune(set)
	for len(chars) > 0 {
		if len(chars) > 2 && chars[1] == '-' {
			if chars[0] <= char && char <= chars[2] {
				return true
			}
			chars = chars[3:]
			continue
		}
		if chars[0] == char {
			return true
		}
		chars = chars[1:]
	}
	return false
}
