// Package explained shows on a real Envoy how picks are explained: in response headers and by dry runs, to clients in trusted
// networks only, and in the access log to whoever reads it.
package explained

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/names"
)

func TestMain(m *testing.M) { os.Exit(traffic.Main(m)) }

const dryRunPath = names.PathExplain + "?path=" + traffic.PathChat + "&more="

// start starts a bed that explains picks to the networks.
func start(t *testing.T, mode, networks string) *traffic.Bed {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(root, "config", "epp.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config = append(config, "---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n"...)
	if networks != "" {
		config = append(config, "explain: {trustedNetworks: ["+networks+"]}\n"...)
	}
	return traffic.Start(t, traffic.Options{Sim: traffic.Instant(), Options: harness.Options{Config: config, DestinationMode: mode}})
}

func asked() http.Header { return http.Header{"X-Zerohop-Explain": {names.ExplainHeaders}} }

// explanation returns the names of the headers that explain a response, in no order.
func explanation(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-zerohop-") {
			out[lower] = strings.Join(values, " AND ")
		}
	}
	return out
}

// TestExplained explains to the address that the tests have, and to no other.
func TestExplained(t *testing.T) {
	traffic.EachMode(t, func(t *testing.T, mode string) {
		b := start(t, mode, "127.0.0.1/32")
		t.Run("headers", func(t *testing.T) { headers(t, b) })
		t.Run("headers to one that does not ask", func(t *testing.T) { unasked(t, b) })
		t.Run("stranger", func(t *testing.T) { stranger(t, b) })
		t.Run("dry run", func(t *testing.T) { dryRun(t, b) })
		t.Run("dry run by GET", func(t *testing.T) { byGet(t, b) })
		t.Run("chain", func(t *testing.T) { chain(t, b) })
		t.Run("command", func(t *testing.T) { command(t, b) })
		t.Run("held", func(t *testing.T) { held(t, b) })
	})
}

func headers(t *testing.T, b *traffic.Bed) {
	for _, http2 := range []bool{false, true} {
		r := b.Do(t, traffic.Request{Body: traffic.ChatBody(traffic.Text(1, 3000)), Header: asked(), HTTP2: http2})
		pick := b.Pick(t, r.ID)
		got := explanation(r.Header)
		want := map[string]string{
			names.HeaderExplain:      names.ExplainHeaders,
			names.HeaderCandidates:   "candidates=3 left=3",
			names.HeaderProfile:      "default handler=single-profile-handler reason=scored parity=none revision=",
			names.HeaderMatch:        fmt.Sprintf("matched=%d total=%d universal=%d block=%d tokens=%d", pick.Matched, pick.Total, pick.Universal, pick.Block, pick.Tokens),
			names.HeaderInputs:       "snapshot_ms=",
			names.HeaderPick:         pick.Endpoint + " ties=",
			names.HeaderScore + "-1": "",
			names.HeaderScore + "-2": "",
			names.HeaderScore + "-3": "",
		}
		if r.Status != 200 || len(got) != len(want) {
			t.Errorf("status %d, headers %q", r.Status, got)
		}
		for name, prefix := range want {
			if value, ok := got[name]; !ok || !strings.HasPrefix(value, prefix) || strings.Contains(value, " AND ") {
				t.Errorf("%s: %q, want %q…", name, value, prefix)
			}
		}
		if s := got[names.HeaderScore+"-1"]; !strings.HasPrefix(s, pick.Endpoint+" ") || !strings.Contains(s, "prefix-cache-scorer=") || !strings.Contains(s, "*3") {
			t.Errorf("best %q, picked %s", s, pick.Endpoint)
		}
		for _, a := range b.Arrivals(r.ID) {
			if got := a.Headers.Get(names.HeaderExplain); got != "" {
				t.Errorf("the endpoint saw %s: %s", names.HeaderExplain, got)
			}
		}
	}
}

func unasked(t *testing.T, b *traffic.Bed) {
	r := b.Do(t, traffic.Request{Body: traffic.ChatBody("hello")})
	if got := explanation(r.Header); len(got) != 0 {
		t.Errorf("explained %q", got)
	}
}

// stranger asks from an address outside of the trusted network, and says that it comes from there.
func stranger(t *testing.T, b *traffic.Bed) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	ask := func(path string) (id string, resp *http.Response, body []byte) {
		t.Helper()
		id = traffic.NewID()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL()+path+"?id="+id, bytes.NewReader(traffic.ChatBody("hello")))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = asked()
		req.Header.Set("X-Forwarded-For", "127.0.0.1")
		if resp, err = client.Do(req); err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err = io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		return id, resp, body
	}
	before := b.FilterStats(t)["zerohop_explain_refused_total"]
	id, resp, _ := ask(traffic.PathChat)
	if got := explanation(resp.Header); resp.StatusCode != http.StatusOK || len(got) != 0 || len(b.Arrivals(id)) != 1 {
		t.Errorf("status %d, explained %q, %d arrivals", resp.StatusCode, got, len(b.Arrivals(id)))
	}
	id, resp, body := ask(dryRunPath)
	var refusal struct {
		Error struct{ Message, Type string }
	}
	if err := json.Unmarshal(body, &refusal); err != nil || refusal.Error.Message == "" {
		t.Errorf("body %s: %v", body, err)
	}
	if details := b.Entry(t, id).String("details"); resp.StatusCode != http.StatusForbidden || details != "zerohop_explain_refused" || len(b.Arrivals(id)) != 0 {
		t.Errorf("dry run: status %d, details %s, %d arrivals", resp.StatusCode, details, len(b.Arrivals(id)))
	}
	b.WaitCounters(t, map[string]float64{"zerohop_explain_refused_total": before + 2})
}

