package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zerohop/zerohop/scorers/plugintest"
)

func threshold(operator, more string) string {
	return "attribute: load, algorithm: {type: threshold, threshold: {operator: " + operator + ", value: 10}}" + more
}

func condition(metric, value string) string {
	return "{metric: " + metric + ", maxValue: " + value + "}"
}

func conditions(list string) string { return "conditions: [" + list + "]" }

// ttft returns an endpoint that holds so many of 20 blocks, with a predicted TTFT.
func ttft(match int32, ms float64) ep { return ep{Match: match, Pred: &plugintest.Pred{TTFT: ms}} }

func keepRows() []row {
	role := func(roles ...string) eps { return labelled("llm-d.ai/role", roles...) }
	const attr, use = "endpoint-attribute-filter", "utilization-filter"
	out := []row{
		kept("F1", "decode-filter", "roles for decoding", keep{"", role("decode", "prefill", "none", "both", "encode"), req{}, []int{0, 2, 3}}),
		kept("F2", "prefill-filter", "roles for prefilling", keep{"", role("prefill", "none", "encode-prefill", "decode"), req{}, []int{0, 2}}),
		kept("F3", use, "at most 2 active requests", keep{conditions(condition("active-requests", "2")), inFlight(1, 2, 3), req{}, []int{0, 1}}),
		kept("F4", use, "at most 1 active request, one unknown", keep{conditions(condition("active-requests", "1")), inFlight(0, 5), req{}, []int{0}}),
		kept("F5", use, "running, waiting, KV",
			keep{conditions(condition("running-requests", "4")), running(4, 5), req{}, []int{0}},
			keep{conditions(condition("waiting-queue", "0")), waiting(0, 3), req{}, []int{0}},
			keep{conditions(condition("kv-cache-utilization", "0.8")), kvUsage(.5, .9), req{}, []int{0}}),
		kept("F6", use, "running and waiting", keep{
			conditions(condition("running-requests", "40") + ", " + condition("waiting-queue", "0")),
			eps{{Running: 10}, {Running: 41}, {Running: 10, Waiting: 1}},
			req{},
			[]int{0},
		}),
		kept("F7", attr, "LessThan 10", keep{threshold("LessThan", ""), attribute(5, 10, 15), req{}, []int{0}}),
		kept("F8", attr, "LessThanOrEqual, GreaterThan, GreaterThanOrEqual 10",
			keep{threshold("LessThanOrEqual", ""), attribute(5, 10, 15), req{}, []int{0, 1}},
			keep{threshold("GreaterThan", ""), attribute(5, 10, 15), req{}, []int{2}},
			keep{threshold("GreaterThanOrEqual", ""), attribute(5, 10, 15), req{}, []int{1, 2}}),
		kept("F9", attr, "Equal, NotEqual 10",
			keep{threshold("Equal", ""), attribute(5, 10), req{}, []int{1}}, keep{threshold("NotEqual", ""), attribute(5, 10), req{}, []int{0}}),
		kept("F10", attr, "missing attribute",
			keep{threshold("LessThan", ", onMissing: Pass"), attribute(15, "-"), req{}, []int{1}},
			keep{threshold("LessThan", ", onMissing: Fail"), attribute(5, "-"), req{}, []int{0}}),
		kept("F11", attr, "none qualifies, without and with fallback",
			keep{threshold("LessThan", ""), attribute(15, 20), req{}, []int{}},
			keep{threshold("LessThan", ", fallbackOnEmpty: true"), attribute(15, 20), req{}, []int{0, 1}}),
		kept("F12", "context-length-aware", "length 0, filtering",
			keep{"enableFiltering: true", labelled("llm-d.ai/context-length-range", "0-100", "100-500", "0-2000", "none"), req{}, []int{0, 2, 3}}),
	}
	return slices.Concat(out, stickyRows(), nearRows())
}

func stickyRows() []row {
	const typ, slow = "prefix-cache-affinity-filter", "peakPrefillThroughput: 1000, maxTTFTPenaltyMs: "
	of20 := req{Blocks: 20}
	loaded := eps{{Match: 18, Tokens: 500}, {Match: 2, Tokens: 50}}
	return []row{
		kept("F13", typ, "threshold 0", keep{"affinityThreshold: 0", held(20, 0, 0), of20, []int{0, 1, 2}}),
		kept("F14", typ, "none sticky", keep{"affinityThreshold: 0.8", held(15, 10, 0), of20, []int{0, 1, 2}}),
		kept("F15", typ, "sticky, predicted penalty below the limit", keep{
			"affinityThreshold: 0.8, ttftSource: latencyPredictor, maxTTFTPenaltyMs: 5000", eps{ttft(18, 100), ttft(17, 120), ttft(2, 50)}, of20, []int{0, 1},
		}),
		kept("F16", typ, "sticky, predicted penalty above the limit", keep{
			"ttftSource: latencyPredictor, maxTTFTPenaltyMs: 100", eps{ttft(18, 500), ttft(2, 50)}, of20, []int{0, 1},
		}),
		kept("F17", typ, "sticky, penalty by throughput, limits 100, 1000, none",
			keep{slow + "100", loaded, of20, []int{0, 1}}, keep{slow + "1000", loaded, of20, []int{0}}, keep{slow + "0", loaded, of20, []int{0}}),
		kept("F18", typ, "exploration", keep{"explorationProbability: 1", held(20, 0), of20, []int{0, 1}}),
	}
}

