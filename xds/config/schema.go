package config

import (
	"regexp"
	"time"

	"github.com/zerohop/zerohop/xds/strictyaml"
)

// check reports what is wrong with a value that is present.
type check func(strictyaml.Node)

// field is one field of an object.
type field struct {
	name  string
	check check
}

// document is the schema of an EndpointPickerConfig, whole, so that a misspelt field is found even in a section that is
// refused afterwards.
var document = object(
	field{"apiVersion", text},
	field{"kind", text},
	field{"featureGates", list(text)},
	field{"plugins", list(object(
		field{"name", text},
		field{"type", text},
		field{"parameters", anything},
	))},
	field{"schedulingProfiles", list(object(
		field{"name", text},
		field{"plugins", list(object(
			field{"pluginRef", text},
			field{"weight", number},
		))},
	))},
	field{"dataLayer", object(
		field{"injectDefaults", boolean},
		field{"sources", list(object(
			field{"pluginRef", text},
			field{"extractors", list(reference)},
		))},
		field{"discovery", reference},
		field{"peerDiscovery", reference},
		field{"crossReplicaSyncerPluginRef", text},
		field{"crossReplicaSyncInterval", duration},
	)},
	field{"flowControl", object(
		field{"maxBytes", quantity},
		field{"maxRequests", quantity},
		field{"defaultRequestTTL", duration},
		field{"noEndpointRequestTTL", duration},
		field{"defaultPriorityBand", band},
		field{"defaultNegativePriorityBand", band},
		field{"priorityBands", list(band)},
		field{"usageLimitPolicyPluginRef", text},
		field{"saturationDetector", reference},
		field{"enableEviction", boolean},
	)},
	field{"requestHandler", object(
		field{"parsers", list(reference)},
	)},
	field{"saturationDetector", reference},
	field{"parser", reference},
)

// band is one priority band.
var band = object(
	field{"priority", number},
	field{"maxBytes", quantity},
	field{"maxRequests", quantity},
	field{"fairnessPolicyRef", text},
	field{"orderingPolicyRef", text},
)

// reference is an object that names a plugin.
var reference = object(field{"pluginRef", text})

// object checks an object's fields and reports all others.
func object(fields ...field) check {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	return func(n strictyaml.Node) {
		n.Fields(names...)
		for _, f := range fields {
			if v := n.Field(f.name); v.Exists() {
				f.check(v)
			}
		}
	}
}

// list checks a list's elements.
func list(elem check) check {
	return func(n strictyaml.Node) {
		for _, e := range n.List() {
			if !e.Exists() {
				e.Problemf("is empty")
				continue
			}
			elem(e)
		}
	}
}

func anything(strictyaml.Node)  {}
func text(n strictyaml.Node)    { n.Text() }
func number(n strictyaml.Node)  { n.Number() }
func boolean(n strictyaml.Node) { n.Bool() }

// duration checks a Go duration such as 200ms.
func duration(n strictyaml.Node) {
	if s := n.Text(); s != "" {
		if _, err := time.ParseDuration(s); err != nil {
			n.Problemf("%q is not a duration; write for example 200ms", s)
		}
	}
}

// quantitySyntax is the syntax of a Kubernetes resource quantity.
var quantitySyntax = regexp.MustCompile(`^[+-]?(\d+|\d+\.\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$`)

// quantity checks a Kubernetes resource quantity: a number, or a string such as 1Gi.
func quantity(n strictyaml.Node) {
	if n.IsNumber() {
		return
	}
	if s := n.Text(); s != "" && !quantitySyntax.MatchString(s) {
		n.Problemf("%q is not a quantity; write for example 1Gi or 1024", s)
	}
}

// The API groups that are read; the second is the older name of the first.
const (
	apiVersion       = "llm-d.ai/v1alpha1"
	apiVersionLegacy = "inference.networking.x-k8s.io/v1alpha1"
	kind             = "EndpointPickerConfig"
)
