package harness

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/loadgen"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// TestStack sends chats through everything at once: Envoy with both filters, agent, simulated endpoints.
func TestStack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy and the agent")
	}
	for _, mode := range []string{"header", "filter_state", "list"} {
		t.Run(mode, func(t *testing.T) {
			sims := SimsForTest(t, 3, simserver.Config{Speed: 50})
			s := ForTest(t, Options{Endpoints: sims.Endpoints(), DestinationMode: mode})
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()

			const n = 30
			c := loadgen.New(loadgen.Options{URL: s.URL(), Conns: 3})
			defer c.Close()
			body := []byte(`{"model":"` + simserver.DefaultModel + `","messages":[{"role":"user","content":"` +
				strings.Repeat("some words ", 200) + `"}],"max_tokens":4,"stream":true}`)
			r := c.Closed(ctx, func(i int) (loadgen.Request, bool) {
				return loadgen.Request{Path: "/v1/chat/completions", Body: body, Stream: true}, i < n
			}, 0)
			if r.Failed() > 0 {
				t.Fatalf("errors: %v", r.Errors)
			}
			entries, err := s.Envoy.WaitAccessLog(ctx, n)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.String("pick") == "" {
					t.Fatalf("no pick in the access log: %v", e)
				}
			}
			// The module adds to the stats by tick, so the last picks come later than the responses.
			if err := Until(ctx, "picks in the stats", func() error {
				st, err := s.Envoy.Stats(ctx, "zerohop_picks")
				if err != nil || st.Sum("zerohop_picks") < n {
					return errors.Join(err, errors.New(st.String()))
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseLeavesNothing checks what ForTest promises: no process, no listener, no file.
func TestCloseLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy and the agent")
	}
	sims := SimsForTest(t, 1, simserver.Config{})
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s, err := Start(ctx, Options{Endpoints: sims.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.StartAgent(ctx); err != nil {
		t.Errorf("restart the agent: %v", err)
	}
	pids := []int{s.Envoy.Pid(), s.Agent.Pid()}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	for _, addr := range []string{s.Listen, s.agentAddr, s.Envoy.Admin} {
		if c, err := net.Dial("tcp4", addr); err == nil {
			c.Close()
			t.Errorf("%s still accepts connections", addr)
		}
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", s.Dir)
	}
}
