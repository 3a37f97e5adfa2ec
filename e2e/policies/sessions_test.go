package policies

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// TestSession wants sessions to stay, whatever is said in them, and to spread.
func TestSession(t *testing.T) {
	b := start(t, "config/session.yaml", simserver.Config{Speed: 100}, nil)
	for _, header := range []string{"X-Session-Id", "X-Claude-Code-Session-Id"} {
		served := map[string]int{}
		for s := range uint64(2 * sims) {
			first := ""
			for turn := range uint64(4) {
				resp, _ := send(t, b, traffic.Request{
					Header: http.Header{header: {fmt.Sprintf("%s-%d", header, s)}}, Body: traffic.ChatBody(traffic.Text(100*s+turn, 2<<10)),
				})
				if turn == 0 {
					first = resp.Endpoint()
					served[first]++
				} else if resp.Endpoint() != first {
					t.Errorf("%s %d, turn %d: sent to %s, the session is on %s", header, s, turn, resp.Endpoint(), first)
				}
			}
		}
		if len(served) != sims {
			t.Errorf("%s: %d sessions went to %v", header, 2*sims, served)
		}
	}
}

// TestSessionToken echoes the token of the answer, and wants one that cannot be used to be replaced.
func TestSessionToken(t *testing.T) {
	b := start(t, "e2e/policies/testdata/token.yaml", traffic.Instant(), nil)
	const header = "X-Session-Token"
	token, first := "garbage", ""
	for turn := range 12 {
		resp, pick := send(t, b, traffic.Request{Header: http.Header{header: {token}}, Body: traffic.ChatBody(fmt.Sprint("turn ", turn))})
		token = resp.Header.Get(header)
		if name, err := base64.StdEncoding.DecodeString(token); err != nil || string(name) != "default/"+resp.Endpoint() {
			t.Fatalf("turn %d: token %q (%s, %v) of %s", turn, token, name, err, resp.Endpoint())
		}
		switch {
		case turn == 0:
			first = resp.Endpoint()
		case resp.Endpoint() != first || pick.Left != 1:
			t.Errorf("turn %d went to %s, %d endpoints left; the first to %s", turn, resp.Endpoint(), pick.Left, first)
		}
	}
	gone := base64.StdEncoding.EncodeToString([]byte("default/gone"))
	resp, pick := send(t, b, traffic.Request{Header: http.Header{header: {gone}}, Body: traffic.ChatBody("hello")})
	if got := resp.Header.Get(header); got == gone || got == "" || pick.Left != sims {
		t.Errorf("an endpoint that has gone: token %q, %d endpoints left", got, pick.Left)
	}
}

// TestSessionCookie names sessions by a cookie among kilobytes of others, and in the second of two headers, which HTTP/1 clients
// may send.
func TestSessionCookie(t *testing.T) {
	b := start(t, "e2e/policies/testdata/cookie.yaml", traffic.Instant(), nil)
	others := "theme=" + strings.Repeat("d", 3<<10) + "; lang=en"
	forms := map[string]func(sid string) []string{
		"one":           func(sid string) []string { return []string{"sid=" + sid} },
		"behind others": func(sid string) []string { return []string{others + "; sid=" + sid} },
		"before others": func(sid string) []string { return []string{"sid=" + sid + "; " + others} },
		"second header": func(sid string) []string { return []string{others, "sid=" + sid} },
		"first header":  func(sid string) []string { return []string{"sid=" + sid, others} },
	}
	for _, http2 := range []bool{false, true} {
		for s := range 2 * sims {
			id, first := fmt.Sprint(http2, s), ""
			for turn := range 2 {
				for name, cookies := range forms {
					resp, pick := send(t, b, traffic.Request{HTTP2: http2, Header: http.Header{"Cookie": cookies(id)}, Body: traffic.ChatBody(fmt.Sprint("turn ", turn))})
					switch {
					case first == "":
						first = resp.Endpoint()
					case resp.Endpoint() != first || pick.Left != 1:
						t.Errorf("%s, HTTP/2 %v: session %s went to %s, %d endpoints left; it is on %s", name, http2, id, resp.Endpoint(), pick.Left, first)
					}
				}
			}
		}
	}
}
