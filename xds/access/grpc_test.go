package access

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// serveGRPC runs a gRPC server under p until the test ends and returns its address.
func serveGRPC(t *testing.T, p *Policy) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(p.GRPC()...)
	healthv1.RegisterHealthServer(s, health.NewServer())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(p.Listener(l)) })
	t.Cleanup(func() { s.Stop(); running.Wait() })
	return l.Addr().String()
}

// call makes a unary call and opens a stream, and returns the codes of both.
func call(t *testing.T, address string, conf *tls.Config, meta ...string) (unary, stream codes.Code) {
	t.Helper()
	creds := insecure.NewCredentials()
	if conf != nil {
		creds = credentials.NewTLS(conf)
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), meta...), 10*time.Second)
	defer cancel()
	client := healthv1.NewHealthClient(conn)
	_, err = client.Check(ctx, &healthv1.HealthCheckRequest{})
	unary = status.Code(err)
	watch, err := client.Watch(ctx, &healthv1.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	return unary, status.Code(err)
}

func TestGRPC(t *testing.T) {
	good, other := newCA(t), newCA(t)
	f := deploy(t, good)
	tests := []struct {
		name   string
		parts  []string
		client *tls.Config
		meta   []string
		want   codes.Code
	}{
		{"open", nil, nil, nil, codes.OK},
		{"token", []string{"token"}, nil, []string{"authorization", "Bearer " + token}, codes.OK},
		{"no token", []string{"token"}, nil, nil, codes.Unauthenticated},
		{"wrong token", []string{"token"}, nil, []string{"authorization", "Bearer wrong"}, codes.Unauthenticated},
		{"token in another header", []string{"token"}, nil, []string{"x-token", token}, codes.Unauthenticated},
		{"certificate", []string{"tls", "ca"}, good.client(good, time.Hour), nil, codes.OK},
		{"no certificate", []string{"tls", "ca"}, good.client(nil, 0), nil, codes.Unavailable},
		{"certificate of another CA", []string{"tls", "ca"}, good.client(other, time.Hour), nil, codes.Unavailable},
		{"expired certificate", []string{"tls", "ca"}, good.client(good, -time.Hour), nil, codes.Unavailable},
		{"plain text", []string{"tls", "ca"}, nil, nil, codes.Unavailable},
		{"either: token", []string{"tls", "ca", "token"}, good.client(nil, 0), []string{"authorization", "Bearer " + token}, codes.OK},
		{"either: certificate", []string{"tls", "ca", "token"}, good.client(good, time.Hour), nil, codes.OK},
		{"either: none", []string{"tls", "ca", "token"}, good.client(nil, 0), nil, codes.Unauthenticated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			address := serveGRPC(t, mustPolicy(t, f.options(tt.parts...)))
			if unary, stream := call(t, address, tt.client, tt.meta...); unary != tt.want || stream != tt.want {
				t.Errorf("unary %v, stream %v, want %v", unary, stream, tt.want)
			}
		})
	}
}

func TestGRPCRotation(t *testing.T) {
	before, after := newCA(t), newCA(t)
	f := deploy(t, before)
	address := serveGRPC(t, mustPolicy(t, f.options("tls", "ca")))
	if unary, _ := call(t, address, before.client(before, time.Hour)); unary != codes.OK {
		t.Errorf("before: %v", unary)
	}
	cert, key := after.issue("agent", time.Hour)
	f.write(t, "cert.pem", cert)
	f.write(t, "key.pem", key)
	f.write(t, "ca.pem", after.pem)
	if unary, _ := call(t, address, after.client(after, time.Hour)); unary != codes.OK {
		t.Errorf("after: %v", unary)
	}
	if unary, _ := call(t, address, after.client(before, time.Hour)); unary != codes.Unavailable {
		t.Errorf("old client certificate: %v", unary)
	}
}

func TestGRPCRateLimit(t *testing.T) {
	p := mustPolicy(t, Options{RequestsPerSecond: 1})
	address := serveGRPC(t, p)
	if unary, stream := call(t, address, nil); unary != codes.OK || stream != codes.ResourceExhausted {
		t.Errorf("unary %v, stream %v", unary, stream)
	}
	if s := p.Stats(); s.Limited != 1 {
		t.Errorf("stats %+v", s)
	}
}