func dryRun(t *testing.T, b *traffic.Bed) {
	for _, http2 := range []bool{false, true} {
		r := b.Do(t, traffic.Request{Path: dryRunPath, Body: traffic.ChatBody(traffic.Text(2, 200_000)), HTTP2: http2})
		var a struct {
			Outcome string
			Request struct{ Tokens int }
			Best    []struct{ Address string }
		}
		if err := json.Unmarshal(r.Body, &a); err != nil {
			t.Fatalf("status %d, body %s: %v", r.Status, r.Body, err)
		}
		if r.Status != 200 || r.Header.Get(names.HeaderExplain) != names.ExplainDryRun || a.Outcome != "scored" || a.Request.Tokens < 50_000 || len(a.Best) != 3 {
			t.Errorf("status %d, headers %v, body %s", r.Status, r.Header, r.Body)
		}
		if got := b.Entry(t, r.ID).String("details"); got != "zerohop_explain" {
			t.Errorf("details %q", got)
		}
		if n := len(b.Arrivals(r.ID)); n != 0 {
			t.Errorf("arrived at %d endpoints", n)
		}
	}
}

// chain asserts that the access log has a sample of the prompt's hashes.
func chain(t *testing.T, b *traffic.Bed) {
	r := b.Do(t, traffic.Request{Body: traffic.ChatBody(traffic.Text(3, 4000))})
	e := b.Entry(t, r.ID)
	pick, err := traffic.ParsePick(e.String("pick"))
	if err != nil {
		t.Fatal(err)
	}
	want := 1 // of the last block, and of each power of two before it
	for n := 1; n < pick.Total+pick.Universal; n *= 2 {
		want++
	}
	if got := e.String("chain"); strings.Count(got, ",")+1 != want || len(got) != 17*want-1 {
		t.Errorf("chain %q of %d blocks, want %d hashes", got, pick.Total, want)
	}
}

// command runs zerohop explain.
func command(t *testing.T, b *traffic.Bed) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	body := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(body, traffic.ChatBody("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "build", "out", "zerohop"), "explain", "--request", body, "--envoy", b.URL())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	for _, want := range []string{"outcome", "scored", "single-profile-handler", "queue-scorer*2", "ENDPOINT"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output has no %q:\n%s", want, out.String())
		}
	}
}

// TestNotExplained asks where nobody may ask, and from an address that may not.
func TestNotExplained(t *testing.T) {
	for _, c := range []struct {
		name, networks string
		status         int
		details        string
		refused        float64
	}{
		{"off", "", 404, "direct_response", 0},
		{"another network", "10.0.0.0/8", 403, "zerohop_explain_refused", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, "header", c.networks)
			forged := http.Header{ // says that it comes from the trusted network
				"X-Forwarded-For": {"10.1.2.3"}, "X-Real-Ip": {"10.1.2.3"}, "Forwarded": {"for=10.1.2.3"}, "X-Envoy-External-Address": {"10.1.2.3"},
			}
			dry := forged.Clone()
			maps.Copy(forged, asked())
			r := b.Do(t, traffic.Request{Body: traffic.ChatBody("hello"), Header: forged})
			if got := explanation(r.Header); r.Status != 200 || len(got) != 0 {
				t.Errorf("status %d, explained %q", r.Status, got)
			}
			d := b.Do(t, traffic.Request{Path: dryRunPath, Body: traffic.ChatBody("hello"), Header: dry})
			if details := b.Entry(t, d.ID).String("details"); d.Status != c.status || details != c.details || len(b.Arrivals(d.ID)) != 0 {
				t.Errorf("dry run: status %d, details %s, %d arrivals", d.Status, details, len(b.Arrivals(d.ID)))
			}
			b.WaitCounters(t, map[string]float64{"zerohop_explain_refused_total": c.refused})
		})
	}
}

func byGet(t *testing.T, b *traffic.Bed) {
	for _, http2 := range []bool{false, true} {
		r := b.Do(t, traffic.Request{Method: http.MethodGet, Path: dryRunPath, HTTP2: http2})
		if r.Status != http.StatusMethodNotAllowed || r.Header.Get("Allow") != http.MethodPost || r.Header.Get(names.HeaderExplain) != names.ExplainDryRun {
			t.Errorf("status %d, headers %v", r.Status, r.Header)
		}
	}
}

// held has an endpoint fail until it is cooled down, and wants explanations to say so.
func held(t *testing.T, b *traffic.Bed) {
	broken := b.Sims[1]
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestReset}}, broken)
	traffic.Until(t, "the endpoint to be held", func() error {
		b.Do(t, traffic.Request{Body: traffic.ChatBody("hello")})
		r := b.Do(t, traffic.Request{Path: dryRunPath, Body: traffic.ChatBody("hello")})
		var a struct {
			Held []struct {
				Address, Why string
				LeftMs       int
			}
		}
		if err := json.Unmarshal(r.Body, &a); err != nil {
			return err
		}
		if len(a.Held) != 1 || a.Held[0].Address != broken.Addr() || a.Held[0].Why != "cooling" || a.Held[0].LeftMs <= 0 {
			return fmt.Errorf("held %+v", a.Held)
		}
		e := b.Do(t, traffic.Request{Body: traffic.ChatBody("hello"), Header: asked()})
		if got := e.Header.Get(names.HeaderHeld); !strings.HasPrefix(got, broken.Addr()+"=cooling left_ms=") {
			return fmt.Errorf("%s: %q", names.HeaderHeld, got)
		}
		return nil
	})
	b.Heal(t)
}
