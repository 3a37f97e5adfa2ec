package simserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// transports are both protocols that an endpoint speaks.
func transports(t *testing.T) map[string]*http.Client {
	h2 := new(http.Protocols)
	h2.SetUnencryptedHTTP2(true)
	clients := map[string]*http.Client{}
	for name, tr := range map[string]*http.Transport{"HTTP/1.1": {}, "HTTP/2": {Protocols: h2}} {
		t.Cleanup(tr.CloseIdleConnections)
		clients[name] = &http.Client{Transport: tr}
	}
	return clients
}

func setFaults(t *testing.T, s *Server, faults string) {
	t.Helper()
	if resp, body := post(t, s.URL()+"/sim/faults", faults); resp.StatusCode != 200 {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
}

const (
	wholeBody  = `{"prompt":"x","max_tokens":20}`
	streamBody = `{"prompt":"x","max_tokens":20,"stream":true}`
)

func TestFaultStatusRate(t *testing.T) {
	s := start(t, Config{})
	for _, c := range []struct {
		name, faults string
		want         map[int]int // responses by status, of 20
	}{
		{"all", `{"request":{"mode":"status"}}`, map[int]int{500: 20}},
		{"a quarter", `{"request":{"mode":"status","status":503,"rate":0.25}}`, map[int]int{200: 15, 503: 5}},
		{"one in ten", `{"request":{"mode":"status","rate":0.1}}`, map[int]int{200: 18, 500: 2}},
		{"none", `{}`, map[int]int{200: 20}},
	} {
		t.Run(c.name, func(t *testing.T) {
			setFaults(t, s, c.faults)
			got := map[int]int{}
			for range 20 {
				resp, _ := post(t, s.URL()+pathCompletions, wholeBody)
				got[resp.StatusCode]++
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("responses by status (-want +got):\n%s", d)
			}
		})
	}
}

func TestFaultReset(t *testing.T) {
	s := start(t, Config{})
	setFaults(t, s, `{"request":{"mode":"reset"}}`)
	for name, client := range transports(t) {
		t.Run(name, func(t *testing.T) {
			resp, err := client.Post(s.URL()+pathCompletions, "", strings.NewReader(wholeBody))
			if err == nil {
				resp.Body.Close()
				t.Fatalf("status %d, want no response", resp.StatusCode)
			}
			if name == "HTTP/1.1" && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("error = %v, want a connection reset", err)
			}
		})
	}
	if got := s.Stats(); got.Errors != 2 || got.InFlight != 0 {
		t.Errorf("stats = %+v, want 2 errors", got)
	}
}

