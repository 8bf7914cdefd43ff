package main

import (
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "complete -o default", "zsh": "#compdef chunkup", "fish": "complete -c chunkup", "powershell": "Register-ArgumentCompleter",
	} {
		if r := (world{}).run(t, "completion", shell).want(t, exitOK); !strings.Contains(r.stdout, want) {
			t.Errorf("completion for %s has no %q", shell, want)
		}
	}
}

// Whatever is in an error, the user gets one line.
func TestSentence(t *testing.T) {
	if got := sentence(usagef("a\n\tb  c\r\n")); got != "a b c" {
		t.Errorf("%q", got)
	}
}
