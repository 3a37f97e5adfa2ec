package oracle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/schedbed"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/config"
)

// requests is how many requests the first policy decides, and fewer is how many each of the others does.
const (
	requests = 10_000
	fewer    = 4_000
)

// open is the most requests that are in flight at a time.
const open = 40

// rounding is how far two totals may be apart and still be equal: sums of some dozen terms in another order.
const rounding = 1e-9

// TestAgreement sends requests through the filter, and wants each pick among the best of the oracle, which then follows it.
func TestAgreement(t *testing.T) {
	for i := range policies {
		p, n := &policies[i], fewer
		if i == 0 {
			n = requests
		}
		t.Run(p.name, func(t *testing.T) {
			for seed := range uint64(2) {
				rnd := rand.New(rand.NewPCG(seed, 7))
				endpoints := fleet(rnd, 9)
				w := start(t, p.doc(), endpoints)
				refused, chosen := follow(t, w, newEPP(endpoints, p.filters, p.scorers), rnd, n/2)
				if len(chosen) < 3 || refused > n/4 {
					t.Errorf("%d refused, picks %v: this proves little", refused, chosen)
				}
			}
		})
	}
}

// flight is one request in flight.
type flight struct {
	stream *hosttest.Stream
	name   string
	booked int
}

// frozen is after how many requests the endpoints are scraped again.
const frozen = 100

// follow sends n requests of which up to open are in flight at a time. It returns how many found no endpoint, and how many each
// endpoint got.
func follow(t *testing.T, w *world, p *epp, rnd *rand.Rand, n int) (refused int, chosen map[string]int) {
	t.Helper()
	var flights []flight
	chosen = map[string]int{}
	for k := range n {
		if k%frozen == 0 {
			shuffle(rnd, p.endpoints)
			w.publish(t, p.endpoints)
		}
		for len(flights) > 0 && (len(flights) == open || rnd.IntN(3) == 0) {
			i := rnd.IntN(len(flights))
			f := flights[i]
			f.stream.Forward()
			f.stream.Close()
			p.finished(f.name, f.booked)
			flights = slices.Delete(flights, i, i+1)
		}
		r := draw(rnd)
		totals := p.totals(&r)
		stream := w.worker.Open(httpRequest(&r))
		stream.Receive()
		address, _ := stream.RequestHeader(names.HeaderDestination)
		if len(totals) == 0 {
			refused++
			if address != "" {
				t.Fatalf("request %d: %s was picked, and the oracle finds no endpoint", k, address)
			}
			stream.Forward()
			stream.Close()
			continue
		}
		name := p.nameOf(address)
		if !among(totals, name) {
			t.Fatalf("request %d (%d tokens, model %s, %v): %s was picked, the oracle has %s", k, r.input(), r.model, r.headers, name, show(totals))
		}
		chosen[name]++
		flights = append(flights, flight{stream, name, p.picked(&r, name)})
	}
	for _, f := range flights {
		f.stream.Forward()
		f.stream.Close()
	}
	if w.process.Faults != nil || w.process.Panics != nil {
		t.Errorf("faults %v, panics %v", w.process.Faults, w.process.Panics)
	}
	return refused, chosen
}

// among reports whether name has the greatest total.
func among(totals map[string]float64, name string) bool {
	got, ok := totals[name]
	for _, v := range totals {
		if v > got+rounding {
			return false
		}
	}
	return ok
}

