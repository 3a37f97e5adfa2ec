package upstreamtls

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestConnects goes through the ways of naming the servers, in both kinds of cluster.
func TestConnects(t *testing.T) {
	ca := harness.NewCA(t, t.TempDir(), "ca")
	cert := ca.Issue(t, "server", serverName, serverIP)
	client := ca.Issue(t, "client", "envoy.test")
	shown := []string{"--upstream-client-cert", client.CertFile, "--upstream-client-key", client.KeyFile}
	believed := []string{"--upstream-tls-ca", ca.File}
	tests := []struct {
		name, mode string
		flags      []string
		clients    *harness.CA // who may connect; nil for everybody
		sni        string      // what the servers see
		proto      string
	}{
		{"picked, fixed name, client certificate", plan.DestinationHeader, append(shown, "--upstream-tls-sni", serverName), ca, serverName, "HTTP/1.1"},
		{"picked, name of the Host header, HTTP/2", plan.DestinationFilterState, []string{"--upstream-tls-auto-sni", "--upstream-http2"}, nil, serverName, "HTTP/2.0"},
		{"listed, fixed address, HTTP/2, client certificate", plan.DestinationList, append(shown, "--upstream-tls-sni", serverIP, "--upstream-http2"), ca, "", "HTTP/2.0"},
		{"listed, name of the Host header", plan.DestinationList, []string{"--upstream-tls-auto-sni"}, nil, serverName, "HTTP/1.1"},
		{"listed, name of the Host header, files that Envoy follows", plan.DestinationList, []string{"--upstream-tls-auto-sni", "--secrets-dir", t.TempDir()}, nil, serverName, "HTTP/1.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, fronts := secured(t, cert, tt.clients, tt.mode, append(tt.flags, believed...)...)
			for i := range 15 {
				r := ask(t, b, serverName, i)
				if r.status != http.StatusOK {
					t.Fatalf("status %d: %s", r.status, r.body)
				}
			}
			for i, f := range fronts {
				seen := f.connections()
				if len(seen) == 0 {
					t.Errorf("endpoint %d has no connection", i)
				}
				for _, c := range seen {
					if c.ServerName != tt.sni || (len(c.PeerCertificates) > 0) != (tt.clients != nil) {
						t.Errorf("server name %q with %d client certificates", c.ServerName, len(c.PeerCertificates))
					}
				}
				for _, r := range b.Sims[i].Records() {
					if r.Proto != tt.proto {
						t.Errorf("endpoint %d is spoken to in %s, want %s", i, r.Proto, tt.proto)
					}
				}
			}
		})
	}
}

