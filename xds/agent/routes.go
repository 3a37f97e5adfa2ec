package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/status"
	"github.com/zerohop/zerohop/xds/telemetry"
)

// routes returns all that the agent serves over HTTP: what publish.Handler does, and
//
//	GET /status    configuration and Envoys, for "zerohop status"
//	GET /metrics   the agent's own metrics, for Prometheus
func (a *parts) routes(o Options) http.Handler {
	h := &publish.Handler{Store: a.store, Hold: o.Hold, Ready: a.fleet.ready.Load, Fleet: a.reports, Log: o.Log}
	mux := http.NewServeMux()
	mux.Handle("/", h.Routes())
	mux.HandleFunc("GET "+status.Path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(a.status())
	})
	mux.Handle("GET /metrics", telemetry.New(telemetry.Sources{
		Store: a.store, Handler: h, Fleet: a.reports, Policy: o.Access, Groups: a.groups, Config: a.director.loads,
	}, o.Log))
	return o.Access.HTTP(mux)
}

// status returns what the agent and its Envoys are at.
func (a *parts) status() status.Status {
	s := status.Status{Nodes: []status.Node{}}
	a.director.status(&s)
	if v, err := a.store.Newest(); err == nil {
		s.Endpoints, s.Snapshot = len(v.Endpoints), v.Number
	}
	workers := make(map[string][]status.Worker) // by node id
	for _, e := range a.reports.Envoys() {
		for i := range e.Workers {
			workers[e.Node] = append(workers[e.Node], worker(&e.Workers[i]))
		}
	}
	nodes := a.control.Nodes()
	connected := make(map[string]bool)
	for i := range nodes {
		connected[nodes[i].ID] = connected[nodes[i].ID] || nodes[i].Connected
	}
	for _, n := range nodes {
		node := status.Node{NodeStatus: n}
		if n.Connected == connected[n.ID] { // reports are not of one that has gone if another has its id
			node.Workers, node.Reported = workers[n.ID]
		}
		s.Nodes = append(s.Nodes, node)
	}
	for i := range nodes {
		delete(workers, nodes[i].ID)
	}
	for _, id := range slices.Sorted(maps.Keys(workers)) { // Envoys whose plan stands in their own configuration
		s.Nodes = append(s.Nodes, status.Node{NodeStatus: controlplane.NodeStatus{ID: id}, Reported: true, Workers: workers[id]})
	}
	return s
}

func worker(w *publish.Worker) status.Worker {
	out := status.Worker{Snapshot: w.Snapshot, AgeMs: w.AgeMs, PlanMin: int(w.PlanMin), PlanMax: int(w.PlanMax)}
	if w.Revision != 0 {
		out.Revision = fmt.Sprintf("%016x", w.Revision)
	}
	return out
}

// groups sums up the Envoys of each group.
func (a *parts) groups() map[string]telemetry.Group {
	out := make(map[string]telemetry.Group)
	for group, nacks := range a.control.Refusals() {
		out[group] = telemetry.Group{Nacks: nacks}
	}
	for _, n := range a.control.Nodes() {
		g := out[n.Group]
		if n.Connected {
			g.Connected++
			if n.Rejects() {
				g.Rejecting++
			}
		}
		out[n.Group] = g
	}
	return out
}
