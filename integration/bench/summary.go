package main

import (
	"fmt"
	"slices"
	"strings"
)

// summary is the table of all rows in which chunkup has somebody beside it.
func summary(all []outcome) string {
	var lines [][]string
	for _, o := range all {
		r, ok := rowNamed(o.Row)
		if !ok || r.alone {
			continue
		}
		us, ok := o.ours()
		if !ok {
			lines = append(lines, []string{o.Title, "did not finish", "", "", "", ""})
			continue
		}
		lines = append(lines, []string{o.Title, us.spread(wall).String(), against(o, wall, r.goals.wall), against(o, cpu, r.goals.cpu),
			goal(us.spread(peakMB).high, r.goals.peak), special(o, us, r.goals)})
	}
	return table([]string{"work", "chunkup, s", "wall, of the best peer's", "CPU, of the best peer's", "peak, MB", "besides"}, lines)
}

// against compares with the peer that is best in something; if that one sends no
// checksums, also with the best of those that do.
func against(o outcome, of func(measurement) float64, most float64) string {
	ratio, peer, ok := o.ratio(of, anyPeer)
	if !ok {
		return "no peer finished"
	}
	text := goal(ratio, most) + " " + peer
	if best, _ := o.best(of, anyPeer); best.unchecked() {
		text += " †"
		if ratio, peer, ok := o.ratio(of, checked); ok {
			text += ", " + goal(ratio, most) + " " + peer
		}
	}
	return text
}

// goal is a figure and whether it is what it should be; 0 is no goal.
func goal(v, most float64) string {
	switch {
	case most == 0:
		return number(v)
	case v <= most:
		return fmt.Sprintf("**%s** (goal %s)", number(v), number(most))
	}
	return fmt.Sprintf("%s (missed: goal %s)", number(v), number(most))
}

// special are the goals that only some rows have.
func special(o outcome, us result, g goals) string {
	var all []string
	if g.link > 0 {
		all = append(all, goal(us.spread(wall).median/o.Link, g.link)+" of the link's own time")
	}
	if g.requests > 0 {
		all = append(all, goal(us.spread(triesPerPiece).median, g.requests)+" requests a part")
	}
	if g.afterOutage > 0 {
		all = append(all, goal(us.spread(afterOutage).high, g.afterOutage)+" s after its end")
	}
	return strings.Join(all, ", ")
}

// costs are the tables of what chunkup takes as size, count and faults grow.
func costs(all []outcome) string {
	columns := []struct {
		head string
		cell func(result) string
	}{
		{"times", func(r result) string { return fmt.Sprint(len(r.Measurements)) }},
		{"wall, s", func(r result) string { return r.spread(wall).String() }},
		{"CPU, s per GB", func(r result) string { return r.spread(cpuPerGB).String() }},
		{"peak, MB", func(r result) string { return r.spread(peakMB).String() }},
		{"requests an object", func(r result) string { return number(r.spread(requestsPerObject).median) }},
		{"requests a part or object", func(r result) string { return fmt.Sprintf("%.3f", r.spread(triesPerPiece).median) }},
		{"bytes sent a byte stored", func(r result) string { return fmt.Sprintf("%.4f", r.spread(sentPerStored).median) }},
	}
	head := []string{"work"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	var lines [][]string
	for _, o := range all {
		r, known := rowNamed(o.Row)
		us, ok := o.ours()
		if !known || !r.alone || !ok {
			continue
		}
		cells := []string{o.Title}
		for _, c := range columns {
			cells = append(cells, c.cell(us))
		}
		lines = append(lines, cells)
	}
	if lines == nil {
		return ""
	}
	return table(head, lines) + measuredBy(all) + flat(all)
}

// measuredBy says when the rows of the costs were measured, and of which chunkup.
func measuredBy(all []outcome) string {
	var said []string
	for _, o := range all {
		if r, known := rowNamed(o.Row); !known || !r.alone {
			continue
		}
		text := o.Date.Format("2 January 2006")
		if o.Build != "" {
			text += " (" + o.Build + ")"
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return "\nMeasured on " + strings.Join(said, ", ") + ".\n"
}

// flat says how far the memory grows with the work.
func flat(all []outcome) string {
	const most = 1.1
	var said []string
	for _, p := range []struct{ large, small, text string }{
		{"size-10g", "size-1g", "at 10 GB it is %s of what it is at 1 GB"},
		{"size-100g", "size-1g", "at 100 GB it is %s of what it is at 1 GB"},
		{"count-10k", "count-1k", "for 10,000 files %s of what it is for 1,000"},
		{"count-100k", "count-1k", "for 100,000 files %s of what it is for 1,000"},
		{"count-1000k", "count-1k", "for 1,000,000 files %s of what it is for 1,000"},
	} {
		large, small := peakOf(all, p.large), peakOf(all, p.small)
		if large > 0 && small > 0 {
			said = append(said, fmt.Sprintf(p.text, goal(large/small, most)))
		}
	}
	if said == nil {
		return ""
	}
	return "\nThe peak of memory, medians: " + strings.Join(said, ", ") + ".\n"
}

// peakOf is the median of a row's peaks in MB, 0 if there is none.
func peakOf(all []outcome, row string) float64 {
	for _, o := range all {
		if us, ok := o.ours(); ok && o.Row == row {
			return us.spread(peakMB).median
		}
	}
	return 0
}

func rowNamed(name string) (row, bool) {
	for _, r := range rows() {
		if r.name == name {
			return r, true
		}
	}
	return row{}, false
}
