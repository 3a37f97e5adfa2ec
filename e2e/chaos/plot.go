package main

import (
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
)

// Sizes of a plot in pixels.
const (
	plotWidth  = 1100
	plotHeight = 280
	leftEdge   = 60
	rightEdge  = 24
	topEdge    = 68 // title and faults are above
	markTop    = 24
	markHeight = 10
	bottomEdge = 24
)

// colours of the curves, in order; they differ in lightness too.
var colours = []string{"#1f4e9c", "#c8501e", "#2e8b57", "#8a2f8f", "#b8860b", "#444444", "#d14a7c", "#3aa6b9"}

// curve is one line of a plot.
type curve struct {
	name   string
	points []point
}

// plot is a diagram over the time of a run.
type plot struct {
	title  string
	unit   string
	curves []curve
	top    float64 // of the vertical axis; 0 means as the points need
	faults []FaultReport
	length float64 // seconds
}

// curvesOf orders curves by name.
func curvesOf(m map[string][]point) []curve {
	all := make([]curve, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, curve{name, m[name]})
	}
	return all
}

// svg draws the plot.
func (p *plot) svg() string {
	top := p.top
	if top == 0 {
		for _, c := range p.curves {
			for _, pt := range c.points {
				top = max(top, pt.Y)
			}
		}
		top = roundUp(top)
	}
	x := func(s float64) float64 {
		return leftEdge + s/max(p.length, 1)*(plotWidth-leftEdge-rightEdge)
	}
	y := func(v float64) float64 {
		return plotHeight - bottomEdge - min(v/top, 1)*(plotHeight-topEdge-bottomEdge)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", plotWidth, plotHeight, html.EscapeString(p.title))
	p.marks(&b, x)
	p.axes(&b, x, y, top)
	for i, c := range p.curves {
		colour := colours[i%len(colours)]
		for _, part := range whole(c.points) {
			var line strings.Builder
			for _, pt := range part {
				fmt.Fprintf(&line, "%.1f,%.1f ", x(pt.X), y(pt.Y))
			}
			fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.4" points="%s"/>`+"\n", colour, strings.TrimSpace(line.String()))
		}
		fmt.Fprintf(&b, `<text x="%d" y="16" fill="%s">%s</text>`+"\n", leftEdge+330+i*190, colour, html.EscapeString(c.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// longestGap is the time between two points, in seconds, from which on no line joins them: what is between is not known.
const longestGap = 3

// whole cuts points where there are gaps.
func whole(points []point) [][]point {
	var parts [][]point
	from := 0
	for i := range points {
		if i > 0 && points[i].X-points[i-1].X > longestGap {
			parts = append(parts, points[from:i])
			from = i
		}
	}
	return append(parts, points[from:])
}

// marks draws the faults of each lane in a row above the plot, with their numbers in the table, and a line where each begins.
func (p *plot) marks(b *strings.Builder, x func(float64) float64) {
	for i, f := range p.faults {
		lane := int(ruleOf(f.Kind).lane)
		top, colour := markTop+markHeight*lane, colours[lane%len(colours)]
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" fill-opacity="0.25"><title>%d: %s %s</title></rect>`+"\n",
			x(f.Begin), top, max(1, x(f.End)-x(f.Begin)), markHeight-1, colour, i+1, f.Kind, f.Target)
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" stroke-opacity="0.4" stroke-dasharray="2 3"/>`, x(f.Begin), x(f.Begin), top, plotHeight-bottomEdge, colour)
		fmt.Fprintf(b, `<text class="mark" x="%.1f" y="%d">%d</text>`+"\n", x(f.Begin)+2, top+markHeight-2, i+1)
	}
}

// axes draws the frame, a few values and times.
func (p *plot) axes(b *strings.Builder, x, y func(float64) float64, top float64) {
	fmt.Fprintf(b, `<text x="%d" y="16" font-weight="bold">%s</text>`+"\n", leftEdge, html.EscapeString(p.title))
	for i := range 5 {
		v := top * float64(i) / 4
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.4g%s</text>`+"\n",
			leftEdge, plotWidth-rightEdge, y(v), y(v), leftEdge-4, y(v)+4, v, p.unit)
	}
	every := roundUp(max(p.length, 1) / 10)
	for t := 0.0; t <= p.length; t += every {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%g s</text>`+"\n", x(t), plotHeight-6, t)
	}
}

// roundUp returns the next of 1, 2, 5, 10 and so on.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power {
			return m * power
		}
	}
	return 10 * power
}
