package config

import (
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/xds/strictyaml"
)

// Feature gates of the EPP.
const (
	gateFlowControl = "flowControl"
	gateNonLeader   = "haPopulateNonLeaderDatastore" // about Kubernetes replicas, of which there are none here
)

const notSupported = "is not supported by this version; remove it"

// sections refuses what the filter does not act on. What has no effect in the EPP either, or asks for what is done anyway,
// is accepted with a warning.
func (l *loader) sections(root strictyaml.Node) {
	l.featureGates(root.Field("featureGates").List())
	l.dataLayer(root.Field("dataLayer"))
	l.fileDiscovery(root.Field("dataLayer").Field("discovery"))
	if fc := root.Field("flowControl"); fc.Exists() {
		if sd := fc.Field("saturationDetector"); sd.Exists() {
			sd.Problemf(notSupported)
		}
		l.warnf(fc, "has no effect while the feature gate flowControl is off")
	}
	for _, name := range []string{"saturationDetector", "requestHandler", "parser"} {
		if n := root.Field(name); n.Exists() {
			n.Problemf(notSupported)
		}
	}
}

// featureGates reads "name" or "name=bool".
func (l *loader) featureGates(nodes []strictyaml.Node) {
	for _, n := range nodes {
		name, value, found := strings.Cut(n.Text(), "=")
		name = strings.TrimSpace(name)
		on := true
		if found {
			var err error
			value = strings.ToLower(strings.TrimSpace(value))
			if on, err = strconv.ParseBool(value); err != nil {
				n.Problemf("%s is not a valid value for the feature gate %s; write true or false", value, name)
				continue
			}
		}
		switch {
		case name == gateFlowControl && on:
			n.Problemf("feature gate flowControl " + notSupported)
		case name == gateFlowControl:
		case name == gateNonLeader:
			l.warnf(n, "has no effect; there is no leader")
		default:
			n.Problemf("feature gate %q is unknown or unregistered; %s", name, strictyaml.Suggest(name, []string{gateFlowControl, gateNonLeader}))
		}
	}
}

// dataLayer accepts what the agent does by itself: to scrape /metrics of every endpoint. It reports the rest.
func (l *loader) dataLayer(n strictyaml.Node) {
	if !n.Exists() {
		return
	}
	for _, k := range n.Keys() {
		v := n.Field(k)
		if !v.Exists() {
			continue
		}
		switch k {
		case "discovery": // read by fileDiscovery
		case "injectDefaults":
			if !v.Bool() {
				v.Problemf("false " + notSupported)
			}
		default:
			v.Problemf(notSupported)
		}
	}
}
