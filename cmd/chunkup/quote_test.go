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
		"a\nb":               `"$(printf 'a\012b')"`,
		"-n\t%s":             `"$(printf '\055n\011\045s')"`,
		"\xff'\\":            `"$(printf '\377\047\134')"`,
		"\x1b[2J":            `"$(printf '\033[2J')"`,
		"ü":                  "'ü'",
		"!x":                 "'!x'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
	if got, want := shellLine([]string{"cp", "it's\n"}), `eval "$(printf '\047cp\047 \047it\047\134\047\047s\012\047')"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := shellLine(nil); got != "" {
		t.Errorf("no words are %q", got)
	}
}

// A shell reads back what was spelled for it, and the line is one line.
func TestShellReadsWords(t *testing.T) {
	for _, name := range []string{"sh", "dash", "bash", "zsh", "ksh"} {
		shell, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		bytes := rapid.OneOf(rapid.ByteRange(1, 255), rapid.SampledFrom([]byte("'\\$`\"!~%- \n\n\n0")))
		word := rapid.Map(rapid.SliceOfN(bytes, 0, 20), func(b []byte) string { return string(b) })
		rapid.Check(t, func(t *rapid.T) {
			words := rapid.SliceOfN(word, 1, 30).Draw(t, "words")
			if rapid.Bool().Draw(t, "newlines at an end") {
				words = append(words, "\n", "x\n\n")
			}
			line := shellLine(append([]string{"printf", `%s\0`}, words...))
			if strings.ContainsAny(line, "\n\r\x1b") {
				t.Fatalf("%q is not a line", line)
			}
			out, err := exec.Command(shell, "-c", line).Output()
			if got := strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != got {
				t.Fatalf("%s read %q as %q, %v, want %q", name, line, out, err, got)
			}
		})
	}
}
