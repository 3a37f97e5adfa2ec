package config

import (
	"regexp"
	"time"

	"github.com/zerohop/zerohop/xds/strictyaml"
)

// kindOfValue is what a value is.
type kindOfValue uint8

const (
	aText kindOfValue = iota
	aNumber
	aBoolean
	aDuration
	aQuantity
	anObject
	aList
	parameters // of a plugin, which its type knows
)

// shape says what may stand in a place of a document. The loader checks documents by it, and the JSON Schema is made of it.
type shape struct {
	is     kindOfValue
	fields []field // of an object
	elem   *shape  // of a list
}

// field is one field of an object.
type field struct {
	name string
	shape
	doc string
}

// document is the schema of an EndpointPickerConfig, whole, so that a misspelt field is found in every section.
var document = object(
	field{"apiVersion", text, "version of the document"},
	field{"kind", text, "what the document is"},
	field{"featureGates", list(text), "name, or name=true or name=false"},
	field{"plugins", list(object(
		field{"name", text, "by which the plugin is referred to; the type if it is left out"},
		field{"type", text, "what the plugin is"},
		field{"parameters", shape{is: parameters}, "of its type"},
	)), "instances of plugins"},
	field{"schedulingProfiles", list(object(
		field{"name", text, "of the profile"},
		field{"plugins", list(object(
			field{"pluginRef", text, "name of a plugin: filter, scorer or picker"},
			field{"weight", number, "of a scorer; 1 if it is left out"},
		)), "what the profile runs: filters in this order, then all scorers, then the picker"},
	)), "how an endpoint is chosen; one profile with every plugin if it is left out"},
	field{"dataLayer", object(
		field{"injectDefaults", boolean, "whether metrics are scraped without being asked for"},
		field{"sources", list(object(
			field{"pluginRef", text, "name of a data source"},
			field{"extractors", list(reference), "what reads from it"},
		)), "where data about endpoints comes from"},
		field{"discovery", reference, "where endpoints come from"},
		field{"peerDiscovery", reference, "where other endpoint pickers are found"},
		field{"crossReplicaSyncerPluginRef", text, "what tells other endpoint pickers"},
		field{"crossReplicaSyncInterval", span, "how often"},
	), "data about endpoints"},
	field{"flowControl", object(
		field{"maxBytes", amount, "most bytes of queued requests"},
		field{"maxRequests", amount, "most queued requests"},
		field{"defaultRequestTTL", span, "how long a request may wait"},
		field{"noEndpointRequestTTL", span, "how long a request may wait while there is no endpoint"},
		field{"defaultPriorityBand", band, "of priorities that are not listed"},
		field{"defaultNegativePriorityBand", band, "of priorities below 0 that are not listed"},
		field{"priorityBands", list(band), "queues by priority"},
		field{"usageLimitPolicyPluginRef", text, "name of a usage limit policy"},
		field{"saturationDetector", reference, "what says that endpoints are saturated"},
		field{"enableEviction", boolean, "whether running requests are ended for more important ones"},
	), "queues"},
	field{"requestHandler", object(
		field{"parsers", list(reference), "what reads requests"},
	), "how requests are read"},
	field{"saturationDetector", reference, "deprecated: flowControl.saturationDetector"},
	field{"parser", reference, "deprecated: requestHandler.parsers"},
)

// band is one priority band.
var band = object(
	field{"priority", number, "of the requests"},
	field{"maxBytes", amount, "most bytes of queued requests"},
	field{"maxRequests", amount, "most queued requests"},
	field{"fairnessPolicyRef", text, "name of a fairness policy"},
	field{"orderingPolicyRef", text, "name of an ordering policy"},
)

// reference is an object that names a plugin.
var reference = object(field{"pluginRef", text, "name of a plugin"})

var (
	text    = shape{is: aText}
	number  = shape{is: aNumber}
	boolean = shape{is: aBoolean}
	span    = shape{is: aDuration}
	amount  = shape{is: aQuantity}
)

func object(fields ...field) shape { return shape{is: anObject, fields: fields} }

func list(elem shape) shape { return shape{is: aList, elem: &elem} }

// check reports what is wrong with a value that is present.
func (s *shape) check(n strictyaml.Node) {
	switch s.is {
	case aText:
		n.Text()
	case aNumber:
		n.Number()
	case aBoolean:
		n.Bool()
	case aDuration:
		duration(n)
	case aQuantity:
		quantity(n)
	case anObject:
		s.object(n)
	case aList:
		for _, e := range n.List() {
			if !e.Exists() {
				e.Problemf("is empty")
				continue
			}
			s.elem.check(e)
		}
	}
}

// object checks an object's fields and reports all others.
func (s *shape) object(n strictyaml.Node) {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].name
	}
	n.Fields(names...)
	for i := range s.fields {
		if v := n.Field(names[i]); v.Exists() {
			s.fields[i].check(v)
		}
	}
}

// duration checks a Go duration such as 200ms.
func duration(n strictyaml.Node) {
	if s := n.Text(); s != "" {
		if _, err := time.ParseDuration(s); err != nil {
			n.Problemf("%q is not a duration; write for example 200ms", s)
		}
	}
}

// quantityPattern is the syntax of a Kubernetes resource quantity.
const quantityPattern = `^[+-]?(\d+|\d+\.\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$`

var quantitySyntax = regexp.MustCompile(quantityPattern)

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
