// Package config loads an EndpointPickerConfig, the configuration of llm-d's endpoint picker, with the EPP's defaults and
// the EPP's strictness, and compiles it to the plan that the filter runs. It knows no plugin by itself: the caller passes
// the Specs of the plugin types that exist. Every problem of a document is reported at once, with the path to the field.
// A section that the filter does not act on is refused rather than ignored, unless ignoring it is what the EPP does.
package config

import (
	"fmt"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// Config is a loaded document: defaults applied, references resolved.
type Config struct {
	Plugins  []plan.Plugin  // declared ones in order, then those that defaulting added
	Profiles []plan.Profile // at least one
	Handler  string         // name of the profile handler among Plugins
	Prefix   plan.Prefix

	Zerohop   Zerohop        // the second document
	Discovery *FileDiscovery // plugin that dataLayer.discovery refers to; nil if none

	Warnings []string  // what was accepted without effect, each with its path
	Defaults []Default // what the documents left open
}

// DefaultDocument stands in for an EndpointPickerConfig that is absent.
const DefaultDocument = `apiVersion: ` + apiVersion + `
kind: ` + kind + `
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
`

// Load reads a YAML or JSON document. types are the plugin types that may be used. The error lists every problem, one a
// line.
func Load(doc []byte, types []scorers.Spec) (*Config, error) {
	l := loader{types: types}
	root, err := strictyaml.Parse(doc, &l.problems)
	if err != nil {
		return nil, err
	}
	if !root.Exists() {
		if root, err = strictyaml.Parse([]byte(DefaultDocument), &l.problems); err != nil {
			return nil, fmt.Errorf("default document: %w", err)
		}
	}
	document(root)
	checkEnvelope(root)
	l.sections(root)
	l.plugins(root.Field("plugins").List())
	l.profiles(root.Field("schedulingProfiles"))
	l.handler()
	l.prefix()
	if err := l.problems.Err(); err != nil {
		return nil, err
	}
	return l.config(), nil
}
