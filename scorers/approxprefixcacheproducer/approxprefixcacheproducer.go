// Package approxprefixcacheproducer declares the plugin type approx-prefix-cache-producer. It has no part in the scheduling
// cycle: its parameters configure the scheduler's prefix index (packages prefixindex and sched).
package approxprefixcacheproducer

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "approx-prefix-cache-producer"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:     Type,
	Kinds:    scorers.KindProducer,
	Produces: []scorers.DataKey{scorers.DataPrefixMatch},
	Params: []scorers.Param{
		{Name: "autoTune", Kind: plan.Bool, Default: true, Doc: "take block size and capacity from what the engines report"},
		{Name: "blockSizeTokens", Default: 16.0, Doc: "tokens in a block if the engines' size is not used; at least 64 takes effect"},
		{Name: "maxPrefixTokensToMatch", Default: 131072.0, Doc: "longest prefix that is looked at, in tokens; 0 leaves the limit to maxPrefixBlocksToMatch"},
		{Name: "maxPrefixBlocksToMatch", Default: 2048.0, Doc: "longest prefix that is looked at, in blocks, if maxPrefixTokensToMatch is 0"},
		{Name: "lruCapacityPerServer", Default: 31250.0, Doc: "blocks that are remembered for an endpoint whose capacity is not known"},
	},
	New: func(*scorers.Setup) (any, error) { return &producer{}, nil },
}

type producer struct{}
