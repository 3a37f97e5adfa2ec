package config

import (
	"slices"
	"strings"
	"time"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// together reports settings of a ZerohopConfig that do not go together.
func (l *loader) together(root strictyaml.Node, z *Zerohop) {
	pair(root, "scrape.tls.certFile", z.Scrape.TLS.CertFile, "scrape.tls.keyFile", z.Scrape.TLS.KeyFile)
	pair(root, "agent.tls.certFile", z.Agent.TLS.CertFile, "agent.tls.keyFile", z.Agent.TLS.KeyFile)
	if z.Agent.TLS.ClientCAFile != "" && z.Agent.TLS.CertFile == "" {
		at(root, "agent.tls.clientCAFile").Problemf("has no effect without certFile and keyFile; add both")
	}
	if z.Agent.Listen == z.Agent.XDSListen {
		n := at(root, "agent.listen")
		if other := at(root, "agent.xdsListen"); other.Exists() {
			n = other
		}
		n.Problemf("%v is the address of the other listener too; agent.listen and agent.xdsListen must differ", z.Agent.Listen)
	}
	if most := z.Bounds.Endpoints; len(z.Discovery.Endpoints) > most {
		at(root, pathEndpoints).Problemf("%d endpoints; bounds.endpoints is %d", len(z.Discovery.Endpoints), most)
	}
	if age := z.Agent.MaxSnapshotAge; age > 0 && age < leastSnapshotAge {
		at(root, "agent.maxSnapshotAge").Problemf("%v is less than %v, within which an agent without news confirms what it sent", age, leastSnapshotAge)
	}
	l.withoutEffect(root, z)
}

// leastSnapshotAge is two long polls.
const leastSnapshotAge = time.Minute

// shortFirstByte is a time that a busy model server may well take until it has accepted a request.
const shortFirstByte = time.Second

// pair reports one of two file names that stands alone.
func pair(root strictyaml.Node, pathA, a, pathB, b string) {
	switch {
	case a != "" && b == "":
		at(root, pathA).Problemf("needs %s too; add it", pathB)
	case a == "" && b != "":
		at(root, pathB).Problemf("needs %s too; add it", pathA)
	}
}

// withoutEffect warns of settings that others turn off.
func (l *loader) withoutEffect(root strictyaml.Node, z *Zerohop) {
	if z.Scrape.TLS != (ClientTLS{}) && z.Scrape.Scheme == SchemeHTTP {
		l.warnf(at(root, "scrape.tls"), "has no effect while scrape.scheme is http")
	}
	if z.Scrape.BearerTokenFile != "" && z.Scrape.Scheme == SchemeHTTP {
		l.warnf(at(root, "scrape.bearerTokenFile"), "is sent in clear text while scrape.scheme is http")
	}
	if z.Agent.BearerTokenFile != "" && z.Agent.TLS.CertFile == "" && (!z.Agent.Listen.Addr().IsLoopback() || !z.Agent.XDSListen.Addr().IsLoopback()) {
		l.warnf(at(root, "agent.bearerTokenFile"), "is sent in clear text without agent.tls")
	}
	if z.Scrape.TLS.InsecureSkipVerify {
		l.warnf(at(root, "scrape.tls.insecureSkipVerify"), "lets anyone on the way answer for an endpoint; give caFile instead")
	}
	if slices.ContainsFunc(z.ExplainTo, func(s string) bool { return strings.HasSuffix(s, "/0") }) {
		l.warnf(at(root, "explain.trustedNetworks"), "lets every client see the endpoints and their load; name the networks of operators")
	}
	if t := z.Attempts.FirstByteTimeout; t > 0 && t < shortFirstByte {
		l.warnf(at(root, "attempts.firstByteTimeout"), "gives healthy servers up when they are busy; set it well above the 99th percentile of the time to the response headers")
	}
	d := DefaultZerohop()
	if z.Sharing.Mode == plan.SharingWorker && (z.Sharing.Interval != d.Sharing.Interval || z.Sharing.LogBytes != d.Sharing.LogBytes) {
		l.warnf(at(root, "sharing"), "has no effect beyond its mode: with mode worker nothing is shared")
	}
	if z.Scrape.Staleness != d.Scrape.Staleness && z.Scrape.Staleness < z.Scrape.StaleAfter() {
		l.warnf(at(root, "scrape.staleness"), "is less than three scrape intervals, which count instead")
	}
	if !z.Agent.Disabled {
		return
	}
	for _, x := range []struct {
		path string
		set  bool
	}{
		{"agent.listen", z.Agent.Listen != d.Agent.Listen},
		{"agent.xdsListen", z.Agent.XDSListen != d.Agent.XDSListen},
		{"agent.tls", z.Agent.TLS != d.Agent.TLS},
		{"agent.bearerTokenFile", z.Agent.BearerTokenFile != ""},
		{"agent.maxSnapshotAge", z.Agent.MaxSnapshotAge != 0},
		{"scrape", z.Scrape != d.Scrape},
		{pathDNS, len(z.Discovery.DNS) != 0},
	} {
		if x.set {
			l.warnf(at(root, x.path), "has no effect while agent.enabled is false")
		}
	}
}
