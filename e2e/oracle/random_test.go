package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// part is one plugin twice, for random policies.
type part struct {
	typ, params string
	filter      filter
	score       func(p *epp, r *request, in []*endpoint) map[string]float64
}

var parts = []part{
	{"decode-filter", "", decode, nil},
	{"by-label", "label: gpu, validValues: [h100, l4]", where(func(_ *epp, _ *request, e *endpoint) bool { return oneOf("h100 l4", e.labels["gpu"]) }), nil},
	{"endpoint-attribute-filter", "attribute: heat, onMissing: Pass, fallbackOnEmpty: true, algorithm: {type: threshold, threshold: {operator: LessThan, value: 60}}", orAll(below("heat", 60)), nil},
	{"utilization-filter", "conditions: [{metric: active-requests, maxValue: 5}, {metric: waiting-queue, maxValue: 10}, {metric: kv-cache-utilization, maxValue: 0.8}], fallbackOnEmpty: true", orAll(utilization(5, 10, .8)), nil},
	{"utilization-detector", "queueDepthThreshold: 7, kvCacheUtilThreshold: 0.75", unsaturated(7, .75), nil},
	{"concurrency-detector", "maxConcurrency: 30", concurrency(30), nil},
	{"prefix-cache-affinity-filter", "affinityThreshold: 0.6, maxTTFTPenaltyMs: 300, peakPrefillThroughput: 9000", sticky(.6, 300, 9000), nil},
	{"session-affinity-filter", "strategy: session_id", sessionFilter, nil},
	{"queue-scorer", "", nil, queue},
	{"running-requests-size-scorer", "", nil, running},
	{"kv-cache-utilization-scorer", "", nil, kv},
	{"load-aware-scorer", "threshold: 9", nil, loadAware(9)},
	{"active-request-scorer", "idleThreshold: 2, maxBusyScore: 0.5", nil, activeRequests(2, .5)},
	{"token-load-scorer", "queueThresholdTokens: 9000", nil, tokenLoad(9000)},
	{"lora-affinity-scorer", "", nil, lora},
	{"prefix-cache-scorer", "matchLengthWeight: 0.25, matchLengthScaleTokens: 700", nil, weightedPrefix(.25, 700)},
	{"no-hit-lru-scorer", "", nil, noHitLRU},
	{"session-affinity-scorer", "strategy: session_id", nil, session},
	{"header-label-affinity-scorer", "headerName: x-slice, labelKey: slice", nil, headerLabel("x-slice", "slice")},
	{"context-length-aware", "", nil, contextLength},
	{"endpoint-attribute-scorer", "attributeKey: heat, algorithm: {type: linear_lower_is_better}", nil, attributeLow("heat")},
	{"latency-scorer", "", nil, latencyComposite},
}

// randomPolicy takes some parts in any order, scorers with weights that may be 0 or below.
func randomPolicy(rnd *rand.Rand) policy {
	var p policy
	var names []string
	for _, i := range rnd.Perm(len(parts)) {
		x := &parts[i]
		if rnd.IntN(3) == 0 {
			continue
		}
		names = append(names, x.typ)
		p.plugins += "- {type: " + x.typ + ", parameters: {" + x.params + "}}\n"
		if x.filter != nil {
			p.profile += "  - {pluginRef: " + x.typ + "}\n"
			p.filters = append(p.filters, x.filter)
			continue
		}
		weight := float64(rnd.IntN(25)-4) / 4
		p.profile += fmt.Sprintf("  - {pluginRef: %s, weight: %g}\n", x.typ, weight)
		p.scorers = append(p.scorers, scorer{weight, x.score})
	}
	p.name = strings.Join(names, " ")
	return p
}

// TestRandomPolicies is TestAgreement for policies that nobody would write.
func TestRandomPolicies(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		p := randomPolicy(rnd)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Log(p.name)
			endpoints := fleet(rnd, 1+rnd.IntN(12))
			w := start(t, p.doc(), endpoints)
			refused, chosen := follow(t, w, newEPP(endpoints, p.filters, p.scorers), rnd, 300)
			t.Logf("%d refused, picks %v", refused, chosen)
		})
	}
}
