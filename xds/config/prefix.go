package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// The prefix plugins that the loader knows by name, since one configures the index that the other reads.
const (
	producerType = "approx-prefix-cache-producer"
	scorerType   = "prefix-cache-scorer"
)

// Parameters that stand for something else and reach no plugin.
const (
	paramProducer  = "prefixMatchInfoProducerName" // of the scorer: which producer instance it reads
	paramBlockSize = "blockSize"                   // of the producer: deprecated spelling of blockSizeTokens

	paramBlockSizeTokens = "blockSizeTokens"
)

// The EPP's values where a document has none, or none that counts.
const (
	defaultBlockSizeTokens = 16
	defaultLRUCapacity     = 31250
	unlimitedPrefixBlocks  = 131072 // 32 MiB of text in the smallest blocks: more than a request can have
)

// special says whether a parameter that its type may leave undeclared is read here.
func special(typ, name string) bool {
	return typ == scorerType && name == paramProducer || typ == producerType && name == paramBlockSize
}

// specialParams returns the parameters of a type that are read here, for the JSON Schema.
func specialParams(typ string) []scorers.Param {
	switch typ {
	case scorerType:
		return []scorers.Param{{Name: paramProducer, Kind: plan.String, Doc: "name of the producer of prefix matches"}}
	case producerType:
		return []scorers.Param{{Name: paramBlockSize, Deprecated: "write blockSizeTokens", Doc: "older form of blockSizeTokens"}}
	}
	return nil
}

// producerRef notes a reference to the producer of the prefix index, to be checked when all plugins are read.
func (l *loader) producerRef(n strictyaml.Node, spec *scorers.Spec) {
	if spec.Type == scorerType && declared(spec.Params, paramProducer) < 0 && n.Field(paramProducer).Exists() {
		l.producerRefs = append(l.producerRefs, n.Field(paramProducer))
	}
}

// deprecatedBlockSize copies blockSize to blockSizeTokens if that has its default, as the EPP does.
func (l *loader) deprecatedBlockSize(n strictyaml.Node, spec *scorers.Spec, params plan.Params) plan.Params {
	old := n.Field(paramBlockSize)
	if spec.Type != producerType || !old.Exists() {
		return params
	}
	size := old.Number()
	if size == 0 {
		return params
	}
	if params.Float(paramBlockSizeTokens, defaultBlockSizeTokens) != defaultBlockSizeTokens {
		l.warnf(old, "has no effect beside blockSizeTokens")
		return params
	}
	l.warnf(old, "is deprecated; write blockSizeTokens")
	params = slices.DeleteFunc(params, func(p plan.Param) bool { return p.Name == paramBlockSizeTokens })
	return append(params, plan.Param{Name: paramBlockSizeTokens, Num: size})
}

// prefix compiles the configuration of the prefix index from its producer, or from that type's defaults.
func (l *loader) prefix() {
	var producer *instance
	for i := range l.instances {
		in := &l.instances[i]
		if in.spec == nil || in.spec.Type != producerType {
			continue
		}
		if producer != nil {
			in.node.Problemf("is a second %s; there is one prefix index, keep %s", producerType, producer.node.Path())
			continue
		}
		producer = in
	}
	for _, ref := range l.producerRefs {
		name := ref.Text()
		ok := name == "" || name == producerType && producer == nil || producer != nil && name == producer.name
		if !ok {
			ref.Problemf("no default producer found for missing data key PrefixCacheMatchInfoDataKey/%s, consumed by %s; declare a plugin {type: %s, name: %s}",
				name, scorerType, producerType, name)
		}
	}
	if producer != nil {
		l.prefixPlan = l.prefixOf(producer.node.Field("parameters"), producer.params)
		return
	}
	var params plan.Params
	if spec, _ := l.types.lookup(producerType); spec != nil {
		params = spec.Defaults()
	}
	l.prefixPlan = l.prefixOf(strictyaml.Node{}, params)
	p := &l.prefixPlan
	l.defaulted(producerType, fmt.Sprintf("autoTune %t, blockSizeTokens %d, maxPrefixTokensToMatch %d, lruCapacityPerServer %d",
		p.AutoTune, p.BlockSizeTokens, p.MaxPrefixTokens, p.LRUCapacityPerServer), "none is declared: the prefix index has its defaults, as in the EPP")
}

// prefixOf turns the producer's parameters into the plan's.
func (l *loader) prefixOf(n strictyaml.Node, params plan.Params) plan.Prefix {
	whole := func(name string, def int) int {
		f := params.Float(name, float64(def))
		if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
			n.Field(name).Problemf("%v is not an integer of 32 bits", f)
			return def
		}
		return int(f)
	}
	p := plan.Prefix{
		AutoTune:             params.Bool("autoTune", true),
		BlockSizeTokens:      whole(paramBlockSizeTokens, defaultBlockSizeTokens),
		MaxPrefixTokens:      whole("maxPrefixTokensToMatch", 131072),
		MaxPrefixBlocks:      whole("maxPrefixBlocksToMatch", 2048),
		LRUCapacityPerServer: whole("lruCapacityPerServer", defaultLRUCapacity),
	}
	if p.BlockSizeTokens <= 0 {
		if !p.AutoTune {
			n.Field("blockSizeTokens").Problemf("must be greater than 0 when autoTune is false")
		}
		p.BlockSizeTokens = defaultBlockSizeTokens
	}
	if p.MaxPrefixTokens < 0 {
		n.Field("maxPrefixTokensToMatch").Problemf("must not be negative; 0 leaves the limit to maxPrefixBlocksToMatch")
	}
	l.negative(n, &p)
	return p
}

// negative replaces numbers below 1 by what the EPP takes them for.
func (l *loader) negative(n strictyaml.Node, p *plan.Prefix) {
	if p.MaxPrefixBlocks < 0 {
		l.warnf(n.Field("maxPrefixBlocksToMatch"), "is negative, which counts as 0: no limit")
		p.MaxPrefixBlocks = 0
	}
	if p.MaxPrefixTokens == 0 && p.MaxPrefixBlocks == 0 {
		p.MaxPrefixBlocks = unlimitedPrefixBlocks
	}
	if p.LRUCapacityPerServer < 0 {
		l.warnf(n.Field("lruCapacityPerServer"), "is negative, which counts as the default, %d", defaultLRUCapacity)
	}
	if p.LRUCapacityPerServer <= 0 {
		p.LRUCapacityPerServer = defaultLRUCapacity
	}
}