// TestRotation gives a running Envoy another client certificate, of another authority than before, which the servers believe.
func TestRotation(t *testing.T) {
	ca, later := harness.NewCA(t, t.TempDir(), "ca"), harness.NewCA(t, t.TempDir(), "later")
	cert := ca.Issue(t, "server", serverName)
	before, after := ca.Issue(t, "before", "envoy.test"), later.Issue(t, "after", "envoy.test")
	both := ca.Pool()
	pem, err := os.ReadFile(later.File)
	if err != nil || !both.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	b, fronts := securedBy(t, cert, both, plan.DestinationHeader,
		"--upstream-tls-ca", ca.File, "--upstream-tls-sni", serverName,
		"--upstream-client-cert", before.CertFile, "--upstream-client-key", before.KeyFile, "--secrets-dir", t.TempDir())
	shown := func() map[string]int {
		names := make(map[string]int)
		for _, f := range fronts {
			for _, c := range f.connections() {
				names[c.PeerCertificates[0].Subject.CommonName]++
			}
		}
		return names
	}
	number := 0
	served := func() {
		t.Helper()
		if r := ask(t, b, serverName, number); r.status != http.StatusOK {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
		number++
	}
	served()
	if n := shown(); n["before"] == 0 || len(n) != 1 {
		t.Fatalf("certificates shown: %v", n)
	}
	for from, to := range map[string]string{after.CertFile: before.CertFile, after.KeyFile: before.KeyFile} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	const active = "cluster.zerohop_destination.upstream_cx_active"
	traffic.Until(t, "the other certificate", func() error {
		stats, err := b.Envoy.Stats(t.Context(), "^"+active)
		if err != nil || stats[active] != 0 {
			return fmt.Errorf("%g connections are open, %w", stats[active], err)
		}
		served()
		if n := shown(); n["after"] == 0 {
			return fmt.Errorf("certificates shown: %v", n)
		}
		return nil
	})
}

// TestFailsClosed checks that a server that is not the right one gets no request, and that Envoy counts why.
func TestFailsClosed(t *testing.T) {
	ca, other := harness.NewCA(t, t.TempDir(), "ca"), harness.NewCA(t, t.TempDir(), "other")
	named := []string{"--upstream-tls-sni", serverName}
	client := other.Issue(t, "client", "envoy.test")
	tests := []struct {
		name, mode string
		cert       *harness.Certificate // the servers'
		clients    *harness.CA
		flags      []string
		counter    string
	}{
		{"unknown authority, picked", plan.DestinationHeader, other.Issue(t, "server", serverName), nil, named, "cluster.zerohop_destination.ssl.fail_verify_error"},
		{"unknown authority, listed", plan.DestinationList, other.Issue(t, "server", serverName), nil, named, "cluster.zerohop_endpoints.ssl.fail_verify_error"},
		{"another name", plan.DestinationHeader, ca.Issue(t, "server", "other.test"), nil, named, "cluster.zerohop_destination.ssl.fail_verify_san"},
		{"another name than the Host header", plan.DestinationList, ca.Issue(t, "server2", "other.test"), nil, []string{"--upstream-tls-auto-sni"}, "cluster.zerohop_endpoints.ssl.fail_verify_san"},
		{
			"client certificate of another authority", plan.DestinationHeader, ca.Issue(t, "server3", serverName), ca,
			append([]string{"--upstream-client-cert", client.CertFile, "--upstream-client-key", client.KeyFile}, named...), "cluster.zerohop_destination.upstream_cx_destroy_remote",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, _ := secured(t, tt.cert, tt.clients, tt.mode, append(tt.flags, "--upstream-tls-ca", ca.File)...)
			for i := range 3 {
				if r := ask(t, b, serverName, i); r.status != http.StatusServiceUnavailable {
					t.Errorf("status %d: %s", r.status, r.body)
				}
			}
			for _, sim := range b.Sims {
				if n := len(sim.Records()); n != 0 {
					t.Errorf("%s has got %d requests", sim.Name(), n)
				}
			}
			traffic.Until(t, tt.counter, func() error {
				stats, err := b.Envoy.Stats(t.Context(), "^cluster")
				if err == nil && stats[tt.counter] == 0 {
					err = fmt.Errorf("%s", stats)
				}
				return err
			})
		})
	}
}

// TestHTTP2WithoutTLS speaks HTTP/2 by prior knowledge.
func TestHTTP2WithoutTLS(t *testing.T) {
	b := traffic.Start(t, traffic.Options{Sims: 2, Sim: traffic.Instant(), Options: harness.Options{
		Edge: true, DestinationMode: plan.DestinationList, RenderArgs: []string{"--upstream-http2"},
	}})
	for i := range 10 {
		if r := ask(t, b, serverName, i); r.status != http.StatusOK {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
	}
	for _, sim := range b.Sims {
		for _, r := range sim.Records() {
			if r.Proto != "HTTP/2.0" {
				t.Errorf("%s is spoken to in %s", sim.Name(), r.Proto)
			}
		}
	}
}

// TestFallbackCluster sends what the filter does not route to servers over TLS.
func TestFallbackCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	ca := harness.NewCA(t, t.TempDir(), "ca")
	sims := harness.SimsForTest(t, 1, traffic.Instant())
	client := ca.Issue(t, "client", "envoy.test")
	f := startFront(t, sims[0].Addr(), ca.Issue(t, "server", serverName), ca.Pool())
	b := traffic.Start(t, traffic.Options{Options: harness.Options{
		Endpoints: []harness.Endpoint{}, Fallback: []string{f.address}, FailureMode: plan.FailOpen, Edge: true,
		RenderArgs: []string{
			"--upstream-tls-ca", ca.File, "--upstream-tls-sni", serverName,
			"--upstream-client-cert", client.CertFile, "--upstream-client-key", client.KeyFile,
		},
	}})
	if r := ask(t, b, serverName, 0); r.status != http.StatusOK || len(f.connections()) != 1 || len(sims[0].Records()) != 1 {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}
