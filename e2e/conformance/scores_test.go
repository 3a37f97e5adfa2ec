package conformance

import (
	"errors"
	"fmt"
	"slices"
)

// lengths are the ranges of S23 to S27.
var lengths = labelled("llm-d.ai/context-length-range", "0-100", "0-2000", "0-10000", "500-1000", "none", "x", "100-100")

func ofLength(id string, tokens int, want ...float64) row {
	return scored(id, "context-length-aware", fmt.Sprintf("context-length-aware, %d tokens", tokens), score{"", lengths, req{Tokens: tokens}, want})
}

func active(n int, params string, want []float64, counts ...int32) score {
	return score{params, inFlight(counts...), req{}, want}
}

// loraEndpoints are those of S15: loaded, room left, full and waited for, waited for with room left, full, no adapters at all.
var loraEndpoints = eps{
	{Active: []string{"M"}, MaxLoRA: 2},
	{Active: []string{"z"}, MaxLoRA: 2},
	{Active: []string{"z"}, WaitingModels: []string{"M"}, MaxLoRA: 2},
	{Active: []string{"z"}, WaitingModels: []string{"M"}, MaxLoRA: 3},
	{Active: []string{"z", "y"}, MaxLoRA: 2},
	{},
}

const (
	lower  = "attributeKey: load, algorithm: {type: linear_lower_is_better}"
	higher = "attributeKey: load, algorithm: {type: linear_higher_is_better}"
	fixed  = "attributeKey: load, algorithm: {type: linear_lower_is_better, normalization: {fixedRange: {min: 0, max: 10}}}"
)

// places are the endpoints of S32; the first is the peer's neighbour and the peer.
var places = eps{
	at("h1", "r1", "z1", "reg1"), at("h2", "r1", "z1", "reg1"), at("h2", "r2", "z1", "reg1"), at("h2", "r2", "z2", "reg1"),
	at("h2", "r2", "z2", "reg2"), at("", "r1", "", ""),
}

// at returns an endpoint with the labels of a place.
func at(host, rack, zone, region string) ep {
	e := ep{Labels: map[string]string{}}
	for key, value := range map[string]string{
		"kubernetes.io/hostname": host, "topology.kubernetes.io/rack": rack, "topology.kubernetes.io/zone": zone,
		"topology.kubernetes.io/region": region,
	} {
		if value != "" {
			e.Labels[key] = value
		}
	}
	return e
}

func scoreRows() []row {
	out := []row{
		scored("S1", "queue-scorer", "queue 10,5,0 / 5,5 / 0,0",
			score{"", waiting(10, 5, 0), req{}, []float64{0, .5, 1}},
			score{"", waiting(5, 5), req{}, []float64{1, 1}},
			score{"", waiting(0, 0), req{}, []float64{1, 1}}),
		{id: "S2", what: "queue and running requests 3,7,4", needs: []string{"queue-scorer", "running-requests-size-scorer"}, check: checkS2},
		scored("S3", "kv-cache-utilization-scorer", "kv .8,.5,0 / 1,.5",
			score{"", kvUsage(.8, .5, 0), req{}, []float64{.2, .5, 1}}, score{"", kvUsage(1, .5), req{}, []float64{0, .5}}),
		scored("S4", "kv-cache-utilization-scorer", "kv .25, 1.2, after the clamp", score{"", kvUsage(.25, 1.2), req{}, []float64{.75, 0}}),
		scored("S5", "load-aware-scorer", "load-aware, threshold 10", score{"threshold: 10", waiting(2, 0, 15), req{}, []float64{.4, .5, 0}}),
		scored("S6", "load-aware-scorer", "load-aware, threshold 128",
			score{"", waiting(0, 1, 64, 200), req{}, []float64{.5, .49609375, .25, 0}}),
		scored("S7", "active-request-scorer", "active requests, none anywhere", score{"", inFlight(0, 0, 0), req{}, []float64{1, 1, 1}}),
		scored("S8", "active-request-scorer", "active requests 3,0,6", score{"", inFlight(3, 0, 6), req{}, []float64{.5, 1, 0}}),
		scored("S9", "active-request-scorer", "active requests 4,none,1", score{"", inFlight(4, 0, 1), req{}, []float64{0, 1, .75}}),
		scored("S10", "active-request-scorer", "active requests, maxBusyScore 0", score{"maxBusyScore: 0", inFlight(1, 0), req{}, []float64{0, 1}}),
		scored("S11", "active-request-scorer", "active requests, idle up to 1, maxBusyScore .5",
			score{"idleThreshold: 1, maxBusyScore: 0.5", inFlight(1, 2, 0), req{}, []float64{1, 0, 1}}),
		scored("S12", "active-request-scorer", "active requests 3,11", score{"", inFlight(3, 11), req{}, []float64{8. / 11, 0}}),
		scored("S13", "token-load-scorer", "token load, threshold 1000",
			score{"queueThresholdTokens: 1000", booked(0, 500, 1000), req{}, []float64{1, .5, 0}}),
		scored("S14", "token-load-scorer", "token load, threshold 1000, 250 tokens of the request",
			score{"queueThresholdTokens: 1000", booked(0, 250, 750), req{Tokens: 250}, []float64{.75, .5, 0}}),
		scored("S15", "lora-affinity-scorer", "LoRA: active, room, waiting, waiting with room, full, none",
			score{"", loraEndpoints, req{Model: "M"}, []float64{1, .8, .6, .8, 0, 0}}),
	}
	return slices.Concat(out, prefixRows(), lengthRows(), attributeRows(), latencyRows())
}

func checkS2() error {
	want := []float64{1, 0, .75}
	return errors.Join(
		scored("", "queue-scorer", "", score{"", waiting(3, 7, 4), req{}, want}).check(),
		scored("", "running-requests-size-scorer", "", score{"", running(3, 7, 4), req{}, want}).check(),
	)
}

