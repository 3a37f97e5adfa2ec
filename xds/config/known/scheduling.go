package known

import (
	"errors"
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

const (
	manyClusters = "endpoints are model servers of one cluster"
	noKVEvents   = "KV events are not read"
	noImages     = "images are not looked at"
	noPredictor  = "no latency is predicted"
)

// scheduling returns filters, scorers, screeners and what reports about requests.
func scheduling() []Type {
	filter, scorer := scorers.KindFilter, scorers.KindScorer
	return []Type{
		{
			Spec: alpha(spec("multicluster-session-affinity-filter", filter, object("encodedEndpointHeaderConfig", "where the token stands", text("header", "x-session-token", "name of the header")))),
			What: manyClusters,
		},
		{Spec: alpha(loose(spec("multicluster-queue-scorer", scorer))), What: manyClusters},
		{Spec: alpha(loose(spec("multicluster-kv-cache-utilization-scorer", scorer))), What: manyClusters},
		{Spec: alpha(spec("multicluster-prefix-cache-scorer", scorer,
			producer("prefixMatchInfoProducerName", "multicluster-approx-prefix-cache-producer", "producer of the matches"),
			share("matchLengthWeight", 0, "share of the match length in the score"),
			above("matchLengthScaleTokens", 8192, "tokens at which the match length counts in full"))), What: manyClusters},
		{Spec: spec("mm-embeddings-cache-scorer", scorer, producer("producerName", "mm-embeddings-cache-producer", "producer of the matches")), What: noImages},
		{Spec: deprecatedType(makes(preciseScorer(), scorers.DataPrefixMatch), "precise-prefix-cache-producer"), What: noKVEvents, Open: []string{blockIndex, tokenizersPool}},
		{Spec: alpha(screener()), Role: Screener, What: "rollouts are not watched", Check: uniqueSelectors},
		{Spec: spec("request-attribute-reporter", 0, required(list("attributes", "what is reported; one",
			required(object("key", "where the number is written", required(text("namespace", "", "of the metadata")), required(text("name", "", "in the namespace")))),
			required(text("expression", "", "the number (CEL)")),
			text("condition", "", "when it is written (CEL)")))), What: "the numbers of responses are not reported", Check: oneAttribute},
		{Spec: loose(spec("destination-endpoint-served-verifier", 0)), What: "it is for the conformance tests of gateways"},
	}
}

func deprecatedType(s scorers.Spec, by string) scorers.Spec {
	s.DeprecatedBy = by
	return s
}

func screener() scorers.Spec {
	gating := object("revisionGating", "which revisions count",
		text("revisionLabelKey", "disaggregatedset.x-k8s.io/revision", "label of the revision"),
		text("roleLabelKey", "disaggregatedset.x-k8s.io/role", "label of the role"),
		word("mode", "sum", "how revisions are weighted", "sum", "max-role", "disabled"),
		object("requireRoles", "roles that a revision must have", texts("values", "the roles")))
	return spec("disaggregatedset-rollout-screener", 0,
		required(object("scope", "which endpoints it is about", required(text("labelSelector", "", "their labels")))),
		list("headerSelectors", "headers that choose endpoints by label",
			required(text("name", "", "of the selector")),
			required(text("headerName", "", "the header")),
			required(text("labelKey", "", "the label")),
			word("mode", "", "what happens if no endpoint fits", "strict", "prefer")),
		required(gating))
}

// uniqueSelectors checks that selectors have names and headers of their own.
func uniqueSelectors(given plan.Params) error {
	for _, field := range []string{".name", ".headerName"} {
		seen := make(map[string]bool)
		for i := range given.Len("headerSelectors") {
			at := plan.Element("headerSelectors", i) + field
			value := given.String(at, "")
			if seen[value] && value != "" {
				return errors.New(at + ": is that of another selector; give it another")
			}
			seen[value] = true
		}
	}
	return nil
}

func oneAttribute(given plan.Params) error {
	if given.Len("attributes") > 1 {
		return errors.New("attributes: has more than one element; keep one")
	}
	return nil
}

// prefixParams are the parameters of the approximate prefix index.
func prefixParams() []scorers.Param {
	return []scorers.Param{
		flag("autoTune", true, "take block size and capacity from what the engines report"),
		integer("blockSizeTokens", 16, "tokens in a block"),
		deprecated(integer("blockSize", 0, "tokens in a block"), "write blockSizeTokens"),
		whole("maxPrefixTokensToMatch", 131072, 0, "longest prefix in tokens"),
		integer("maxPrefixBlocksToMatch", 2048, "longest prefix in blocks"),
		integer("lruCapacityPerServer", 31250, "blocks that are remembered for an endpoint"),
	}
}

// The parts of the precise index's parameters that belong to other libraries.
const (
	blockIndex     = "indexerConfig.kvBlockIndexConfig"
	tokenizersPool = "indexerConfig.tokenizersPoolConfig"
)

func preciseParams(more ...scorers.Param) []scorers.Param {
	indexer := append([]scorers.Param{
		object("kvBlockIndexConfig", "where blocks are kept"),
		list("kvCacheBackendConfigs", "weights of cache tiers", required(text("name", "", "of the tier")), amount("weight", 1, "of a block there")),
	}, more...)
	return []scorers.Param{
		object("tokenProcessorConfig", "how blocks are hashed",
			whole("blockSizeTokens", 16, 0, "tokens in a block"),
			deprecated(whole("blockSize", 0, 0, "tokens in a block"), "write blockSizeTokens"),
			text("hashSeed", "", "seed of the hash"),
			word("hashAlgorithm", "cbor-fnv", "the hash", "cbor-fnv", "xxh64")),
		object("indexerConfig", "the index", indexer...),
		object("kvEventsConfig", "where events come from",
			text("topicFilter", "kv@", "prefix of topics"),
			whole("concurrency", 4, 1, "events that are handled at a time"),
			word("engineType", "vllm", "whose events they are", "vllm", "sglang"),
			text("zmqEndpoint", "", "socket for all engines"),
			flag("discoverPods", true, "whether each endpoint is subscribed to"),
			object("podDiscoveryConfig", "how endpoints are subscribed to",
				text("podLabelSelector", "llm-d.ai/inference-serving=true", "their labels"),
				text("podNamespace", "", "their namespace"),
				whole("socketPort", 5557, 1, "their port"),
				whole("replaySocketPort", 0, 0, "their port for past events; 0 for none"))),
		flag("speculativeIndexing", false, "whether picks count before events do"),
		span("speculativeTTL", 2e9, "how long they count"),
	}
}

func preciseScorer() scorers.Spec {
	return spec("precise-prefix-cache-scorer", scorers.KindScorer, preciseParams(object("tokenizersPoolConfig", "tokenizers"))...)
}

// producers returns what makes data that others read.
func producers() []Type {
	produce := scorers.KindProducer
	return []Type{
		{Spec: alpha(makes(spec("multicluster-approx-prefix-cache-producer", produce, prefixParams()...), scorers.DataPrefixMatch)), What: manyClusters},
		{
			Spec: alpha(makes(spec("burst-prefix-cache-producer", produce,
				scorers.Param{Name: "windowDurationMs", Default: 100.0, Integer: true, Min: 1, Max: 10000, Doc: "how long requests are gathered"},
				whole("maxPerReplica", -1, -1, "most requests of a group on one endpoint; -1 for no limit"),
				whole("blockSizeTokens", 64, 1, "tokens in a block"),
				whole("maxPrefixTokensToMatch", 0, 0, "longest prefix in tokens"),
				whole("minColocateBlocks", 0, 0, "shared blocks from which requests go together"),
				whole("maxBatchSize", 1000, -1, "most requests of a batch; -1 for no limit"),
				word("balanceBy", "requests", "what is spread evenly", "requests", "tokens")), scorers.DataPrefixMatch)),
			What: "requests are not held back to be gathered", Check: burst,
		},
		{Spec: makes(spec("precise-prefix-cache-producer", produce, preciseParams()...), scorers.DataPrefixMatch), Role: Extractor, Carries: Endpoints, What: noKVEvents, Open: []string{blockIndex}},
		{Spec: alpha(spec("p2p-source-producer", produce,
			producer("prefixMatchInfoProducerName", "approx-prefix-cache-producer", "producer of the matches"),
			whole("minCachedTokenDelta", 1, 1, "tokens that another endpoint must have more"),
			text("prefillProfileName", "prefill", "profile of prefill"))), What: "endpoints do not fetch blocks from each other"},
		{Spec: makes(spec("predicted-latency-producer", produce,
			above("sloBufferFactor", 1, "share of the objective that may be used"),
			above("contextTTL", 3e11, "how long a request is remembered, in nanoseconds"),
			flag("streamingMode", false, "whether the time per token is predicted"),
			text("endpointRoleLabel", "", "label of the role"),
			flag("predictInProduce", true, "whether predictions are made before the pick"),
			flag("useEncoderCacheFeatures", false, "whether images count"),
			producer("prefixMatchInfoProducerName", "approx-prefix-cache-producer", "producer of the matches"),
			producer("inFlightLoadProducerName", "inflight-load-producer", "producer of the load"),
			deprecated(amount("samplingMean", 0, ""), "it has no effect"),
			deprecated(integer("maxDecodeTokenSamplesForPrediction", 0, ""), "it has no effect")), scorers.DataLatency), What: noPredictor},
		{Spec: spec("mm-embeddings-cache-producer", produce, whole("cacheSizeInMBPerServer", 4096, 1, "size of an endpoint's cache")), Role: Extractor, Carries: Endpoints, What: noImages},
	}
}

// burst checks what the ranges of the parameters leave open.
func burst(given plan.Params) error {
	for _, name := range []string{"maxPerReplica", "maxBatchSize"} {
		if given.Float(name, 1) == 0 {
			return errors.New(name + ": must be -1 or at least 1")
		}
	}
	longest := given.Float("maxPrefixTokensToMatch", 0)
	if longest > 0 && longest < given.Float("blockSizeTokens", 64) {
		return errors.New("maxPrefixTokensToMatch: is less than one block; write at least " + "blockSizeTokens")
	}
	return nil
}

// disaggregation returns what splits a request over endpoints.
func disaggregation() []Type {
	const what = "a request goes to one endpoint from prefill to decode"
	handler := scorers.KindProfileHandler
	headers := []scorers.Param{text("prefillProfile", "prefill", "profile of prefill"), text("encodeProfile", "encode", "profile of encode")}
	return []Type{
		{Spec: spec("disagg-profile-handler", handler,
			text("stageOrder", "", "decode-first or prefill-first"),
			object("profiles", "profiles by stage", text("decode", "decode", "of decode"), text("prefill", "prefill", "of prefill"), text("encode", "encode", "of encode")),
			object("deciders", "plugins that decide by stage", text("prefill", "", "about prefill"), text("encode", "", "about encode")),
			text("decodeProfile", "", "older form of profiles.decode"), text("prefillProfile", "", "older form of profiles.prefill"), text("encodeProfile", "", "older form of profiles.encode"),
			text("prefillDeciderPluginName", "", "older form of deciders.prefill"), text("encodeDeciderPluginName", "", "older form of deciders.encode"),
			text("deciderPluginName", "", "older form of deciders.prefill")), What: what, Check: disagg},
		{Spec: deprecatedType(spec("pd-profile-handler", handler,
			text("decodeProfile", "decode", "profile of decode"), text("prefillProfile", "prefill", "profile of prefill"),
			text("deciderPluginName", "prefix-based-pd-decider", "plugin that decides"),
			integer("primaryPort", 0, "port that requests go to; 0 for the endpoint's")), "disagg-profile-handler"), What: what},
		{
			Spec: spec("data-parallel-profile-handler", handler, scorers.Param{Name: "primaryPort", Default: 8000.0, Integer: true, Min: 1, Max: 65535, Doc: "port that requests go to"}),
			What: "every rank is an endpoint of its own",
		},
		{Spec: loose(spec("always-disagg-pd-decider", 0)), Role: Decider, What: what},
		{Spec: loose(spec("always-disagg-multimodal-decider", 0)), Role: Decider, What: what},
		{Spec: spec("prefix-based-pd-decider", 0, whole("nonCachedTokens", 0, 0, "tokens from which prefill goes elsewhere; 0 for never"),
			whole("promptTokens", 0, 0, "shortest prompt that does; 0 for any")), Role: Decider, What: what},
		{Spec: deprecatedType(spec("disagg-headers-handler", 0, headers...), "disagg-profile-handler"), What: what},
		{Spec: deprecatedType(spec("prefill-header-handler", 0, headers...), "disagg-profile-handler"), What: what},
	}
}

// disagg checks that one of the two forms is used, and that the order of stages exists.
func disagg(given plan.Params) error {
	older := ""
	for _, name := range []string{"decodeProfile", "prefillProfile", "encodeProfile", "prefillDeciderPluginName", "encodeDeciderPluginName", "deciderPluginName"} {
		if given.Has(name) {
			older = name
		}
	}
	if older != "" && (given.Has("profiles") || given.Has("deciders")) {
		return errors.New(older + ": is of the older form and stands beside profiles or deciders; write it there")
	}
	switch order := given.String("stageOrder", "decode-first"); fold(order) {
	case "decodefirst", "decode":
	case "prefillfirst":
		if given.Has("deciders.prefill") {
			return errors.New("deciders.prefill: prefill decider is not supported in prefill-first stage order; remove it")
		}
	default:
		return errors.New("stageOrder: is neither decode-first nor prefill-first")
	}
	return nil
}

// fold removes what does not count in the name of an order.
func fold(s string) string {
	var out []byte
	for _, c := range []byte(s) {
		switch {
		case c == '-' || c == '_':
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// flowControl returns the policies of queues.
func flowControl() []Type {
	const what = "requests are not queued"
	none := func(typ string, role Role) Type { return Type{Spec: loose(spec(typ, 0)), Role: role, What: what} }
	ceiling := func(name string, def any, least, most float64, open bool, doc string) scorers.Param {
		return scorers.Param{Name: name, Default: def, Min: least, Max: most, MinOpen: open, Doc: doc}
	}
	lowest := ceiling("minCeiling", nil, 0, math.Nextafter(1, 0), false, "ceiling of the lowest priority")
	lowest.Required = true
	return []Type{
		none("fcfs-ordering-policy", Ordering), none("edf-ordering-policy", Ordering), none("slo-deadline-ordering-policy", Ordering),
		none("global-strict-fairness-policy", Fairness), none("round-robin-fairness-policy", Fairness),
		{Spec: spec("program-aware-fairness", 0,
			word("strategy", "las", "how programs are ranked", "las"),
			amount("evictionTtlSeconds", 3600, "how long a program is remembered; 0 for ever"),
			above("evictionSweepSeconds", 300, "time between two sweeps"),
			amount("lasWeightService", 0.8, "weight of the service received"),
			amount("lasWeightHeadWait", 0.2, "weight of the wait"),
			amount("lasHalfLifeSeconds", 60, "half-life of the service received; 0 for ever")), Role: Fairness, What: what},
		{Spec: spec("static-usage-limit-policy", 0, share("threshold", 1, "ceiling of every priority")), Role: UsageLimit, What: what},
		{Spec: alpha(spec("priority-holdback-policy", 0,
			word("shape", "linear", "of the ceilings", "linear"), word("domain", "rank", "what they follow", "rank", "value"),
			lowest, ceiling("maxCeiling", 1.0, 0, 1, true, "ceiling of the highest priority"))), Role: UsageLimit, What: what, Check: holdback},
		{Spec: alpha(spec("soft-reflective-ceiling-policy", 0)), Role: UsageLimit, What: what},
		none("sheddable-eviction-filter", 0),
		{Spec: alpha(loose(spec("priority-then-time-eviction-order-policy", 0))), What: what},
	}
}

func holdback(given plan.Params) error {
	if given.Float("minCeiling", 0) >= given.Float("maxCeiling", 1) {
		return errors.New("minCeiling: must be less than maxCeiling")
	}
	return nil
}

// dataLayer returns sources, extractors and discoveries.
func dataLayer() []Type {
	return []Type{
		{Spec: alpha(spec("multicluster-metrics-data-source", 0, append(tls("http", "/metrics"), optional(integer("port", 0, "instead of the endpoint's")))...)), Role: Source, Carries: Pages, What: manyClusters},
		{Spec: alpha(spec("multicluster-metrics-extractor", 0,
			text("kvCacheUtilizationMetric", "llm_d_epp_average_kv_cache_utilization", "metric of the KV cache's use"),
			text("queueSizeMetric", "llm_d_epp_average_queue_size", "metric of waiting requests"))), Role: Extractor, Carries: Pages, What: manyClusters},
		{Spec: alpha(spec("multicluster-file-discovery", 0, required(text("path", "", "the endpoint file")),
			flag("watchFile", false, "whether the file is read again when it changes"))), Role: Discovery, What: manyClusters},
		{Spec: alpha(spec("dcgm-data-source", 0,
			word("scheme", "http", "protocol", "http", "https"), text("path", "/metrics", "of the page"), whole("port", 9400, 1, "of the exporter"),
			flag("insecureSkipVerify", true, "whether any certificate is believed"), flag("useNodeAddress", false, "whether the node is asked"),
			span("interval", 0, "time between two reads"))), Role: Source, Carries: Pages, What: "the use of GPUs is not read"},
		{Spec: alpha(loose(spec("dcgm-extractor", 0))), Role: Extractor, Carries: Pages, What: "the use of GPUs is not read"},
		{
			Spec: spec("k8s-notification-source", 0, text("group", "", "of the objects"), required(text("version", "", "of the objects")), required(text("kind", "", "of the objects"))),
			Role: Source, Carries: Objects, What: "objects of Kubernetes are not watched",
		},
	}
}
