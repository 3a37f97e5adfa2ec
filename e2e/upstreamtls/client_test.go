package upstreamtls

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/plan"
)

type answer struct {
	status int
	body   []byte
}

// ask sends a chat for a host name through Envoy. Chats with other seeds have nothing in common.
func ask(t *testing.T, b *traffic.Bed, host string, seed int) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL()+traffic.PathChat, bytes.NewReader(traffic.ChatBody(traffic.Text(uint64(seed), 4<<10))))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, body}
}

// TestGRPC calls a gRPC engine: HTTP/2 on both sides, TLS to the engine, trailers with the result.
func TestGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	ca := harness.NewCA(t, t.TempDir(), "ca")
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationList} {
		t.Run(mode, func(t *testing.T) {
			cert := ca.Issue(t, "server-"+mode, serverName)
			endpoints := []harness.Endpoint{
				{Name: "a", Address: startGRPC(t, cert, ca)}, {Name: "b", Address: startGRPC(t, cert, ca)},
			}
			client := ca.Issue(t, "client-"+mode, "envoy.test")
			b := traffic.Start(t, traffic.Options{Options: harness.Options{
				Endpoints: endpoints, Edge: true, DestinationMode: mode, RenderArgs: []string{
					"--upstream-http2", "--upstream-tls-ca", ca.File, "--upstream-tls-sni", serverName,
					"--upstream-client-cert", client.CertFile, "--upstream-client-key", client.KeyFile,
				},
			}})
			conn, err := grpc.NewClient(b.Listen, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for range 5 {
				r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
				if err != nil || r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
					t.Fatalf("%v, %v", r, err)
				}
			}
			if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: "unknown"}); err == nil {
				t.Error("the engine's error does not arrive")
			}
		})
	}
}

// startGRPC serves the health service over TLS to clients of an authority, and returns its address.
func startGRPC(t *testing.T, cert *harness.Certificate, clients *harness.CA) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(serverTLS(cert, poolOf(clients)))))
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return l.Addr().String()
}
