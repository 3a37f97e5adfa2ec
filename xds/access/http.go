package access

import (
	"io"
	"net/http"
)

// HTTP guards next: by address, then by credentials. /healthz and /readyz need none, since who probes has none. Requests
// that a browser sends on behalf of another site's page are refused unless they only read.
func (p *Policy) HTTP(next http.Handler) http.Handler {
	guarded := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.limits.allow(r.RemoteAddr) {
			p.counts.limited.Add(1)
			w.Header().Set("Retry-After", "1")
			deny(w, http.StatusTooManyRequests, errRate)
			return
		}
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			guarded.ServeHTTP(w, r)
			return
		}
		if err := p.check(r.TLS, r.Header.Values("Authorization")); err != nil {
			if p.token != nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			deny(w, http.StatusUnauthorized, err)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// deny answers without reading the body: the connection is closed, so that nobody sends one in vain.
func deny(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, err.Error()+"\n")
}
