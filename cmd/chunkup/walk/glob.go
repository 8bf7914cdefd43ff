package walk

import (
	"strconv"
	"unicode/utf8"
)

// glob is a pattern that was read. Matching it takes at most as many steps as the key and
// the pattern have characters, multiplied.
type glob []token

// token is a star, or what one character must be.
type token struct {
	kind kind
	char rune
	set  []span
}

type kind uint8

const (
	star   kind = iota
	exact       // char
	within      // in the set
	beyond      // not in the set; ? is not in the empty one
)

type span struct{ from, to rune }

// PatternError is a pattern that Include or Exclude refused.
type PatternError struct {
	Pattern string
	Why     string
}

// Error names the pattern, quoted.
func (e *PatternError) Error() string { return "pattern " + strconv.Quote(e.Pattern) + ": " + e.Why }

// match tells whether the glob is the whole of a key. Only the last star ever has to take
// more: what an earlier one could take instead, the later one could as well.
func (g glob) match(key string) bool {
	at, lastStar, from := 0, -1, 0
	for i := 0; i < len(key); {
		char, n := first(key[i:])
		switch {
		case at < len(g) && g[at].kind == star:
			lastStar, from = at, i
			at++
		case at < len(g) && g[at].takes(char):
			at++
			i += n
		case lastStar >= 0:
			_, n = first(key[from:])
			from += n
			at, i = lastStar+1, from
		default:
			return false
		}
	}
	for at < len(g) && g[at].kind == star {
		at++
	}
	return at == len(g)
}

// reaches tells whether a longer key that begins with a prefix could match. Once there is
// a star, anything could.
func (g glob) reaches(prefix string) bool {
	for _, t := range g {
		if prefix == "" || t.kind == star {
			return true
		}
		char, n := first(prefix)
		if !t.takes(char) {
			return false
		}
		prefix = prefix[n:]
	}
	return false
}

// covers tells whether it is certain that every key that begins with a prefix matches: a
// star at the end takes whatever comes after it.
func (g glob) covers(prefix string) bool {
	return g[len(g)-1].kind == star && g.match(prefix)
}

func (t *token) takes(char rune) bool {
	if t.kind == exact {
		return t.char == char
	}
	for _, s := range t.set {
		if s.from <= char && char <= s.to {
			return t.kind == within
		}
	}
	return t.kind == beyond
}

// first is the first character of a text that is not empty, and how many bytes it has. A
// byte that is not UTF-8 counts as one that no pattern can name.
func first(text string) (rune, int) {
	if text[0] < utf8.RuneSelf {
		return rune(text[0]), 1
	}
	char, n := utf8.DecodeRuneInString(text)
	if char == utf8.RuneError && n == 1 {
		return -1, 1
	}
	return char, n
}
