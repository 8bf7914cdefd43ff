package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.123: "0.12", 1.005: "1.00", 12.34: "12.3", 123.4: "123", math.NaN(): "–"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s", v, got)
		}
	}
	if got := (spread{2, 1, 3}).String(); got != "2.00 (1.00–3.00)" {
		t.Error(got)
	}
	if goal(0.5, 0.6) != "**0.50** (goal 0.60)" || goal(0.7, 0.6) != "0.70 (missed: goal 0.60)" || goal(0.7, 0) != "0.70" {
		t.Error("goals are told wrongly")
	}
}

func TestDetails(t *testing.T) {
	want := []string{
		"||wall, s|chunkup's ratio|CPU, s per GB|chunkup's ratio|peak, MB|requests|finished|",
		"|-|-:|-:|-:|-:|-:|-:|-:|",
		"|chunkup|1.00 (0.80–3.00)||0.25 (0.20–0.75)||30.0|10|3 of 3|",
		"|fast, but fails|0.10||0.03||30.0|10|1 of 3: failed|",
		"|never|–||–||–|–|0 of 1: did not finish|",
		"|mute †|1.50|0.67|0.38|0.67|30.0|10|1 of 1|",
		"|good|2.50 (2.00–4.00)|0.40|0.62 (0.50–1.00)|0.40|30.0|10|3 of 3|",
		"|bad|5.00|0.20|1.25|0.20|30.0|10|1 of 1|",
	}
	var got []string
	for line := range strings.Lines(details(example())) {
		var cells []string
		for _, c := range strings.Split(strings.TrimSpace(line), "|") {
			c = strings.TrimSpace(c)
			if rule := strings.Trim(c, "-"); c != "" && (rule == "" || rule == ":") {
				c = "-" + rule
			}
			cells = append(cells, c)
		}
		got = append(got, strings.Join(cells, "|"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The best peer is named, and the best with checksums where it has none.
func TestSummary(t *testing.T) {
	got := summary([]outcome{example()})
	for _, part := range []string{"**0.67** (goal 0.70) mute †, **0.40** (goal 0.70) good", "**30.0** (goal 40.0)"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in\n%s", part, got)
		}
	}
	o := example()
	o.Row, o.Link = "uplink", 0.95
	if got := summary([]outcome{o}); !strings.Contains(got, "1.05 (missed: goal 1.02) of the link's own time") {
		t.Error(got)
	}
	o.Row = "size-1g"
	if got := costs([]outcome{o}); !strings.Contains(got, "1.200") || !strings.Contains(got, "1.5000") {
		t.Error(got)
	}
}

// Memory is compared over the sizes, once both are there.
func TestFlat(t *testing.T) {
	small, large := example(), example()
	small.Row, large.Row, small.Build = "size-1g", "size-100g", "0123456"
	for i := range large.Results[0].Measurements {
		large.Results[0].Measurements[i].Peak *= 2
	}
	if got := costs([]outcome{small, large}); !strings.Contains(got, "at 100 GB it is 2.00 (missed: goal 1.10) of what it is at 1 GB.") ||
		!strings.Contains(got, "|     3 | ") || !strings.Contains(got, "Measured on 1 January 0001 (0123456), 1 January 0001.") {
		t.Error(got)
	}
	if got := costs([]outcome{small}); strings.Contains(got, "peak of memory") {
		t.Error(got)
	}
}

// The page keeps what is around the tables, and rows that were not measured again;
// the figure is XML.
func TestWriteDocs(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, pageFile)
	if err := os.WriteFile(page, []byte("before\n"+pageBegin+"\nold\n"+pageEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := example()
	other.Row, other.Title = "http", "over HTTP"
	for _, fresh := range [][]outcome{{other, example()}, {example()}} {
		if err := writeDocs(root, fresh); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"before\n" + pageBegin, pageEnd + "\nafter\n", "### over HTTP", "exit status 1: 'no'", "### 1 GiB <over TLS>", "`-row tls -n 3`"} {
		if strings.Count(string(text), part) != 1 && !strings.Contains(part, "no") {
			t.Errorf("%q is not there once", part)
		}
	}
	if strings.Contains(string(text), "old") || strings.Index(string(text), "### 1 GiB") > strings.Index(string(text), "### over") {
		t.Error("old tables, or the wrong order")
	}
	picture, err := os.Open(filepath.Join(root, figureFile))
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	drawn := xml.NewDecoder(picture)
	for {
		if _, err := drawn.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := insert("no marks", ""); err == nil {
		t.Error("a page without marks is written to")
	}
}

// Folders of the run are nobody's business.
func TestPlain(t *testing.T) {
	if got := plain("cannot read /tmp/chunkup-bench-123/home: no"); got != "cannot read … no" {
		t.Error(got)
	}
	if got := lastLine("first\nlast \r\n\n"); got != "last" || lastLine("\n") != "" {
		t.Error(got)
	}
}
