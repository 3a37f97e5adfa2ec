// Package workload is what the measurement of scheduling decisions runs, natively and in a Wasm module: one scheduler, endpoints
// with labels, adapters and load, and prompts of which half is known. It is linked into the module, and so does without the heavy
// parts of the standard library.
package workload

import (
	"math"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// Case is the size of one measurement.
type Case struct {
	Endpoints, Blocks int // blocks of a prompt
}

// Cases returns all sizes.
func Cases() []Case {
	return []Case{{4, 10}, {4, 2048}, {100, 10}, {100, 2048}, {1000, 10}, {1000, 2048}}
}

const (
	prompts     = 16
	blockTokens = 64
	ms          = 1_000_000
)

// Run is a scheduler that has seen its traffic.
type Run struct {
	sched  *sched.Scheduler
	ids    [][]uint64 // by prompt
	prompt sched.Prompt
	d      sched.Decision
	now    uint64
	next   int
}

// New starts a scheduler on p and sends it requests until the index is full.
func New(p *plan.Plan, c Case) (*Run, error) {
	p.Prefix.LRUCapacityPerServer = max(2*c.Blocks, 64)
	s, err := sched.New(p, 1)
	if err != nil {
		return nil, err
	}
	r := &Run{sched: s, now: 1_000_000 * ms}
	if err := r.publish(c.Endpoints); err != nil {
		return nil, err
	}
	for i := range prompts {
		ids := make([]uint64, c.Blocks)
		for b := range ids {
			ids[b] = uint64(i<<20 + b + 1)
			if b < c.Blocks/2 {
				ids[b] = uint64(i%4<<20 + b + 1)
			}
		}
		r.ids = append(r.ids, ids)
	}
	r.prompt = sched.Prompt{
		Seed: 7, IDs: make([]uint64, c.Blocks), Starts: []int32{0}, Tokens: c.Blocks * blockTokens, BlockTokens: blockTokens,
		Model: []byte("adapter-1"), Headers: headers(s.Wants()), HasBody: true,
	}
	for range 4 * prompts * min(c.Endpoints, prompts) {
		r.Decide()
		s.Commit(r.now, &r.prompt, &r.d)
		s.FirstByte(&r.d)
		s.Done(r.now, &r.d, false)
	}
	return r, nil
}

// Decide ranks the endpoints for the next prompt.
func (r *Run) Decide() {
	copy(r.prompt.IDs, r.ids[r.next%prompts]) // Decide overwrites them
	r.next++
	r.sched.Decide(r.now, &r.prompt, &r.d)
}

// headers gives each header that is read a value.
func headers(w *scorers.Wants) scorers.Headers {
	var h scorers.Headers
	h.Reset(len(w.Headers))
	for i := range w.Headers {
		h.Set(scorers.HeaderID(i), []byte("a"), scorers.MaxHeaderText)
	}
	return h
}

// publish gives the scheduler n endpoints.
func (r *Run) publish(n int) error {
	w := r.sched.Wants()
	facts := snapshot.Facts{Labels: w.Labels, Attributes: w.Attributes}
	x := snapshot.Extras{Places: snapshot.Places(2)}
	eps := make([]snapshot.Endpoint, n)
	for i := range eps {
		name := []byte("ns/pod-" + strconv.Itoa(i))
		address := []byte("10.0." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250+1) + ":8000")
		eps[i] = snapshot.Endpoint{
			ID: snapshot.EndpointID(name, address), Name: name, Address: address, ScrapeSeq: 1, Waiting: uint32(i % 7),
			Running: uint32(i % 11), KVUsage: float32(i%10) / 10, BlockSize: 16, NumBlocks: 1 << 20,
		}
		facts.Endpoints = append(facts.Endpoints, snapshot.EndpointFacts{ID: eps[i].ID, Labels: labels(w.Labels, i)})
		attributes := make([]float64, len(w.Attributes))
		for k := range attributes {
			attributes[k] = math.Mod(float64(i), 17)
		}
		x.Attributes = append(x.Attributes, attributes)
		if w.LoRA {
			x.LoRA = append(x.LoRA, snapshot.LoRA{Known: true, Max: 4, Active: []uint64{adapter(i % 4), adapter(i%4 + 1)}})
		}
	}
	sheet, err := snapshot.NewSheet(&facts)
	if err != nil {
		return err
	}
	x.Sheet = sheet
	blob, err := snapshot.AppendExtras(nil, 1, eps, &x)
	if err != nil {
		return err
	}
	v, err := snapshot.Open(blob)
	if err != nil {
		return err
	}
	r.sched.Apply(v, r.now, r.now)
	return nil
}

func adapter(i int) uint64 { return xxhash.Sum64String("adapter-" + strconv.Itoa(i)) }

// labels gives endpoint i a value for each label that is read.
func labels(keys []string, i int) map[string]string {
	out := make(map[string]string, len(keys))
	for _, key := range keys {
		switch key {
		case "llm-d.ai/role":
			out[key] = "decode"
		case "llm-d.ai/context-length-range":
			out[key] = [...]string{"0-1000", "0-200000", "500-64000"}[i%3]
		default:
			out[key] = [...]string{"a", "b"}[i%2]
		}
	}
	return out
}

// How a case is measured: many short batches, of which the first ones warm up the code.
const (
	batchNs = 2 * ms
	warm    = 100
	batches = 200
)

// Measure returns the nanoseconds of a decision: the lowest decile of the means of batches, since whatever else the machine does
// only adds. clock returns monotonic nanoseconds.
func (r *Run) Measure(clock func() uint64) float64 {
	for range warm {
		r.batch(clock)
	}
	means := make([]float64, batches)
	for i := range means {
		means[i] = r.batch(clock)
	}
	slices.Sort(means)
	return means[batches/10]
}

func (r *Run) batch(clock func() uint64) float64 {
	start, n := clock(), 0
	for {
		for range 16 { // the clock of a proxy is a host call
			r.Decide()
		}
		n += 16
		if now := clock(); now-start >= batchNs {
			return float64(now-start) / float64(n)
		}
	}
}
