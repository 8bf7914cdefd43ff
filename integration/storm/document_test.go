package storm

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	document = "../../docs/resilience.md"
	figure   = "../../docs/resilience.svg"
)

// write puts the results into the documents.
func write(t *testing.T, results []Result) {
	var shown, parts []Result
	for _, r := range results {
		ours, rival := strings.HasPrefix(r.Policy, "chunkup"), slices.ContainsFunc(Rivals(), func(p Policy) bool { return p.Name == r.Policy })
		if rival || r.Policy == "chunkup" {
			shown = append(shown, r)
		}
		if ours {
			parts = append(parts, r)
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	s := between(t, string(text), "policies", Table(shown))
	s = between(t, s, "parts", Table(parts))
	if err := os.WriteFile(document, []byte(s), 0o644); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(figure, []byte(Figure(shown)), 0o644); err != nil {
		t.Error(err)
	}
}

// between replaces what stands between two marks.
func between(t *testing.T, text, mark, with string) string {
	begin, end := "<!-- "+mark+": written by integration/storm -->\n", "<!-- /"+mark+" -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no section %q", document, mark)
	}
	return before + begin + with + "\n" + end + after
}

// The documents have the marks that -update looks for.
func TestDocumentHasItsSections(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"policies", "parts"} {
		if between(t, string(text), mark, "x") == string(text) {
			t.Errorf("section %q is empty", mark)
		}
	}
}
