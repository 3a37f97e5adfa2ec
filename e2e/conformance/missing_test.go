package conformance

import "strconv"

// missingRows are the vectors of what this version has not.
func missingRows() []row {
	out := []row{
		{id: "A1", what: "the endpoint of a second profile is recorded too", ref: "disagg-profile-handler", needs: []string{"disagg-profile-handler"}},
		{id: "B1", what: "assignment of bursts", ref: "burst-prefix-cache-producer", needs: []string{"burst-prefix-cache-producer"}},
		{id: "S33", what: "multimodal embeddings", ref: "mm-embeddings-cache-scorer", needs: []string{"mm-embeddings-cache-scorer"}},
		{id: "M1", what: "admission by priority and saturation", ref: "flow control"},
		{id: "H14", what: "chat with an image", ref: "multimodal tokens"},
		{id: "H22", what: "images/generations", ref: "openai-parser: images/generations"},
		{id: "R1", what: "parser by path", ref: "parsers beside chat completions and completions"},
		{id: "R2", what: "parser by path, no fallback", ref: "sglanghttp-parser", needs: []string{"sglanghttp-parser"}},
		{id: "R13", what: "model rewritten", ref: "InferenceModelRewrite"},
		{id: "R15", what: "rewrite where the model is missing", ref: "InferenceModelRewrite"},
		{id: "R16", what: "error of a PreRequest plugin", ref: "disagg-profile-handler", needs: []string{"disagg-profile-handler"}},
		{id: "R18", what: "fairness id", ref: "flow control"},
		{id: "R28", what: "model name in responses", ref: "InferenceModelRewrite"},
		{id: "R32", what: "video headers", ref: "multimodal tokens"},
		{id: "R33", what: "video tokens", ref: "multimodal tokens"},
		{id: "R34", what: "image tokens", ref: "multimodal tokens"},
	}
	for _, set := range []struct {
		letters    string
		from, to   int
		what, part string
		typ        string // of a plugin; "" if it is more
	}{
		{"C", 5, 11, "usage limit by priority", "flow control", ""},
		{"C", 12, 12, "reflective ceiling", "flow control", ""},
		{"C", 13, 15, "order and fairness of queues", "flow control", ""},
		{"H", 17, 18, "responses API", "openai-parser: responses", ""},
		{"H", 19, 20, "embeddings API", "openai-parser: embeddings", ""},
		{"H", 21, 21, "conversations API", "openai-parser: conversations", ""},
		{"H", 23, 25, "messages API", "anthropic-parser", "anthropic-parser"},
		{"H", 26, 30, "precise block keys", "precise-prefix-cache-producer", "precise-prefix-cache-producer"},
		{"P", 1, 5, "precise scoring", "precise-prefix-cache-producer", "precise-prefix-cache-producer"},
		{"R", 21, 27, "usage in responses", "usage", ""},
		{"R", 29, 30, "decision to prefill elsewhere", "prefix-based-pd-decider", "prefix-based-pd-decider"},
	} {
		for i := set.from; i <= set.to; i++ {
			r := row{id: set.letters + strconv.Itoa(i), what: set.what, ref: set.part}
			if set.typ != "" {
				r.needs = []string{set.typ}
			}
			out = append(out, r)
		}
	}
	for i := range out {
		out[i].status = notYet
	}
	return append(out,
		row{id: "L15", what: "the EPP's sample files", status: notApplicable, ref: "they are not in this repository; e2e/policies has own ones"},
		row{id: "R20", what: "chunks of ext_proc", status: notApplicable, ref: "there is no ext_proc"},
	)
}
