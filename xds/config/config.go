// Package config loads an EndpointPickerConfig, the configuration of llm-d's endpoint picker, with the EPP's defaults and
// the EPP's strictness, and beside it a ZerohopConfig with what zerohop needs more, and compiles both to the plan that the
// filter runs. It knows no scheduling plugin by itself: the caller passes the Specs of the plugin types that exist. Every
// problem is reported at once, with its line, the path to the field and what to write instead. A section that the filter
// does not act on is refused rather than ignored, unless ignoring it is what the EPP does. It reads no file.
package config

import (
	"fmt"
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// Config is what the documents say: defaults applied, references resolved.
type Config struct {
	Plugins  []plan.Plugin  // those that the filter makes, in its order: producers first
	Profiles []plan.Profile // at least one
	Handler  string         // name of the profile handler among Plugins
	Prefix   plan.Prefix
	Wants    scorers.Wants // what the plugins read

	Zerohop   Zerohop // the second document
	Models    Models
	Metrics   Metrics
	Discovery *FileDiscovery // plugin that dataLayer.discovery refers to; nil if none

	Warnings []strictyaml.Problem // what was accepted but will surprise
	Defaults []Default            // what the documents left open
	Inactive []Inactive           // what was accepted and does nothing

	lines        map[string]int // of the settings that the ZerohopConfig has, and of Discovery, by path
	all          []listed       // declared plugins in order, then those that defaulting added
	idle         []plan.Inactive
	raw          []string // the other sections of the EndpointPickerConfig, as lines
	firstProfile int      // place of the first of Profiles in the document
	refs         [][]int  // by profile and scorer: place among the profile's references; -1 in the implicit profile
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

// Load reads up to two documents in YAML, separated by lines of ---, or one in JSON: an EndpointPickerConfig, for which
// DefaultDocument stands in, and a ZerohopConfig, in any order. types are the plugin types that may be used. The error is
// a *strictyaml.Error with every problem.
func Load(doc []byte, types []scorers.Spec, options ...Option) (*Config, error) {
	l := loader{types: newTypes(types), failInactive: slices.Contains(options, FailOnInactive)}
	roots, err := strictyaml.ParseAll(doc, &l.problems)
	if err != nil {
		return nil, err
	}
	picker, zerohop := l.documents(roots)
	if !picker.Exists() && l.problems.Len() == 0 {
		if picker, err = l.defaultDocument(); err != nil {
			return nil, err
		}
	}
	if picker.Exists() {
		l.picker(picker)
	}
	l.zerohop(zerohop)
	l.build()
	l.advise()
	l.injected()
	if l.problems.Len() == 0 {
		l.accepted(zerohop)
	}
	if err := l.problems.Err(); err != nil {
		return nil, err
	}
	return l.config(), nil
}

// defaultDocument stands in for an EndpointPickerConfig that is absent.
func (l *loader) defaultDocument() (strictyaml.Node, error) {
	root, err := strictyaml.Parse([]byte(DefaultDocument), &l.problems)
	if err != nil {
		return strictyaml.Node{}, fmt.Errorf("default document: %w", err)
	}
	l.absent = true
	l.defaulted(kind, "queue-scorer 2, kv-cache-utilization-scorer 2, prefix-cache-scorer 3", "there is none: the EPP's default schedule")
	return root, nil
}

// picker reads an EndpointPickerConfig.
func (l *loader) picker(root strictyaml.Node) {
	document.check(root)
	l.plugins(root.Field("plugins").List())
	l.sections(root)
	l.profiles(root.Field("schedulingProfiles"))
	l.handler(root.Field("plugins"))
	l.needs()
	l.prefix()
	l.metrics()
}
