package storm

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The layout of the figure, in pixels: a row of panels for each scene.
const (
	panelWidth  = 236
	panelHeight = 104
	gapX        = 52
	gapY        = 62
	marginLeft  = 48
	marginTop   = 96
	columns     = 4
	figureWidth = marginLeft + columns*panelWidth + (columns-1)*gapX + 16
)

// style has the colours of both themes. Lines differ in hue, lightness and dashes
// (the palette is Okabe and Ito's, for all kinds of colour vision).
const style = `<style>
svg{--back:#fff;--text:#1f2328;--dim:#59636e;--grid:#d8dee4;--fault:#f3ead8;--l0:#0072b2;--l1:#d55e00;--l2:#b98100;--l3:#009e73;--l4:#b0578d}
@media (prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--dim:#9198a1;--grid:#30363d;--fault:#2b2415;--l0:#56b4e9;--l1:#f0803c;--l2:#e6b445;--l3:#2fc79a;--l4:#d98bbb}}
.back{fill:var(--back)}.fault{fill:var(--fault)}.grid{stroke:var(--grid);stroke-width:1}
text{font:12px system-ui,sans-serif;fill:var(--dim)}.title{font-size:14px;font-weight:600;fill:var(--text)}.head{fill:var(--text)}
path{fill:none;stroke-width:1.4;stroke-linejoin:round}
.l0{stroke:var(--l0);stroke-width:2.6}.l1{stroke:var(--l1);stroke-dasharray:5 2}.l2{stroke:var(--l2);stroke-dasharray:1.5 2}.l3{stroke:var(--l3)}.l4{stroke:var(--l4);stroke-dasharray:8 2 2 2}
</style>
`

// Figure draws the results: for each scene what reaches the store, what gets done,
// and what chunkup's budget and lanes do meanwhile.
func Figure(results []Result) string {
	var b strings.Builder
	scenes := slices.CompactFunc(slices.Clone(results), func(a, b Result) bool { return a.Scene.Name == b.Scene.Name })
	height := marginTop + len(scenes)*(panelHeight+gapY)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="What reaches the store and what gets done, before, in and after five faults">`+"\n",
		figureWidth, height)
	b.WriteString(style)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d"/>`+"\n", figureWidth, height)
	legend(&b, results)
	for i, first := range scenes {
		var of []Result
		for _, r := range results {
			if r.Scene.Name == first.Scene.Name {
				of = append(of, r)
			}
		}
		sceneRow(&b, of, marginTop+i*(panelHeight+gapY))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// legend names the lines and the columns.
func legend(b *strings.Builder, results []Result) {
	x := marginLeft
	for i, r := range results {
		if r.Scene.Name != results[0].Scene.Name {
			break
		}
		fmt.Fprintf(b, `<path class="l%d" d="M%d 22h34"/><text class="head" x="%d" y="26">%s</text>`+"\n", i, x, x+40, r.Policy)
		x += 64 + 8*len(r.Policy)
	}
	fmt.Fprintf(b, `<rect class="fault" x="%d" y="14" width="34" height="16"/><text class="head" x="%d" y="26">fault</text>`+"\n", x, x+40)
	for i, head := range []string{"attempts a second (log scale)", "parts done a second (uplink: log scale)", "chunkup: budget, % of capacity", "chunkup: lanes of a process"} {
		fmt.Fprintf(b, `<text class="head" x="%d" y="58">%s</text>`+"\n", marginLeft+i*(panelWidth+gapX), head)
	}
}

// sceneRow draws the four panels of a scene.
func sceneRow(b *strings.Builder, of []Result, top int) {
	s := of[0].Scene
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", marginLeft, top-8, s.Name)
	step := s.Step.Seconds()
	var offered, done [][]float64
	for _, r := range of {
		offered = append(offered, scaled(smooth(r.Mean.Attempts), 1/step))
		done = append(done, scaled(smooth(r.Mean.Done), 1/step))
	}
	ours := of[0].Mean
	decade := math.Ceil(math.Log10(highest(offered)))
	panels := []panel{
		{lines: offered, low: math.Pow(10, decade-4), high: math.Pow(10, decade), log: true},
		goodput(s, done),
		{lines: [][]float64{scaled(ours.Budget, 100)}, high: 100},
		{lines: [][]float64{ours.Lanes}, high: float64(s.Slots)},
	}
	for i, p := range panels {
		p.scene, p.left, p.top = s, marginLeft+i*(panelWidth+gapX), top
		p.draw(b)
	}
}

// goodput is the panel of what gets done. On a thin pipe that is little, and worth
// seeing.
func goodput(s Scene, done [][]float64) panel {
	if s.Uplink == nil {
		return panel{lines: done, high: nice(highest(done))}
	}
	return panel{lines: done, low: 0.01, high: 100, log: true}
}

// smooth takes the mean of three steps: single parts make a line hard to read.
func smooth(series []float64) []float64 {
	out := make([]float64, len(series))
	for i := range series {
		near := series[max(i-1, 0):min(i+2, len(series))]
		for _, v := range near {
			out[i] += v / float64(len(near))
		}
	}
	return out
}

func scaled(series []float64, by float64) []float64 {
	out := make([]float64, len(series))
	for i, v := range series {
		out[i] = v * by
	}
	return out
}

func highest(lines [][]float64) float64 {
	most := 0.0
	for _, l := range lines {
		most = max(most, slices.Max(l))
	}
	return most
}

// nice rounds up to 1, 2 or 5 times a power of ten.
func nice(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*decade*1.02 {
			return m * decade
		}
	}
	return 10 * decade
}
