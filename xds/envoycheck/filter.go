package envoycheck

import (
	"fmt"
	"strings"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// wasm is one Wasm filter.
type wasm struct {
	config node // its PluginConfig
	place
}

func (w *wasm) root() string { return w.config.get("root_id").str() }

// attempt says whether it is meant as the attempt filter.
func (w *wasm) attempt() bool { return w.upstream || !w.manager && w.root() == names.RootAttempt }

// ours says whether the filter is or seems to be one of zerohop's.
func (w *wasm) ours() bool {
	for _, name := range []string{w.root(), w.name} {
		if name == names.RootDownstream || name == names.RootAttempt {
			return true
		}
	}
	vm := w.config.get("vm_config")
	for _, n := range []node{
		w.config.get("root_id"), w.config.get("name"), vm.get("vm_id"),
		vm.get("code", "local", "filename"), vm.get("code", "remote", "http_uri", "uri"),
	} {
		if strings.Contains(n.str(), names.RootDownstream) {
			return true
		}
	}
	return false
}

// wasmOf returns the Wasm filter that an element of http_filters is.
func wasmOf(filter node) (wasm, bool) {
	name := filter.get("name").str()
	if body, typ := filter.get("typed_config").message(); typ == "Wasm" {
		return wasm{config: body.get("config"), place: place{name: name}}, true
	}
	if body, typ := filter.get("config_discovery", "default_config").message(); typ == "Wasm" {
		return wasm{config: body.get("config"), place: place{ecds: true, name: name}}, true
	}
	return wasm{}, false
}

// filters checks each of our filters by itself, wherever it stands.
func (c *checker) filters() {
	for i := range c.wasms {
		w := &c.wasms[i]
		if !w.ours() {
			continue
		}
		c.rootID(w)
		c.failure(w)
		if w.attempt() {
			continue
		}
		if c.down == nil {
			c.down = w
		}
		c.flag(w)
		c.runtime(w)
		c.configuration(w)
	}
	if c.down == nil {
		return
	}
	for i := range c.wasms {
		if w := &c.wasms[i]; w.ours() && w.attempt() {
			c.sameVM(w)
		}
	}
}

// rootID checks that the filter asks for the plugin that belongs where it stands.
func (c *checker) rootID(w *wasm) {
	want := names.RootDownstream
	if w.attempt() {
		want = names.RootAttempt
	}
	if got := w.root(); got != want {
		what := fmt.Sprintf("root_id is %q, not %s", got, want)
		if got == "" {
			what = "root_id: " + want + " is missing"
		}
		c.lack("root-id", w.config, what,
			"The module has two plugins, and the root id says which of them runs here.", "root_id: "+want+"\n").Replace = true
	}
}

func (c *checker) flag(w *wasm) {
	if !w.config.get("allow_on_headers_stop_iteration").is() {
		c.lack("flag", w.config, "allow_on_headers_stop_iteration is not set",
			"Envoy would not show the body to a filter that holds the headers back.", "allow_on_headers_stop_iteration: true\n").Replace = true
	}
}

// Bounds of the time after which Envoy rebuilds a VM.
const (
	leastReload = 0.002
	mostReload  = 0.1
)

// failure checks what happens after a trap.
func (c *checker) failure(w *wasm) {
	if policy := w.config.get("failure_policy"); policy.str() != "FAIL_RELOAD" {
		c.lack("failure-policy", w.config, "failure_policy is not FAIL_RELOAD",
			"A VM that trapped would never be rebuilt.", "failure_policy: FAIL_RELOAD\n").Replace = true
	}
	interval := w.config.get("reload_config", "backoff", "base_interval")
	what, why := "reload_config.backoff.base_interval is not set", "After a trap Envoy's default of 1 s would answer 503 to everything meanwhile."
	switch s, ok := interval.seconds(); {
	case !ok:
	case s < leastReload:
		what, why = "reload_config.backoff.base_interval is less than 2 ms", "Envoy divides by it in whole milliseconds and ends with SIGFPE."
	case s > mostReload:
		what, why = "reload_config.backoff.base_interval is more than 100 ms", "After a trap everything gets 503 for as long."
	default:
		return
	}
	c.lack("base-interval", w.config, what, why, "reload_config: {backoff: {base_interval: 0.02s}}\n")
}

func (c *checker) runtime(w *wasm) {
	vm := w.config.get("vm_config")
	if vm.get("runtime").str() != "envoy.wasm.runtime.v8" {
		c.lack("runtime", w.config, "vm_config.runtime is not envoy.wasm.runtime.v8",
			"The module is tested with V8 only; without a runtime Envoy refuses the configuration.", "vm_config: {runtime: envoy.wasm.runtime.v8}\n")
	}
	if !vm.get("code").Exists() {
		c.lack("code", w.config, "vm_config.code is missing",
			"Envoy must know where the module is.", "vm_config: {code: {local: {filename: build/out/zerohop.wasm}}}\n")
	}
}

// configuration checks the plan that stands in the document.
func (c *checker) configuration(w *wasm) {
	const render = `"zerohop render envoy" writes it`
	n := w.config.get("configuration")
	text := n.get("value").str()
	if n.IsText() {
		text = n.str()
	}
	if text == "" {
		c.lack("plan", w.config, "configuration has no plan; "+render, "Without a plan the filter does not start.", c.wantedPlan())
		return
	}
	p, err := plan.Parse([]byte(text))
	if err != nil {
		c.lack("plan", n, "the plan is wrong: "+strings.ReplaceAll(err.Error(), "\n", "; "), "The filter would refuse it; "+render+".", "")
		return
	}
	c.inFile = p
	if c.want != nil && !w.ecds && !sameSchedule(p, c.want) {
		c.lack("plan-outdated", n, "the plan is not what the configuration compiles to; "+render,
			"What is edited takes effect only in the plan.", "")
	}
}

// wantedPlan returns the configuration that has the wanted plan.
func (c *checker) wantedPlan() string {
	if c.want == nil {
		return ""
	}
	return fmt.Sprintf("configuration:\n  \"@type\": type.googleapis.com/google.protobuf.StringValue\n  value: %s\n", scalar(string(plan.Append(nil, c.want))))
}

// sameSchedule compares plans by what an EndpointPickerConfig and a ZerohopConfig say. Endpoints come from elsewhere.
func sameSchedule(a, b *plan.Plan) bool {
	strip := func(p plan.Plan) string {
		p.Endpoints, p.Revision, p.Agent.Cluster = nil, "", ""
		return string(plan.Append(nil, &p))
	}
	return strip(*a) == strip(*b)
}

// sameVM checks that the attempt filter runs in the VM of the downstream filter.
func (c *checker) sameVM(w *wasm) {
	want := c.down.config.get("vm_config")
	if flow(w.config.get("vm_config")) == flow(want) || !want.Exists() {
		return
	}
	c.lack("vm-config", w.config, "vm_config differs from the downstream filter's",
		"Envoy runs both filters in one VM only if it is the same; in another VM the attempt filter knows no stream.",
		"vm_config: "+flow(want)+"\n").Replace = true
}