func nearRows() []row {
	const slo, topo = "slo-headroom-tier-filter", "topology-affinity-filter"
	pos, neg := headroom(10, 5), headroom(10, -5)
	// The first endpoint is the peer, and is on its own host.
	peer := at("h1", "r1", "z1", "g1")
	near := eps{peer, at("h1", "r1", "z1", "g1"), at("h2", "r1", "z1", "g1"), at("h3", "r3", "z3", "g3")}
	of := req{Peer: "ns/ep-0"}
	return []row{
		kept("F19", slo, "positive tier, and the negative one by exploration",
			keep{"epsilonExploreNeg: 0", eps{pos, pos, neg}, req{}, []int{0, 1}}, keep{"epsilonExploreNeg: 1", eps{pos, pos, neg}, req{}, []int{2}}),
		{id: "F20", what: "no predictions, all negative, bad parameter", needs: []string{slo}, check: func() error {
			return errors.Join(
				kept("", slo, "", keep{"epsilonExploreNeg: 0", eps{{}, {}}, req{}, []int{0, 1}}, keep{"epsilonExploreNeg: 0", eps{neg, neg}, req{}, []int{0, 1}}).check(),
				refused(slo, "epsilonExploreNeg", "epsilonExploreNeg: 1.5"),
			)
		}},
		kept("F21", topo, "same host, same host or rack",
			keep{"minAffinity: host", near, of, []int{0, 1}}, keep{"minAffinity: rack", near, of, []int{0, 1, 2}}),
		kept("F22", topo, "no match, no peer",
			keep{"minAffinity: host", eps{at("", "", "", "g1"), at("h2", "", "", ""), at("h3", "", "", "")}, of, []int{0, 1, 2}},
			keep{"minAffinity: host", near, req{}, []int{0, 1, 2, 3}}),
		kept("F23", topo, "same host, and one without labels", keep{"minAffinity: host", eps{peer, near[1], {}}, of, []int{0, 1}}),
		kept("F24", "concurrency-detector", "headroom of .2 on 50", keep{"maxConcurrency: 50, headroom: 0.2", inFlight(59, 60), req{}, []int{0}}),
		kept("F25", "utilization-detector", "all saturated", keep{"", eps{{Waiting: 9}, {KV: .9}, {Waiting: 99, KV: 1}}, req{}, []int{0, 1, 2}}),
	}
}

// saturation is one case of a detector.
type saturation struct {
	params string
	eps    eps
	want   float64
}

// detected returns a row of a detector. The vectors have four digits.
func detected(id, typ, what string, cases ...saturation) row {
	return row{id: id, what: what, needs: []string{typ}, check: func() error {
		var all error
		for i, c := range cases {
			p := plugin{typ: typ, params: c.params, epp: true}
			b, err := p.bed(c.eps, req{})
			if err == nil {
				if got := b.Saturation(); !(math.Abs(got-c.want) <= 5e-5) {
					err = fmt.Errorf("saturation %v, want %v", got, c.want)
				}
			}
			all = errors.Join(all, named(cmp.Or(fmt.Sprintf("case %d", i), ""), err))
		}
		return all
	}}
}

func detectorRows() []row {
	const use, most = "utilization-detector", "concurrency-detector"
	// An endpoint is stale after three scrape intervals at least, N4.
	stale, missing := ep{AgeMs: 1000}, ep{Unscraped: true}
	q := func(waiting, kv float64) ep { return ep{Waiting: waiting, KV: kv} }
	const strict = "queueDepthThreshold: 5, kvCacheUtilThreshold: 0.9, metricsStalenessThreshold: 100ms"
	return []row{
		detected("C1", use, "utilization of one endpoint",
			saturation{"", nil, 1}, saturation{"", eps{q(0, 0)}, 0}, saturation{"", eps{q(5, 0)}, 1}, saturation{"", eps{q(2, .5)}, .625},
			saturation{"", eps{q(1, .8)}, 1}, saturation{"", eps{q(0, 1)}, 1.25}),
		detected("C2", use, "utilization of two endpoints, one of them stale",
			saturation{"", eps{q(10, .2), q(0, .4)}, 1.25}, saturation{"", eps{q(0, 0), stale}, .5}),
		detected("C3", use, "utilization, other thresholds",
			saturation{strict, eps{q(2, .5)}, .5556}, saturation{strict, eps{q(10, .1)}, 2}, saturation{strict, eps{q(1, .95)}, 1.0556},
			saturation{strict, eps{missing}, 1}, saturation{strict, eps{q(1, .1), q(0, .2)}, .2111},
			saturation{strict, eps{q(1, .1), q(15, .2)}, 1.6}, saturation{strict, eps{stale, q(20, .2), q(1, .99)}, 2.0333}),
		detected("C4", most, "concurrency",
			saturation{"maxConcurrency: 10", inFlight(0), 0}, saturation{"maxConcurrency: 10", inFlight(5), .5},
			saturation{"maxConcurrency: 10", inFlight(10), 1}, saturation{"maxConcurrency: 50", inFlight(49), .98},
			saturation{"maxConcurrency: 50", inFlight(50), 1}),
	}
}