func TestFaultResetMid(t *testing.T) {
	for _, mode := range []struct {
		name string
		cfg  Config
	}{{"engine", Config{}}, {"instant", Config{Instant: true}}} {
		s := start(t, mode.cfg)
		setFaults(t, s, `{"request":{"mode":"reset_mid"}}`)
		for name, client := range transports(t) {
			for _, body := range []string{wholeBody, streamBody} {
				t.Run(fmt.Sprintf("%s/%s/stream %v", mode.name, name, body == streamBody), func(t *testing.T) {
					resp, err := client.Post(s.URL()+pathCompletions, "", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					b, err := io.ReadAll(resp.Body)
					if err == nil || resp.StatusCode != 200 {
						t.Errorf("status %d, %d bytes, error %v: want 200 and a broken body", resp.StatusCode, len(b), err)
					}
				})
			}
		}
	}
}

func TestFaultHang(t *testing.T) {
	s := start(t, Config{})
	setFaults(t, s, `{"request":{"mode":"hang"}}`)
	answered := make(chan int)
	go func() {
		resp, err := http.Post(s.URL()+pathCompletions, "", strings.NewReader(wholeBody))
		if err != nil {
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	eventually(t, "the request hangs", func() bool { return s.Stats().InFlight == 1 })
	select {
	case got := <-answered:
		t.Fatalf("answered with %d while hanging", got)
	default:
	}
	if err := s.Reset(); !errors.Is(err, ErrBusy) {
		t.Errorf("reset with a request in flight: %v, want ErrBusy", err)
	}
	setFaults(t, s, `{}`)
	if got := <-answered; got != 200 {
		t.Errorf("status after healing = %d, want 200", got)
	}
}

func TestFaultSlow(t *testing.T) {
	s := start(t, Config{})
	setFaults(t, s, `{"request":{"mode":"slow","delay_ms":1}}`)
	if resp, _ := post(t, s.URL()+pathCompletions, wholeBody); resp.StatusCode != 200 {
		t.Errorf("status = %d, want 200", resp.StatusCode)
	}
}

func TestDraining(t *testing.T) {
	s := start(t, Config{Speed: 5})
	resp, err := http.Post(s.URL()+pathCompletions, "", strings.NewReader(streamBody))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	setFaults(t, s, `{"draining":true}`)
	if late, _ := post(t, s.URL()+pathCompletions, wholeBody); late.StatusCode != 503 {
		t.Errorf("new request: status %d, want 503", late.StatusCode)
	}
	if health, _ := get(t, s.URL()+"/health"); health.StatusCode != 503 {
		t.Errorf("health: status %d, want 503", health.StatusCode)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(b), "data: [DONE]\n\n") {
		t.Errorf("running stream: error %v, end %q", err, b[max(0, len(b)-20):])
	}
	setFaults(t, s, `{}`)
	if health, _ := get(t, s.URL()+"/health"); health.StatusCode != 200 {
		t.Errorf("health afterwards: status %d, want 200", health.StatusCode)
	}
}

func TestFaultMetrics(t *testing.T) {
	s := start(t, Config{})
	for _, c := range []struct {
		name, faults string
		status       int
		check        func(page string) bool
	}{
		{"status", `{"metrics":{"mode":"status"}}`, 500, func(string) bool { return true }},
		{"slow", `{"metrics":{"mode":"slow","delay_ms":1}}`, 200, func(p string) bool { return strings.HasPrefix(p, "# HELP") }},
		{"garbage", `{"metrics":{"mode":"garbage"}}`, 200, func(p string) bool { return strings.Contains(p, "NaNaN") }},
		{"huge", `{"metrics":{"mode":"huge","size_mb":3}}`, 200, func(p string) bool {
			return len(p) > 3<<20 && strings.Contains(p, "\nvllm:num_requests_running{")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			setFaults(t, s, c.faults)
			resp, page := get(t, s.URL()+"/metrics")
			if resp.StatusCode != c.status || !c.check(page) {
				t.Errorf("status %d, %d bytes", resp.StatusCode, len(page))
			}
		})
	}
	t.Run("hang", func(t *testing.T) {
		setFaults(t, s, `{"metrics":{"mode":"hang"}}`)
		resp, err := http.Get(s.URL() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		half := make([]byte, 20_000)
		if _, err := io.ReadFull(resp.Body, half); err != nil {
			t.Fatal(err)
		}
		setFaults(t, s, `{}`)
		rest, err := io.ReadAll(resp.Body)
		if err != nil || len(rest) < 20_000 {
			t.Errorf("after healing: %d bytes more, error %v", len(rest), err)
		}
	})
}

func TestFaultsInterface(t *testing.T) {
	s := start(t, Config{})
	for _, c := range []struct {
		name, faults, message string
	}{
		{"not JSON", `{`, "unexpected EOF"},
		{"unknown field", `{"requests":{}}`, "requests"},
		{"unknown request mode", `{"request":{"mode":"explode"}}`, "request.mode"},
		{"unknown metrics mode", `{"metrics":{"mode":"explode"}}`, "metrics.mode"},
		{"rate above one", `{"request":{"mode":"reset","rate":2}}`, "request.rate"},
		{"status that is no error", `{"request":{"mode":"status","status":200}}`, "request.status"},
		{"negative delay", `{"request":{"mode":"slow","delay_ms":-1}}`, "request.delay_ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := post(t, s.URL()+"/sim/faults", c.faults)
			if resp.StatusCode != 400 || !strings.Contains(body, c.message) {
				t.Errorf("status %d: %s, want 400 and %q", resp.StatusCode, body, c.message)
			}
		})
	}
	setFaults(t, s, `{"draining":true}`)
	r, _ := http.NewRequest(http.MethodDelete, s.URL()+"/sim/faults", nil)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if s.Faults().Draining {
		t.Error("faults are left after DELETE")
	}
}
