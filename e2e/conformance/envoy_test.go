package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/schedbed"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
)

// world is an emulated Envoy whose filter runs a configuration.
type world struct {
	process *hosttest.Process
	worker  *hosttest.Worker
}

// start runs doc with servers as the agent publishes them. Close it.
func start(doc string, servers []schedbed.Server) (*world, error) {
	c, err := load(doc)
	if err != nil {
		return nil, err
	}
	p := c.Plan(config.Settings{AgentCluster: "agent"})
	wants, err := sched.Wants(p)
	if err != nil {
		return nil, err
	}
	w := &world{process: hosttest.NewProcess()}
	if err := w.publish(wants, servers); err != nil {
		return nil, err
	}
	w.worker = w.process.AddWorker(hosttest.NewNative)
	if !w.worker.LoadBoth(plan.Append(nil, p)) {
		return nil, fmt.Errorf("the plan was refused: %v", w.process.Logs)
	}
	w.process.Run(time.Second)
	return w, nil
}

func (w *world) publish(wants *scorers.Wants, servers []schedbed.Server) error {
	blob, err := schedbed.Snapshot(1, wants, servers)
	if err != nil {
		return err
	}
	w.process.Agent = &hosttest.Agent{Version: 1, Blob: blob}
	return nil
}

// send sends a request and returns what became of it, and the destination header as it was when the request was let go.
func (w *world) send(r *hosttest.Request) (res *hosttest.Result, destination string) {
	st := w.worker.Open(r)
	st.Receive()
	destination, _ = st.RequestHeader(names.HeaderDestination)
	st.Forward()
	return st.Close(), destination
}

// close ends the world and returns what the filter did that Envoy would refuse.
func (w *world) close() error {
	defer w.process.Close()
	if len(w.process.Faults)+len(w.process.Panics) > 0 {
		return fmt.Errorf("faults %v, panics %v", w.process.Faults, w.process.Panics)
	}
	return nil
}

// one sends one request to a fresh world.
func one(doc string, servers []schedbed.Server, r *hosttest.Request, judge func(res *hosttest.Result, destination string) error) error {
	w, err := start(doc, servers)
	if err != nil {
		return err
	}
	res, destination := w.send(r)
	return errors.Join(judge(res, destination), w.close())
}

func post(path, body string, headers ...string) *hosttest.Request {
	head := append([]string{":method", "POST", ":path", path, ":authority", "models", "content-type", "application/json"}, headers...)
	return &hosttest.Request{Headers: hosttest.Pairs(head...), Body: []byte(body)}
}

func get(path string) *hosttest.Request {
	return &hosttest.Request{Headers: hosttest.Pairs(":method", "GET", ":path", path, ":authority", "models")}
}

const (
	pathChat        = "/v1/chat/completions"
	pathCompletions = "/v1/completions"
)

// errorCode returns the code of an answer in the shape of OpenAI's errors.
func errorCode(res *hosttest.Result) (string, error) {
	if res.Local == nil {
		return "", fmt.Errorf("route %s, want an answer of the filter", res.Route)
	}
	var body struct{ Error struct{ Code string } }
	err := json.Unmarshal([]byte(res.Local.Body), &body)
	return body.Error.Code, err
}

// answers returns an error unless the filter answers a request with this status and code under parity epp.
func answers(doc string, servers []schedbed.Server, r *hosttest.Request, status int, code string) error {
	return one(doc+parityEPP, servers, r, func(res *hosttest.Result, _ string) error {
		got, err := errorCode(res)
		return errors.Join(err, differ("status", res.Status, status), differ("code", got, code))
	})
}

// badRequest returns an error unless completions with this body get 400 under parity epp.
func badRequest(body, code string) error {
	return answers("", pods(1), post(pathCompletions, body), 400, code)
}

// goesTo returns an error unless a request goes to the endpoint called name, with its body as it was.
func goesTo(doc string, servers []schedbed.Server, r *hosttest.Request, name string) error {
	want := ""
	for i := range servers {
		if servers[i].Name == name {
			want = servers[i].Address
		}
	}
	return one(doc+parityEPP, servers, r, func(res *hosttest.Result, destination string) error {
		return errors.Join(differ("status", res.Status, 200), differ("destination", destination, want), differ("reached", strings.Join(res.Hosts, ","), want))
	})
}
