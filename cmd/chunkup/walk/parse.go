package walk

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// parseGlob reads a pattern. One that no key can match is refused: to pass over a filter
// in silence is to upload what was to be kept back.
func parseGlob(pattern string) (glob, error) {
	text := filepath.ToSlash(pattern)
	if why := unmatchable(text); why != "" {
		return nil, &PatternError{Pattern: pattern, Why: why}
	}
	var g glob
	for chars := []rune(text); len(chars) > 0; {
		t, n, why := parseToken(chars)
		if why != "" {
			return nil, &PatternError{Pattern: pattern, Why: why}
		}
		chars = chars[n:]
		if t.kind != star || len(g) == 0 || g[len(g)-1].kind != star {
			g = append(g, t)
		}
	}
	return g, nil
}

// unmatchable says why no key can match a pattern, if it can be seen at once.
func unmatchable(text string) string {
	switch {
	case text == "":
		return "it is empty"
	case !utf8.ValidString(text):
		return "it is not UTF-8, and keys are"
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"):
		return "it begins with a path, and keys begin under the folder that is uploaded"
	case strings.HasSuffix(text, "/"):
		return "it ends with a slash, and keys do not: for all that is in the folder, put * after it"
	}
	return ""
}

// parseToken reads the first token, and says how many characters it has.
func parseToken(chars []rune) (t token, n int, why string) {
	switch chars[0] {
	case '*':
		return token{kind: star}, 1, ""
	case '?':
		return token{kind: beyond}, 1, ""
	case '[':
		return parseSet(chars)
	}
	return token{kind: exact, char: chars[0]}, 1, ""
}

func parseSet(chars []rune) (t token, n int, why string) {
	t.kind, n = within, 1
	if len(chars) > 1 && chars[1] == '!' {
		t.kind, n = beyond, 2
	}
	if n >= len(chars) {
		return t, 0, openSet
	}
	end := slices.Index(chars[n+1:], ']') // so that a ] that comes first is in the set
	if end < 0 {
		return t, 0, openSet
	}
	for end += n + 1; n < end; n++ {
		s := span{chars[n], chars[n]}
		if n+2 < end && chars[n+1] == '-' {
			n += 2
			s.to = chars[n]
		}
		if s.to < s.from {
			return t, 0, fmt.Sprintf("the range %c-%c runs backwards", s.from, s.to)
		}
		t.set = append(t.set, s)
	}
	return t, end + 1, ""
}

const openSet = "a [ is not closed: write [[] for the character itself"
