package access

import (
	"context"
	"crypto/tls"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// handshakeTimeout bounds TLS and HTTP/2 handshakes of a gRPC connection.
const handshakeTimeout = 10 * time.Second

// GRPC returns the options that guard a gRPC server: TLS and, for every call, the rules of HTTP. A stream that is open
// stays open when credentials change.
func (p *Policy) GRPC() []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := p.checkCall(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := p.checkCall(stream.Context()); err != nil {
				return err
			}
			return next(srv, stream)
		}),
	}
	// With a client CA alone, a client without a certificate has no business here and is told so by TLS.
	auth := tls.VerifyClientCertIfGiven
	if p.token == nil {
		auth = tls.RequireAndVerifyClientCert
	}
	if c := p.tlsConfig(auth); c != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(c)))
	}
	return opts
}

// checkCall decides on a call.
func (p *Policy) checkCall(ctx context.Context) error {
	var state *tls.ConnectionState
	from := ""
	if caller, ok := peer.FromContext(ctx); ok {
		from = caller.Addr.String()
		if info, ok := caller.AuthInfo.(credentials.TLSInfo); ok {
			state = &info.State
		}
	}
	if !p.limits.allow(from) {
		p.counts.limited.Add(1)
		return status.Error(codes.ResourceExhausted, errRate.Error())
	}
	if err := p.check(state, metadata.ValueFromIncomingContext(ctx, "authorization")); err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return nil
}
