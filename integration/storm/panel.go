package storm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// panel is one diagram: lines over the time of a scene.
type panel struct {
	scene     Scene
	left, top int
	lines     [][]float64 // by steps
	low, high float64
	log       bool
}

func (p panel) draw(b *strings.Builder) {
	s := p.scene
	begins, ends := p.x(s.begins()), p.x(s.ends())
	fmt.Fprintf(b, `<rect class="fault" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", begins, p.top, ends-begins, panelHeight)
	for _, v := range p.ticks() {
		y := p.y(v)
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fh%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			p.left, y, panelWidth, p.left-5, y+4, label(v))
	}
	p.clock(b)
	for i := len(p.lines) - 1; i >= 0; i-- { // the first on top
		p.line(b, i)
	}
}

// clock writes when the fault begins and ends, counted from its beginning, and how
// long the record is where there is room for it.
func (p panel) clock(b *strings.Builder) {
	const room = 40 // pixels
	unit, name := time.Second, " s"
	if p.scene.During >= 10*time.Minute {
		unit, name = time.Minute, " min"
	}
	begins, ends, over := p.scene.begins(), p.scene.ends(), p.scene.over()
	write := func(t time.Duration, anchor, name string) {
		text := strings.Replace(fmt.Sprint(int64((t-begins)/unit)), "-", "−", 1) + name
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`+"\n", p.x(t), p.top+panelHeight+16, anchor, text)
	}
	if p.x(begins)-p.x(0) >= room {
		write(0, "middle", "")
	}
	write(begins, "middle", "")
	write(ends, "middle", name)
	if p.x(over)-p.x(ends) >= room {
		write(over, "end", name)
	}
}

// every is at how many steps a line has a point.
const every = 2

// line draws one line.
func (p panel) line(b *strings.Builder, i int) {
	fmt.Fprintf(b, `<path class="l%d" d="`, i)
	for j := 0; j < len(p.lines[i]); j += every {
		v, command := p.lines[i][j], 'L'
		if j == 0 {
			command = 'M'
		}
		at := time.Duration(j)*p.scene.Step + p.scene.Step/2
		fmt.Fprintf(b, "%c%.1f %.1f", command, p.x(at), p.y(v))
	}
	b.WriteString("\"/>\n")
}

func (p panel) x(t time.Duration) float64 {
	return float64(p.left) + panelWidth*t.Seconds()/p.scene.over().Seconds()
}

// y places a value; what lies outside of the panel is put on its edge.
func (p panel) y(v float64) float64 {
	share := (v - p.low) / (p.high - p.low)
	if p.log {
		share = math.Log(max(v, p.low)/p.low) / math.Log(p.high/p.low)
	}
	return float64(p.top) + panelHeight*(1-min(max(share, 0), 1))
}

// ticks are the values with a grid line.
func (p panel) ticks() []float64 {
	if !p.log {
		return []float64{0, p.high / 2, p.high}
	}
	var all []float64
	for v := p.low; v <= p.high*1.01; v *= 10 {
		all = append(all, v)
	}
	return all
}

// label writes a value.
func label(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return thousands(v)
}