func prefixRows() []row {
	prefix := func(params string, want ...float64) []score {
		return []score{
			{params, held(64, 128, 10), req{Blocks: 128}, want},
			{params, held(0, 0), req{}, []float64{0, 0}}, // 0 of 0, and nothing known
		}
	}
	return []row{
		scored("S16", "prefix-cache-scorer", "prefix, length weight 0", prefix("", .5, 1, .078125)...),
		scored("S17", "prefix-cache-scorer", "prefix, length weight .5 of 8192 tokens", prefix("matchLengthWeight: 0.5", .375, 1, .04211425781)...),
		scored("S18", "prefix-cache-scorer", "prefix, length weight 1", prefix("matchLengthWeight: 1", .25, 1, .006103515625)...),
		scored("S19", "prefix-cache-scorer", "prefix, length weight .5 of 100 tokens, blocks of 1 token",
			score{"matchLengthWeight: 0.5, matchLengthScaleTokens: 100", held(5), req{Blocks: 10, BlockTokens: 1}, []float64{.25125}},
			score{"matchLengthWeight: 0.5, matchLengthScaleTokens: 100", held(50), req{Blocks: 100, BlockTokens: 1}, []float64{.375}}),
		{id: "S20", what: "prefix, bad parameters", needs: []string{"prefix-cache-scorer"}, check: func() error {
			return refused("prefix-cache-scorer", "matchLength", "matchLengthWeight: -0.1", "matchLengthWeight: 1.1",
				"matchLengthWeight: 0.5, matchLengthScaleTokens: 0")
		}},
	}
}

func lengthRows() []row {
	return []row{
		ofLength("S23", 0, .9951485149, .9183333333, .755, .2, .5, 0, .2727272727),
		ofLength("S24", 50, .8901485149, .9130833333, .75395, .2068965517, .5, 0, .2857142857),
		ofLength("S25", 100, .7851485149, .9078333333, .7529, .2142857143, .5, 0, 1),
		ofLength("S26", 1500, .125, .7608333333, .7235, .2, .5, 0, .125),
		ofLength("S27", 5000, .05084745763, .075, .65, .06, .5, 0, .05084745763),
		scored("S28", "context-length-aware", "ranges that cannot be parsed score 0",
			score{"", labelled("llm-d.ai/context-length-range", "0-100", "", "0-100-200", "100-50", "abc-100"), req{}, []float64{.9951485149, 0, 0, 0, 0}}),
	}
}

func attributeRows() []row {
	const typ = "endpoint-attribute-scorer"
	header := map[string]string{"x-slice": "slice-a"}
	slice := labelled("slice", "slice-a", "slice-b", "none")
	return []row{
		scored("S29", typ, "endpoint attribute, adaptive",
			score{lower, attribute(10, 5, 0), req{}, []float64{0, .5, 1}}, score{higher, attribute(10, 5, 0), req{}, []float64{1, .5, 0}}),
		scored("S30", typ, "endpoint attribute, equal and missing values",
			score{lower, attribute(7, 7), req{}, []float64{1, 1}}, score{lower, attribute(10, "-", 0), req{}, []float64{0, 0, 1}},
			score{lower, attribute("-", "-"), req{}, []float64{0, 0}}),
		scored("S31", typ, "endpoint attribute, fixed range",
			score{fixed, attribute(10, 5, 0), req{}, []float64{0, .5, 1}}, score{fixed, attribute(7, 7), req{}, []float64{.3, .3}},
			score{fixed, attribute(15, -5), req{}, []float64{0, 1}}),
		scored("S32", "topology-affinity-scorer", "nearness to the peer", score{"", places, req{Peer: "ns/ep-0"}, []float64{1, .2, .05, .02, 0, .2}}),
		scored("S34", "header-label-affinity-scorer", "label equal to a header",
			score{"headerName: x-slice, labelKey: slice", slice, req{Headers: header}, []float64{1, 0, 0}},
			score{"headerName: x-slice, labelKey: slice", slice, req{}, []float64{0, 0, 0}}),
	}
}

func latencyRows() []row {
	idle := headroom(-10, -2)
	idle.Pred.Dispatched = 0
	latency := func(id, what, params string, want []float64, e ...ep) row {
		return scored(id, "latency-scorer", "latency, "+what, score{params, e, req{}, want})
	}
	three := eps{headroom(10, 2), headroom(50, 10), headroom(30, 2)}
	return []row{
		latency("S36", "least headroom", "", []float64{1, .01, .61}, three...),
		latency("S37", "most headroom", "headroomSelectionStrategy: most", []float64{.01, 1, .41}, three...),
		latency("S38", "equal TPOT", "", []float64{1, .01, .51}, headroom(10, 2), headroom(50, 2), headroom(30, 2)),
		latency("S39", "one endpoint", "", []float64{.51}, headroom(10, 2)),
		latency("S40", "one that misses", "", []float64{1, 0, .01}, headroom(10, 2), headroom(-5, 10), headroom(30, 2)),
		latency("S41", "all miss, one idle", "", []float64{.51, 0}, idle, headroom(-5, 10)),
		latency("S42", "all miss, by what they miss", "", []float64{0, 0, 1, .01},
			headroom(-10, -2), headroom(-5, 10), headroom(5, -1), headroom(5, -3)),
		latency("S43", "one without prediction", "", []float64{.01, 1}, headroom(10, 2), ep{}),
		scored("S44", "latency-scorer", "latency, composite without predictions",
			score{"", eps{{KV: .2}, {Waiting: 10, KV: .5, Match: 5}}, req{Blocks: 10}, []float64{.6, .33}}),
	}
}
