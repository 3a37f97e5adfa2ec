package harness

import (
	"errors"
	"fmt"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// Sims are simulated model servers in this process, named sim-0, sim-1 and so on.
type Sims []*simserver.Server

// StartSims starts n endpoints on free loopback ports, all configured as cfg says except for their names.
func StartSims(n int, cfg simserver.Config) (Sims, error) {
	var sims Sims
	for i := range n {
		cfg.Name = fmt.Sprintf("sim-%d", i)
		s, err := simserver.Start(cfg)
		if err != nil {
			return nil, errors.Join(err, sims.Close())
		}
		sims = append(sims, s)
	}
	return sims, nil
}

// SimsForTest starts endpoints for a test, or fails it, and closes them at its end.
func SimsForTest(t TB, n int, cfg simserver.Config) Sims {
	t.Helper()
	sims, err := StartSims(n, cfg)
	if err != nil {
		t.Fatalf("start simulated endpoints: %v", err)
	}
	t.Cleanup(func() {
		if err := sims.Close(); err != nil {
			t.Logf("close simulated endpoints: %v", err)
		}
	})
	return sims
}

// Endpoints returns the endpoints for Options.Endpoints.
func (s Sims) Endpoints() []Endpoint {
	endpoints := make([]Endpoint, len(s))
	for i, sim := range s {
		endpoints[i] = Endpoint{Name: sim.Name(), Address: sim.Addr()}
	}
	return endpoints
}

// Close drops all connections and waits until nothing of the endpoints runs any more.
func (s Sims) Close() error {
	var err error
	for _, sim := range s {
		err = errors.Join(err, sim.Close())
	}
	return err
}
