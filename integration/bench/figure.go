package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The layout of the figure, in pixels: panels in columns, a bar for each contestant.
const (
	panelWidth  = 470
	panelGap    = 40
	marginSide  = 20
	marginTop   = 44
	barHeight   = 13
	barStep     = 19
	nameWidth   = 150
	labelWidth  = 84
	panelHead   = 26
	panelFoot   = 22
	columns     = 2
	figureWidth = 2*marginSide + columns*panelWidth + (columns-1)*panelGap
)

// figureStyle has the colours of both themes.
const figureStyle = `<style>
svg{--back:#fff;--text:#1f2328;--dim:#59636e;--ours:#0072b2;--peer:#b6bec7;--never:#e7c9b4}
@media (prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--dim:#9198a1;--ours:#56b4e9;--peer:#4b545e;--never:#5a3a28}}
.back{fill:var(--back)}.ours{fill:var(--ours)}.peer{fill:var(--peer)}.never{fill:var(--never)}
text{font:12px system-ui,sans-serif;fill:var(--dim)}.title{font-weight:600;fill:var(--text)}.head{fill:var(--text)}.end{text-anchor:end}
.spread{stroke:var(--text);stroke-width:1}
</style>
`

// figure draws the wall times: a panel for each row with somebody to compare with.
func figure(all []outcome) string {
	var shown []outcome
	for _, o := range all {
		if r, ok := rowNamed(o.Row); ok && !r.alone && !r.equal {
			shown = append(shown, o)
		}
	}
	heights := [columns]int{}
	var body strings.Builder
	for _, o := range shown {
		c := 0
		for i := range heights {
			if heights[i] < heights[c] {
				c = i
			}
		}
		panel(&body, o, marginSide+c*(panelWidth+panelGap), marginTop+heights[c])
		heights[c] += panelHead + len(o.Results)*barStep + panelFoot
	}
	height := marginTop + max(heights[0], heights[1])
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Wall time of chunkup and of others, by the work">`+"\n", figureWidth, height) +
		figureStyle + fmt.Sprintf(`<rect class="back" width="%d" height="%d"/>`+"\n", figureWidth, height) +
		fmt.Sprintf(`<text class="head" x="%d" y="24">Seconds, median (thin line: least and most); shorter is better. † sends no checksums.</text>`+"\n", marginSide) +
		body.String() + "</svg>\n"
}

func panel(b *strings.Builder, o outcome, left, top int) {
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", left, top+12, escapeText(o.Title))
	longest := 0.0
	for _, r := range o.Results {
		if r.counts() {
			longest = max(longest, r.spread(wall).high)
		}
	}
	room := float64(panelWidth - nameWidth - labelWidth)
	at := func(v float64) float64 { return float64(left+nameWidth) + room*v/longest }
	for i, r := range o.Results {
		y := top + panelHead + i*barStep
		name := r.Name
		if r.unchecked() {
			name += " †"
		}
		fmt.Fprintf(b, `<text class="end" x="%d" y="%d">%s</text>`, left+nameWidth-8, y+11, escapeText(name))
		s := r.spread(wall)
		if !r.counts() || math.IsNaN(s.median) || longest == 0 {
			fmt.Fprintf(b, `<rect class="never" x="%d" y="%d" width="%.0f" height="%d"/><text x="%d" y="%d">%s</text>`+"\n",
				left+nameWidth, y, room, barHeight, left+nameWidth+6, y+11, "did not finish")
			continue
		}
		class := "peer"
		if r.Ours {
			class = "ours"
		}
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`, class, left+nameWidth, y, max(1, at(s.median)-at(0)), barHeight)
		fmt.Fprintf(b, `<path class="spread" d="M%.1f %.1fH%.1f"/>`, at(s.low), float64(y)+barHeight/2.0, at(s.high))
		fmt.Fprintf(b, `<text class="head" x="%.1f" y="%d">%s</text>`+"\n", at(s.high)+6, y+11, number(s.median))
	}
}

func escapeText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}