func show(totals map[string]float64) string {
	var out []string
	for name, v := range totals {
		out = append(out, fmt.Sprintf("%s=%.6f", name, v))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (p *epp) nameOf(address string) string {
	for _, e := range p.endpoints {
		if e.address == address {
			return e.name
		}
	}
	return "(" + address + ")"
}

// fleet returns endpoints with random metrics, in the order in which a snapshot has them: that of candidates is not specified.
func fleet(rnd *rand.Rand, n int) []*endpoint {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	var out []*endpoint
	for i := range n {
		e := &endpoint{
			name: fmt.Sprintf("ns/pod-%d", i), address: fmt.Sprintf("10.0.0.%d:8000", i+1), labels: map[string]string{}, maxActive: 2,
		}
		for key, value := range map[string]string{
			"llm-d.ai/role": pick("", "decode", "both", "prefill", "decode"), "gpu": pick("h100", "h100", "l4"), "slice": pick("", "a", "b"),
			rangeLabel: pick("", "0-400", "0-4000", "300-9000", "x"),
		} {
			if value != "" {
				e.labels[key] = value
			}
		}
		out = append(out, e)
	}
	shuffle(rnd, out)
	slices.SortFunc(out, func(a, b *endpoint) int {
		x, y := snapshot.EndpointID([]byte(a.name), []byte(a.address)), snapshot.EndpointID([]byte(b.name), []byte(b.address))
		if x < y {
			return -1
		}
		return 1
	})
	return out
}

// shuffle gives endpoints other metrics.
func shuffle(rnd *rand.Rand, endpoints []*endpoint) {
	for _, e := range endpoints {
		e.waiting, e.running = rnd.IntN(14), rnd.IntN(20)
		e.kv = float64(float32(rnd.Float64())) // a snapshot carries it in 32 bits
		e.attributes = map[string]float64{}
		if rnd.IntN(5) > 0 {
			e.attributes["heat"] = float64(rnd.IntN(120))
		}
		e.active, e.waitingModels = some(rnd), some(rnd)
	}
}

// models are those that requests name.
var models = []string{"base", "sql", "chat", "code"}

// some returns up to two adapters.
func some(rnd *rand.Rand) []string {
	var out []string
	for _, i := range rnd.Perm(len(models) - 1)[:rnd.IntN(3)] {
		out = append(out, models[i+1])
	}
	return out
}

// draw returns a request: a conversation at some length, whose beginning may be known.
func draw(rnd *rand.Rand) request {
	talk := rnd.IntN(300)
	r := request{model: models[talk%len(models)], headers: map[string]string{}}
	r.text = strings.Repeat(fmt.Sprintf("talk %d %s ", talk, strings.Repeat("x", talk%50)), 20+rnd.IntN(150))
	if rnd.IntN(4) > 0 {
		r.headers["x-session-id"] = fmt.Sprintf("s%d", talk%100)
	}
	if v := [...]string{"", "a", "b", "c"}[rnd.IntN(4)]; v != "" {
		r.headers["x-slice"] = v
	}
	return r
}

func httpRequest(r *request) *hosttest.Request {
	head := []string{":method", "POST", ":path", "/v1/chat/completions", ":authority", "models", "content-type", "application/json"}
	for name, value := range r.headers {
		head = append(head, name, value)
	}
	return &hosttest.Request{
		Headers: hosttest.Pairs(head...), Body: []byte(`{"model":"` + r.model + `","messages":[{"role":"user","content":"` + r.text + `"}]}`),
	}
}

// world is an emulated Envoy with the filter.
type world struct {
	process *hosttest.Process
	worker  *hosttest.Worker
	wants   *scorers.Wants
	version uint64
}

// publish has the filter take over the endpoints' metrics.
func (w *world) publish(t *testing.T, endpoints []*endpoint) {
	t.Helper()
	var servers []schedbed.Server
	for _, e := range endpoints {
		s := schedbed.Server{
			Name: e.name, Address: e.address, Labels: e.labels, Waiting: uint32(e.waiting), Running: uint32(e.running), KV: float32(e.kv),
			Active: e.active, WaitingFor: e.waitingModels, MaxLoRA: uint16(e.maxActive), Attributes: map[string]float64{},
		}
		for name, v := range e.attributes {
			s.Attributes["core-metrics-extractor/"+name] = v
		}
		servers = append(servers, s)
	}
	w.version++
	blob, err := schedbed.Snapshot(w.version, w.wants, servers)
	if err != nil {
		t.Fatal(err)
	}
	w.process.Agent.Publish(w.version, blob)
	w.process.Run(300 * time.Millisecond) // utilization-detector takes older numbers for stale
}

// start runs a document with endpoints.
func start(t *testing.T, doc string, endpoints []*endpoint) *world {
	t.Helper()
	c, err := config.Load([]byte(doc), registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	p := c.Plan(config.Settings{AgentCluster: "agent"})
	wants, err := sched.Wants(p)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{process: hosttest.NewProcess(), wants: wants}
	t.Cleanup(w.process.Close)
	w.process.Agent = &hosttest.Agent{}
	w.worker = w.process.AddWorker(hosttest.NewNative)
	if !w.worker.LoadBoth(plan.Append(nil, p)) {
		t.Fatalf("the plan was refused: %v", w.process.Logs)
	}
	w.publish(t, endpoints)
	return w
}

// TestWeightedRandom compares how often each endpoint is picked with its share of the totals: chi-square with a chance of one in
// a thousand, for a seed that does not change.
func TestWeightedRandom(t *testing.T) {
	p := policy{
		plugins: "- {type: queue-scorer}\n- {type: kv-cache-utilization-scorer}\n- {type: weighted-random-picker}\n",
		profile: "  - {pluginRef: queue-scorer}\n  - {pluginRef: kv-cache-utilization-scorer, weight: 2}\n  - {pluginRef: weighted-random-picker}\n",
		scorers: []scorer{{1, queue}, {2, kv}},
	}
	rnd := rand.New(rand.NewPCG(3, 7))
	endpoints := fleet(rnd, 6)
	w, oracle := start(t, p.doc(), endpoints), newEPP(endpoints, nil, p.scorers)
	count := map[string]float64{}
	for range requests {
		r := draw(rnd)
		stream := w.worker.Open(httpRequest(&r))
		stream.Receive()
		address, _ := stream.RequestHeader(names.HeaderDestination)
		count[oracle.nameOf(address)]++
		stream.Forward()
		stream.Close()
	}
	if err := fits(count, oracle.totals(&request{}), 20.515); err != nil { // five degrees of freedom
		t.Error(err)
	}
}

// fits compares counts with shares.
func fits(count, share map[string]float64, limit float64) error {
	sum, all, chi := 0.0, 0.0, 0.0
	for name, v := range share {
		sum, all = sum+v, all+count[name]
	}
	for name, v := range share {
		want := all * v / sum
		chi += (count[name] - want) * (count[name] - want) / want
	}
	if !(chi <= limit) || all != requests {
		return errors.New(fmt.Sprint("chi-square ", chi, ", counts ", count, ", shares ", share))
	}
	return nil
}
