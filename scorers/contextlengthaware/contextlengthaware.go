// Package contextlengthaware provides the plugin type context-length-aware: endpoints say by a label for which prompt lengths
// they are meant, and those that fit score higher, or are the only ones left.
package contextlengthaware

import (
	"errors"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "context-length-aware"

const (
	paramLabel  = "label"
	paramFilter = "enableFiltering"

	defaultLabel = "llm-d.ai/context-length-range"
)

// The shares of the score: how narrow a fitting range is, how far the prompt is below its end, and what is left for an
// endpoint whose range does not fit.
const (
	shareWidth    = .7
	shareHeadroom = .3
	shareOutside  = .3
)

// Lengths in tokens at which a score has halved: of a range, and of the distance to one.
const (
	halfWidth    = 10000
	halfDistance = 1000
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindFilter | scorers.KindScorer,
	Params: []scorers.Param{
		{Name: paramLabel, Kind: plan.String, Default: defaultLabel, Doc: "key of the label with a range of tokens, as in 0-2000"},
		{Name: paramFilter, Kind: plan.Bool, Default: false, Doc: "drop endpoints whose range does not fit"},
	},
	Consumes: []scorers.Need{{Key: scorers.DataTokens}},
	New:      newPlugin,
}

type plugin struct {
	label     scorers.LabelID
	filtering bool
	ranges    []tokens // by slot
}

// tokens is what an endpoint's label says.
type tokens struct {
	state  state
	lo, hi int
}

type state uint8

const (
	anyLength state = iota // no label, or not known yet
	unusable
	usable
)

func newPlugin(u *scorers.Setup) (any, error) {
	label := u.Params.String(paramLabel, defaultLabel)
	if label == "" {
		return nil, errors.New(paramLabel + ": is empty; write the key of a label")
	}
	return &plugin{label: u.Label(label), filtering: u.Params.Bool(paramFilter, false)}, nil
}

// Filter implements scorers.Filter.
func (p *plugin) Filter(c *scorers.Cycle, cand []int32) []int32 {
	if !p.filtering {
		return cand
	}
	length, n := c.Request.PromptTokens, 0
	for i, s := range cand {
		r := &p.ranges[s]
		keep := r.state == anyLength || r.state == usable && r.lo <= length && length <= r.hi
		c.Pass[i] = keep
		if keep {
			n++
		}
	}
	return c.Keep(cand, n)
}

// Binding implements scorers.Rule.
func (p *plugin) Binding() bool { return p.filtering }

// Score implements scorers.Scorer.
func (p *plugin) Score(c *scorers.Cycle, cand []int32, out []float64) {
	for i, s := range cand {
		switch r := &p.ranges[s]; r.state {
		case anyLength:
			out[i] = .5
		case unusable:
			out[i] = 0
		case usable:
			out[i] = r.score(c.Request.PromptTokens)
		}
	}
}

// score rates how well the range fits a prompt of this length.
func (r *tokens) score(length int) float64 {
	lo, hi, n := float64(r.lo), float64(r.hi), float64(length)
	switch {
	case length < r.lo:
		return shareOutside / (1 + (lo-n)/halfDistance)
	case length > r.hi:
		return shareOutside / (1 + (n-hi)/halfDistance)
	case r.lo == r.hi:
		return 1
	}
	width := hi - lo
	return shareOutside + (1-shareOutside)*(shareWidth/(1+width/halfWidth)+shareHeadroom*(hi-n)/width)
}

// Grow implements scorers.SlotWatcher.
func (p *plugin) Grow(slots int) {
	if n := slots - len(p.ranges); n > 0 {
		p.ranges = append(p.ranges, make([]tokens, n)...)
	}
}

// Facts implements scorers.SlotWatcher.
func (p *plugin) Facts(slot int32, f *scorers.Facts) {
	value, presence := f.Label(p.label)
	p.ranges[slot] = tokens{}
	if presence == scorers.Present {
		p.ranges[slot] = parse(string(value))
	}
}

// Forget implements scorers.SlotWatcher.
func (p *plugin) Forget(slot int32) { p.ranges[slot] = tokens{} }

// parse reads a range of tokens.
func parse(text string) tokens {
	from, to, ok := strings.Cut(text, "-")
	lo, err1 := strconv.Atoi(scorers.TrimText(from))
	hi, err2 := strconv.Atoi(scorers.TrimText(to))
	if !ok || err1 != nil || err2 != nil || lo > hi || strings.Contains(to, "-") {
		return tokens{state: unusable}
	}
	return tokens{usable, lo, hi}
}
