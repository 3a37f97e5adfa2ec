package known

import (
	"errors"
	"time"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Types that the loader knows by name.
const (
	TokenProducer = "token-producer"
	MetricsSource = "metrics-data-source"
	MetricsReader = "core-metrics-extractor"
	ModelsSource  = "models-data-source"
	ModelsReader  = "models-data-extractor"
	OpenAIParser  = "openai-parser"
	Passthrough   = "passthrough-parser"
	FileDiscovery = "file-discovery"
)

const instead = "write it in a ZerohopConfig: "

// agentTypes returns the types that the agent or the loader acts on.
func agentTypes() []Type {
	return []Type{
		{Spec: tokenProducer(), Check: oneTokenizer, Open: []string{"estimate.image", "estimate.video", "udsTokenizerConfig"}, Idle: map[string]string{
			"modelName":          "tokens are estimated from the text",
			"vllm":               "tokens are estimated from the text",
			"udsTokenizerConfig": "tokens are estimated from the text",
			"estimate.image":     "images count as no tokens",
			"estimate.video":     "videos count as no tokens",
		}},
		{
			Spec: spec(MetricsSource, 0, append(tls("http", "/metrics"), optional(integer("port", 0, "instead of the endpoint's")))...),
			Role: Source, Carries: Pages, Idle: map[string]string{
				"scheme":             instead + "scrape.scheme",
				"path":               instead + "scrape.path",
				"insecureSkipVerify": instead + "scrape.tls.insecureSkipVerify",
				"caCertPath":         instead + "scrape.tls.caFile",
				"clientCertPath":     instead + "scrape.tls.certFile",
				"clientKeyPath":      instead + "scrape.tls.keyFile",
				"interval":           instead + "scrape.interval",
				"port":               "the port of the endpoint is scraped",
			},
		},
		{Spec: coreMetrics(), Role: Extractor, Carries: Pages},
		{Spec: spec(ModelsSource, 0, tls("http", "/v1/models")...), Role: Source, Carries: Models, Idle: map[string]string{
			"scheme":             instead + "scrape.scheme",
			"insecureSkipVerify": instead + "scrape.tls.insecureSkipVerify",
			"caCertPath":         instead + "scrape.tls.caFile",
			"clientCertPath":     instead + "scrape.tls.certFile",
			"clientKeyPath":      instead + "scrape.tls.keyFile",
		}},
		{Spec: loose(spec(ModelsReader, 0)), Role: Extractor, Carries: Models},
		{Spec: loose(spec("endpoint-notification-source", 0)), Role: Source, Carries: Endpoints},
		{Spec: spec(FileDiscovery, 0, required(text("path", "", "the endpoint file")), flag("watchFile", false, "whether the file is read again when it changes")), Role: Discovery},
	}
}

func tokenProducer() scorers.Spec {
	s := makes(spec(TokenProducer, scorers.KindProducer,
		text("modelName", "", "model of the tokenizer"),
		object("vllm", "a vLLM that renders prompts",
			text("url", "http://localhost:8000", "its address"),
			span("timeout", 5*time.Second, "for text"),
			span("mmTimeout", 30*time.Second, "for images")),
		object("estimate", "estimate from bytes", object("image", "tokens of images"), object("video", "tokens of videos")),
		deprecated(object("udsTokenizerConfig", "tokenizer behind a socket"), "write vllm"),
	), scorers.DataTokens)
	s.Aliases = []string{"tokenizer"}
	return s
}

func oneTokenizer(given plan.Params) error {
	if err := together(given, "estimate", "vllm", "udsTokenizerConfig"); err != nil {
		return err
	}
	if err := together(given, "estimate", "modelName"); err != nil {
		return err
	}
	if (given.Has("vllm") || given.Has("udsTokenizerConfig")) && !given.Has("modelName") {
		return errors.New("modelName: is missing; name the model whose tokenizer is used")
	}
	return nil
}

func coreMetrics() scorers.Spec {
	return spec(MetricsReader, 0,
		text("engineLabelKey", "llm-d.ai/engine-type", "label of endpoints that names their engine"),
		text("defaultEngine", "vllm", "engine of endpoints without that label"),
		list("engineConfigs", "metrics of engines",
			required(text("name", "", "of the engine")),
			text("queuedRequestsSpec", "", "metric of waiting requests"),
			text("runningRequestsSpec", "", "metric of running requests"),
			text("kvUsageSpec", "", "metric of the KV cache's use"),
			text("loraSpec", "", "metric of adapters"),
			text("cacheInfoSpec", "", "metric with the cache's sizes as labels"),
			text("cacheBlockSizeLabelName", "", "label of the block size"),
			text("cacheNumBlocksLabelName", "", "label of the number of blocks"),
			text("cacheBlockSizeSpec", "", "metric of the block size"),
			text("cacheNumBlocksSpec", "", "metric of the number of blocks"),
			list("customMetrics", "metrics that become attributes",
				required(text("attributeKey", "", "name of the attribute")),
				required(text("metricSpec", "", "metric, as name{label=value}"))),
		))
}

// parsers returns the parsers of requests.
func parsers() []Type {
	parser := func(typ, what string) Type { return Type{Spec: loose(spec(typ, 0)), Role: Parser, What: what} }
	return []Type{
		parser(OpenAIParser, ""),
		parser(Passthrough, ""),
		parser("anthropic-parser", "requests of the Messages API are routed by load alone"),
		parser("vllmhttp-parser", "requests of vLLM's own APIs are routed by load alone"),
		parser("sglanghttp-parser", "requests of SGLang's own APIs are routed by load alone"),
		parser("vllmgrpc-parser", "gRPC requests are routed by load alone"),
		parser("vertexai-parser", "requests of Vertex AI's APIs are routed by load alone"),
	}
}
