package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord spells a word so that a POSIX shell reads it as it is. What cannot
// stand in a line of text is spelled as $'…', which bash, zsh and ksh read.
func shellWord(word string) string {
	switch {
	case plainWord.MatchString(word):
		return word
	case show(word) != word && word != "":
		return "$'" + escaped(word) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// escaped spells what cannot be printed in octal, byte by byte.
func escaped(word string) string {
	var b strings.Builder
	for len(word) > 0 {
		r, n := utf8.DecodeRuneInString(word)
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			for _, c := range []byte(word[:n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteString(word[:n])
		}
		word = word[n:]
	}
	return b.String()
}

// shellLine spells a command line.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}
