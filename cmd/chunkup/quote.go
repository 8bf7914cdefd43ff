package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord spells a word that has no newline at its end so that a POSIX shell reads
// it as it is. What cannot stand in a line of text is left to printf: $'…' is not for
// every shell.
func shellWord(word string) string {
	switch {
	case plainWord.MatchString(word):
		return word
	case show(word) != word && word != "":
		return `"$(printf '` + escaped(word) + `')"`
	}
	return quoted(word)
}

// quoted puts a word between single quotes, as it is.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// escaped spells in octal, byte by byte, what cannot be printed and what means
// something to a shell or to printf.
func escaped(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); {
		r, n := utf8.DecodeRuneInString(word[i:])
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) || strings.ContainsRune("'\"\\%!$`", r) || r == '-' && i == 0 {
			for _, c := range []byte(word[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		} else {
			b.WriteString(word[i : i+n])
		}
		i += n
	}
	return b.String()
}

// shellLine spells a command line. Of what printf prints a shell drops the newlines
// at the end: where a word has some, the line as a whole is printed, and read again.
func shellLine(words []string) string {
	spell, whole := shellWord, slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, "\n") })
	if whole {
		spell = quoted
	}
	spelled := make([]string, len(words))
	for i, w := range words {
		spelled[i] = spell(w)
	}
	line := strings.Join(spelled, " ")
	if whole {
		line = `eval "$(printf '` + escaped(line) + `')"`
	}
	return line
}
