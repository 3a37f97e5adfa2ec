// Package prefixcachescorer provides the plugin type prefix-cache-scorer: the larger the share of the prompt that an
// endpoint is believed to hold in its prefix cache, the higher it scores.
package prefixcachescorer

import (
	"errors"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "prefix-cache-scorer"

const (
	paramWeight = "matchLengthWeight"
	paramScale  = "matchLengthScaleTokens"
	paramMatch  = "prefixMatchInfoProducerName"

	defaultScale = 8192
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:    Type,
	Aliases: []string{"prefix-scorer"},
	Kinds:   scorers.KindScorer,
	Params: []scorers.Param{
		{Name: paramWeight, Default: 0.0, Min: 0, Max: 1, Doc: "share of the match length in the score; the rest is the match ratio"},
		{Name: paramScale, Default: float64(defaultScale), Doc: "tokens at which the match length counts in full; above 0 if the weight is"},
		{Name: paramMatch, Kind: plan.String, Ref: "approx-prefix-cache-producer", Doc: "name of the producer of prefix matches"},
	},
	Consumes: []scorers.Need{{Key: scorers.DataPrefixMatch, Param: paramMatch}},
	New:      newScorer,
}

type scorer struct {
	weight float64
	scale  float64 // tokens
}

func newScorer(u *scorers.Setup) (any, error) {
	s := &scorer{weight: u.Params.Float(paramWeight, 0), scale: u.Params.Float(paramScale, defaultScale)}
	if !(s.weight >= 0 && s.weight <= 1) {
		return nil, errors.New(paramWeight + ": want a number from 0 to 1")
	}
	if s.weight > 0 && !(s.scale > 0) {
		return nil, errors.New(paramScale + ": want more than 0 tokens while " + paramWeight + " is above 0")
	}
	return s, nil
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	r := &c.Request
	if r.TotalBlocks <= 0 {
		clear(out)
		return
	}
	total := float64(r.TotalBlocks)
	for i, slot := range cand {
		match := float64(r.Match[slot])
		score := match / total
		if s.weight > 0 {
			length := min(1, match*float64(r.BlockTokens)/s.scale)
			score = s.weight*length*length + (1-s.weight)*score
		}
		out[i] = score
	}
}
