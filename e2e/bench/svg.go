package main

import (
	"bytes"
	"fmt"
	"math"
)

const (
	panelWidth  = 420
	panelHeight = 300
	marginLeft  = 60
	marginTop   = 40
	plotBottom  = panelHeight - 50
	plotRight   = panelWidth - 20
)

var colours = map[string]string{direct: "#888888", empty: "#3b7dd8", zerohop: "#2a9d4a", epp: "#d1495b"}

// scale maps values on a logarithmic axis to pixels.
type scale struct{ low, high, from, to float64 }

func (s scale) at(v float64) float64 {
	return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
}

// plot draws CPU time per request over body size, one panel per number of connections, both axes logarithmic.
func plot(results []Result) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n",
		panelWidth*len(connections), panelHeight)
	fmt.Fprintln(&out, `<rect width="100%" height="100%" fill="white"/>`)
	high := 100.0
	for _, r := range results {
		high = math.Max(high, r.CPUus)
	}
	y := scale{10, math.Pow(10, math.Ceil(math.Log10(high))), plotBottom, marginTop}
	x := scale{300, 800_000, marginLeft, plotRight}
	for i, conns := range connections {
		fmt.Fprintf(&out, `<g transform="translate(%d 0)">`+"\n", i*panelWidth)
		fmt.Fprintf(&out, `<text x="%d" y="20" font-size="13">CPU µs per request, connections: %d</text>`+"\n", marginLeft, conns)
		axes(&out, x, y)
		for k, name := range []string{direct, empty, zerohop, epp} {
			series(&out, x, y, results, conns, name, k)
		}
		fmt.Fprintln(&out, "</g>")
	}
	fmt.Fprintln(&out, "</svg>")
	return out.Bytes()
}

func axes(out *bytes.Buffer, x, y scale) {
	for v := y.low; v <= y.high; v *= 10 {
		fmt.Fprintf(out, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			marginLeft, y.at(v), plotRight, y.at(v), marginLeft-6, y.at(v)+4, v)
	}
	for _, size := range sizes {
		px := x.at(float64(size))
		fmt.Fprintf(out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#dddddd"/><text x="%.1f" y="%d" text-anchor="middle">%g KB</text>`+"\n",
			px, marginTop, px, plotBottom, px, plotBottom+16, float64(size)/1000)
	}
}

// series draws one variant's line and its legend in row k.
func series(out *bytes.Buffer, x, y scale, results []Result, conns int, name string, k int) {
	var points bytes.Buffer
	for _, r := range results {
		if r.Variant == name && r.Conns == conns && r.CPUus > 0 {
			px, py := x.at(float64(r.SizeBytes)), y.at(math.Max(r.CPUus, y.low))
			fmt.Fprintf(&points, "%.1f,%.1f ", px, py)
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px, py, colours[name])
		}
	}
	if points.Len() == 0 {
		return
	}
	fmt.Fprintf(out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", points.String(), colours[name])
	fmt.Fprintf(out, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", marginLeft+8, marginTop+14+14*k, colours[name], name)
}
