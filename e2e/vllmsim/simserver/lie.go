package simserver

import (
	"bytes"
	"strings"
)

// lies are numbers that no engine has, in Prometheus' text format.
var lies = []string{"NaN", "-1", "1e300", "+Inf", "0", "-Inf"}

// lieAbout replaces the load in a metrics page by a lie, another one each time.
func lieAbout(page []byte, n uint64) []byte {
	lie := lies[n%uint64(len(lies))]
	out := make([]byte, 0, len(page)+64)
	for line := range bytes.Lines(page) {
		name, _, _ := strings.Cut(string(line), "{")
		switch name {
		case "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc":
			out = append(out, line[:bytes.LastIndexByte(line, ' ')+1]...)
			out = append(append(out, lie...), '\n')
		default:
			out = append(out, line...)
		}
	}
	return out
}
