package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/multipart/s3store"
)

// What docs/cli.md says is there, is there, and nothing else.
func TestDocumentedFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "| flags of `cp` that are there |")
	section, _, _ = strings.Cut(section, "\n\n")
	var documented, real []string
	for _, m := range regexp.MustCompile("`--([a-z0-9-]+)`").FindAllStringSubmatch(section, -1) {
		if m[1] != "dryrun" {
			documented = append(documented, m[1])
		}
	}
	_, set, _ := parse(t)
	set.VisitAll(func(f *pflag.Flag) { real = append(real, f.Name) })
	slices.Sort(documented)
	slices.Sort(real)
	if !slices.Equal(documented, real) {
		t.Errorf("docs/cli.md has\n%v, the command has\n%v", documented, real)
	}
	if providers := "(`" + strings.Join(s3store.Names(), "`, `") + "`)"; !strings.Contains(section, "`--provider` "+providers) {
		t.Errorf("docs/cli.md does not list the providers as %s", providers)
	}
}

// So it is for chunkup mint.
func TestDocumentedMintFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## `chunkup mint`\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented, real := []string{"verbose"}, []string{} // which is -v there
	for _, row := range regexp.MustCompile("(?m)^\\| (`-.*?`) \\|").FindAllStringSubmatch(section, -1) {
		for _, m := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, m[1])
		}
	}
	set := newMint(env{}).Flags()
	set.VisitAll(func(f *pflag.Flag) { real = append(real, f.Name) })
	slices.Sort(documented)
	slices.Sort(real)
	if !slices.Equal(documented, real) {
		t.Errorf("docs/cli.md has\n%v, the command has\n%v", documented, real)
	}
}
