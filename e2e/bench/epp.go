package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/loadgen"
)

// pickerTimeout bounds the wait for the first good answer; each bad one fills the picker's log.
const pickerTimeout = 15 * time.Second

//go:embed epp.yaml
var eppConfig string

//go:embed epp-envoy.yaml
var eppEnvoy string

// startEPP starts llm-d's endpoint picker with the same scorers and weights, and an Envoy that asks it by ext_proc the
// way its own deployment guides do.
func startEPP(ctx context.Context, dir, binary string, endpoints []harness.Endpoint) (*variant, error) {
	ports, err := harness.FreePorts(5)
	if err != nil {
		return nil, err
	}
	listFile, configFile := filepath.Join(dir, "epp-endpoints.yaml"), filepath.Join(dir, "epp-config.yaml")
	if err := os.WriteFile(listFile, harness.EndpointsYAML(endpoints), 0o600); err != nil {
		return nil, err
	}
	config, err := fill(eppConfig, map[string]string{"Endpoints": listFile})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(configFile, config, 0o600); err != nil {
		return nil, err
	}
	picker, err := harness.StartProcess(dir, "epp", binary,
		"--pool-name", "local", "--pool-namespace", "bench", "--config-file", configFile, "--secure-serving=false",
		"--metrics-endpoint-auth=false", "--tracing=false", "--grpc-port", port(ports[2]),
		"--grpc-health-port", port(ports[3]), "--metrics-port", port(ports[4]), "-v", "1")
	if err != nil {
		return nil, err
	}
	v := &variant{name: epp, helper: picker, url: "http://" + ports[0], close: picker.Stop, clients: map[int]*loadgen.Client{}}
	err = v.startEPPEnvoy(ctx, dir, ports)
	if err != nil {
		picker.WriteLog(os.Stderr)
		v.close()
		return nil, err
	}
	return v, nil
}

// startEPPEnvoy waits until the picker listens, because a request that it cannot answer fails, and starts Envoy.
func (v *variant) startEPPEnvoy(ctx context.Context, dir string, ports []string) error {
	for _, addr := range []string{ports[2], ports[4]} {
		err := harness.Until(ctx, "endpoint picker to listen", func() error {
			if err := v.helper.Exited(); err != nil {
				return err
			}
			c, err := net.Dial("tcp4", addr)
			if err == nil {
				c.Close()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	bootstrap, err := fill(eppEnvoy, map[string]string{
		"Listen": port(ports[0]), "Admin": port(ports[1]), "Picker": port(ports[2]),
	})
	if err != nil {
		return err
	}
	if v.envoy, err = harness.StartEnvoy(harness.EnvoyOptions{
		Name: "epp-envoy", Dir: dir, Admin: ports[1], Bootstrap: bootstrap,
	}); err != nil {
		return err
	}
	v.close = func() { v.envoy.Stop(); v.helper.Stop() }
	if err := v.envoy.WaitReady(ctx); err != nil {
		v.envoy.WriteLog(os.Stderr)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pickerTimeout)
	defer cancel()
	return harness.Until(ctx, "endpoint picker to know the endpoints", func() error {
		b := newBodies(600, false)
		var serial uint64
		r := v.client(1).Closed(ctx, limit(b.source(&serial), 1), 0)
		if r.Failed() > 0 {
			return fmt.Errorf("first request: %v", r.Errors)
		}
		return nil
	})
}

func fill(text string, data any) ([]byte, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr) // addr is one that FreePorts made
	return p
}
