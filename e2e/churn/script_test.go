package churn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/e2e/harness"
)

// configuration returns the configuration of edit i. One in five is wrong, and wrong then names what its error must say.
func configuration(i int) (doc, wrong string) {
	modes := [...]string{"header", "filter_state", "list"}
	failures := [...]string{"FailClose", "FailOpen"}
	mode, plugin := modes[i%len(modes)], "prefix-cache-scorer"
	extra := ""
	if i%5 == 4 {
		switch i / 5 % 4 {
		case 0:
			mode, wrong = "teleport", "teleport"
		case 1:
			plugin, wrong = "prefix-cash-scorer", "prefix-cash-scorer"
		case 2:
			extra, wrong = "bogus: 1\n", "bogus"
		case 3:
			extra, wrong = "drainTimeout: soon\n", "soon"
		}
	}
	// The weight changes the plan and hardly the policy, so that hit rates can be compared.
	return fmt.Sprintf(`apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: %s
schedulingProfiles:
- name: %s
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: %s, weight: %g}
---
apiVersion: zerohop.dev/v1alpha1
kind: ZerohopConfig
destinationMode: %s
failureMode: %s
%s`, plugin, profile(i), plugin, 3+float64(i+1)/1000, mode, failures[i/2%2], extra), wrong
}

// profile returns the name of the profile of edit i, which is in the access log of each request that ran it.
func profile(i int) string { return fmt.Sprintf("edit-%d", i) }

// editOf returns the edit whose profile a line of the access log has; false if it has none.
func editOf(pick string) (i int, ok bool) {
	_, after, _ := strings.Cut(pick, " profile=edit-")
	number, _, _ := strings.Cut(after, " ")
	i, err := strconv.Atoi(number)
	return i, err == nil
}

// endpointFile returns the content of the endpoint file of edit i. sims is what serves in every one of them. Edits change the
// order and the labels, add and remove an address where nothing listens, and once a whole endpoint.
func endpointFile(i int, sims []harness.Endpoint, spare, dead harness.Endpoint) []byte {
	list := append([]harness.Endpoint(nil), sims...)
	turn := i % len(list)
	list = append(list[turn:], list[:turn]...)
	switch {
	case i%4 == 1:
		list = append(list, dead)
	case i == 10:
		list = append([]harness.Endpoint{spare}, list...)
	}
	text := string(harness.EndpointsYAML(list))
	return []byte(strings.Replace(text, "}", fmt.Sprintf(", labels: {edit: %q}}", fmt.Sprint(i)), 1))
}
