package main

import (
	"fmt"
	"math"
	"strings"
)

// line is a measurement as it is told while the others go on.
func line(name string, m measurement) string {
	text := fmt.Sprintf("%-26s %7.2f s  CPU %6.2f s  %4.0f MB", name, m.Wall, m.CPU, peakMB(m))
	if m.Requests > 0 {
		text += fmt.Sprintf("  %d requests, %d connections", m.Requests, m.Connections)
	}
	if m.SinkCPU > 0 {
		text += fmt.Sprintf("  (the store: CPU %.2f s)", m.SinkCPU)
	}
	if m.Failed != "" {
		text += "  " + m.Failed
	}
	return text
}

// table is a table in Markdown, padded so that it can be read as it is.
func table(head []string, lines [][]string) string {
	widths := make([]int, len(head))
	for _, l := range append([][]string{head}, lines...) {
		for i, cell := range l {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	write := func(cells []string, fill string) {
		for i, cell := range cells {
			pad := strings.Repeat(fill, widths[i]-len([]rune(cell)))
			if i == 0 {
				b.WriteString("| " + cell + pad + " |")
			} else {
				b.WriteString(" " + pad + cell + " |")
			}
		}
		b.WriteString("\n")
	}
	write(head, " ")
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = strings.Repeat("-", widths[i])
		if i > 0 {
			rule[i] = strings.Repeat("-", widths[i]-1) + ":"
		}
	}
	write(rule, "-")
	for _, l := range lines {
		write(l, " ")
	}
	return b.String()
}

// number has three digits that count.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v == 0:
		return "0"
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// whole is a count, where there is one.
func whole(v float64) string {
	if math.IsNaN(v) || v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", v)
}

func (s spread) String() string {
	if s.low == s.high || math.IsNaN(s.median) {
		return number(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.median), number(s.low), number(s.high))
}

// details are all contestants of a row.
func details(o outcome) string {
	var lines [][]string
	us, compared := o.ours()
	for _, r := range o.Results {
		name := r.Name
		if r.unchecked() {
			name += " †"
		}
		n := len(r.Measurements)
		ratio := func(of func(measurement) float64) string {
			if r.Ours || !compared || !r.counts() {
				return ""
			}
			return number(us.spread(of).median / r.spread(of).median)
		}
		lines = append(lines, []string{name, r.spread(wall).String(), ratio(wall), r.spread(cpuPerGB).String(), ratio(cpu),
			number(r.spread(peakMB).high), whole(r.spread(requests).median), verdict(r, n)})
	}
	return table([]string{"", "wall, s", "chunkup's ratio", "CPU, s per GB", "chunkup's ratio", "peak, MB", "requests", "finished"}, lines)
}

// verdict says how often a contestant finished.
func verdict(r result, n int) string {
	finished := len(r.finished())
	text := fmt.Sprintf("%d of %d", finished, n)
	for _, m := range r.Measurements {
		if m.Capped {
			return text + ": did not finish"
		}
		if m.Failed != "" {
			return text + ": failed"
		}
	}
	return text
}
