// Package upstreamtls tests TLS and HTTP/2 between Envoy and the model servers, as "zerohop render envoy" writes them with its
// --upstream flags, on a real Envoy with an authority of the test's own. The model servers are simulated ones behind an end
// of TLS, and a gRPC server.
package upstreamtls
