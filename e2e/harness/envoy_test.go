package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestEnvoyDirect starts a real Envoy without the filter, and reads its readiness, stats and access log.
func TestEnvoyDirect(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	defer backend.Close()
	ports, err := FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	e, err := StartEnvoy(EnvoyOptions{
		Dir: t.TempDir(), Admin: ports[1],
		Bootstrap: StaticBootstrap(StaticOptions{
			Listen: ports[0], Admin: ports[1], Endpoints: []string{strings.TrimPrefix(backend.URL, "http://")}, AccessLog: true,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.WaitReady(ctx); err != nil {
		e.WriteLog(logWriter{t})
		t.Fatal(err)
	}
	for range 3 {
		resp, err := client.Get("http://" + ports[0] + "/x")
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(b) != "hello" {
			t.Fatalf("got %d %q, want 200 hello", resp.StatusCode, b)
		}
	}
	st, err := e.Stats(ctx, `^cluster\.endpoints\.`)
	if err != nil {
		t.Fatal(err)
	}
	if got := st["cluster.endpoints.upstream_rq_200"]; got != 3 {
		t.Errorf("upstream_rq_200 = %g, want 3\n%s", got, st)
	}
	entries, err := e.WaitAccessLog(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := entries[0].String("path"); got != "/x" {
		t.Errorf("path = %q, want /x", got)
	}
}

type logWriter struct{ t *testing.T }

func (w logWriter) Write(b []byte) (int, error) { w.t.Logf("%s", b); return len(b), nil }
