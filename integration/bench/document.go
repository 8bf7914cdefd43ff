package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files that -write writes.
const (
	dataFile   = "docs/benchmarks.json" // what was measured, so that rows can be measured again one by one
	pageFile   = "docs/benchmarks.md"
	figureFile = "docs/benchmarks.svg"
)

// The page's lines between these are generated; what is outside stays.
const (
	pageBegin = "<!-- what follows is written by: make bench -->"
	pageEnd   = "<!-- the end of what is written by: make bench -->"
)

// writeDocs puts new outcomes among those that are there, and writes the page and the
// figure anew.
func writeDocs(root string, fresh []outcome) error {
	path := filepath.Join(root, dataFile)
	var all []outcome
	old, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(old, &all)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	all = merge(all, fresh)
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		return err
	}
	text, err := insert(string(page), generated(all))
	if err != nil {
		return fmt.Errorf("%s: %w", pageFile, err)
	}
	return errors.Join(
		os.WriteFile(path, append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(root, pageFile), []byte(text), 0o644),
		os.WriteFile(filepath.Join(root, figureFile), []byte(figure(all)), 0o644),
	)
}

// merge replaces rows that were measured again, and puts all in the order of the table.
// Rows that there are no more are dropped.
func merge(old, fresh []outcome) []outcome {
	var all []outcome
	for _, r := range rows() {
		is := func(o outcome) bool { return o.Row == r.name }
		if i := slices.IndexFunc(fresh, is); i >= 0 {
			all = append(all, fresh[i])
		} else if i := slices.IndexFunc(old, is); i >= 0 {
			all = append(all, old[i])
		}
	}
	return all
}

// insert replaces what is between the marks.
func insert(page, text string) (string, error) {
	before, rest, begins := strings.Cut(page, pageBegin)
	_, after, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		return "", errors.New("it has no place for the tables: two lines mark it")
	}
	return before + pageBegin + "\n\n" + text + "\n" + pageEnd + after, nil
}

// generated are all tables.
func generated(all []outcome) string {
	var b strings.Builder
	b.WriteString("### All work in one table\n\n" + summary(all) + "\n")
	b.WriteString("† sends bodies without a checksum.\n\n")
	if c := costs(all); c != "" {
		b.WriteString("### What it takes as the work grows\n\n" + c + "\n")
	}
	for _, o := range all {
		if r, ok := rowNamed(o.Row); ok && r.alone {
			continue
		}
		fmt.Fprintf(&b, "### %s\n\n", o.Title)
		if o.Link > 0 {
			fmt.Fprintf(&b, "The link itself needs %s s. ", number(o.Link))
		}
		if o.Note != "" {
			b.WriteString(o.Note + " ")
		}
		fmt.Fprintf(&b, "`-row %s -n %d`, %s, on %s.%s\n\n%s\n%s", o.Row, o.times(), o.Date.Format("2 January 2006"), o.Machine, o.builds(), details(o), remarks(o))
	}
	return b.String()
}

// remarks tell what those said that did not finish, and how the others did after an
// outage.
func remarks(o outcome) string {
	var b strings.Builder
	for _, r := range o.Results {
		for _, m := range r.Measurements {
			if m.Failed != "" {
				fmt.Fprintf(&b, "- %s: `%s`\n", r.Name, strings.ReplaceAll(plain(m.Failed), "`", "'"))
				break
			}
		}
		if after := r.spread(afterOutage); after.median > 0 {
			fmt.Fprintf(&b, "- %s: done %s s after the end of the outage\n", r.Name, after)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "\n"
}

// plain leaves out what is only of the run: its folders.
func plain(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if strings.Contains(w, "chunkup-bench-") {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}
