package main

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"":                   "''",
		"plain/x-1.y:z@%+=,": "plain/x-1.y:z@%+=,",
		"a b":                "'a b'",
		"it's":               `'it'\''s'`,
		"$(rm -rf /);`x`":    "'$(rm -rf /);`x`'",
		"~":                  "'~'",
		"a\nb":               `$'a\012b'`,
		"\xff'\\":            `$'\377\'\\'`,
		"\x1b[2J":            `$'\033[2J'`,
		"ü":                  "'ü'",
		"!x":                 "'!x'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
	if got := shellLine(nil); got != "" {
		t.Errorf("no words are %q", got)
	}
}

// A shell reads back what was spelled for it, and the line is one line.
func TestShellReadsWords(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	word := rapid.Map(rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(1, 255), rapid.SampledFrom([]byte("'\\$`\"!~ \n"))), 0, 20), func(b []byte) string { return string(b) })
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(word, 1, 30).Draw(t, "words")
		line := shellLine(words)
		if strings.ContainsAny(line, "\n\r\x1b") {
			t.Fatalf("%q is not a line", line)
		}
		out, err := exec.Command(bash, "-c", `printf '%s\0' `+line).Output()
		if got := strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != got {
			t.Fatalf("%q was read as %q, %v, want %q", line, out, err, got)
		}
	})
}
