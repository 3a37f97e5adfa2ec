package wasm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// sizingEnv is the environment variable with the file that TestSizing writes its table to. Without it only the small cases run.
const sizingEnv = "ZEROHOP_SIZING"

// sizing is what a process with two workers takes when their prefix indexes are full.
type sizing struct {
	Endpoints   int  `json:"endpoints"`
	Blocks      int  `json:"index_blocks"`      // bound of (endpoint, block) records
	StateBytes  int  `json:"state_bytes"`       // of it, what zerohop_vm_bytes says of the leader
	VMBytes     int  `json:"vm_bytes"`          // linear memory of one worker's VM
	SharedBytes int  `json:"shared_data_bytes"` // shared data of the process
	Small       bool `json:"-"`                 // also runs without sizingEnv
}

// stateBytes returns what the state of a VM takes at most by docs/sizing.md: for each block its run, record and place in a hash
// table, and a bit for each endpoint, whose number is rounded up to 64 times a power of two; something for each endpoint;
// and what there is in any case.
func (c *sizing) stateBytes() int {
	words := 1
	for 64*words < c.Endpoints {
		words *= 2
	}
	return c.Blocks*(130+8*words) + c.Endpoints*8<<10 + 4<<20
}

// sharedBytes returns what the shared data of three VMs take at most: for each its log and its load vector, and one dump.
func (c *sizing) sharedBytes() int {
	return 3*(plan.DefaultSharing.LogBytes+c.Endpoints*128) + c.Blocks*9 + 1<<20
}

func TestSizing(t *testing.T) {
	file := os.Getenv(sizingEnv)
	cases := []sizing{
		{Endpoints: 4, Blocks: 1 << 14, Small: true},
		{Endpoints: 16, Blocks: 1 << 17},
		{Endpoints: 16, Blocks: 1 << 20},
		{Endpoints: 100, Blocks: 1 << 17},
		{Endpoints: 100, Blocks: 1 << 20},
		{Endpoints: 1000, Blocks: 1 << 17},
		{Endpoints: 1000, Blocks: 1 << 20},
	}
	var done []sizing
	for _, c := range cases {
		if file == "" && !c.Small {
			continue
		}
		t.Run(strconv.Itoa(c.Endpoints)+" endpoints, "+strconv.Itoa(c.Blocks)+" blocks", func(t *testing.T) {
			c.measure(t)
			t.Logf("%.1f MB of linear memory in each VM, %.1f MB of it state, and %.2f MB of shared data",
				float64(c.VMBytes)/1e6, float64(c.StateBytes)/1e6, float64(c.SharedBytes)/1e6)
			done = append(done, c)
		})
	}
	if file == "" {
		return
	}
	text, err := json.MarshalIndent(done, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// measure fills the index by cold prompts that two workers take in turns.
func (c *sizing) measure(t *testing.T) {
	const promptBlocks = 2048
	p := hosttest.NewProcess()
	t.Cleanup(p.Close)
	pl := lifecycletest.Plan(plan.DestinationHeader, c.Endpoints)
	pl.Agent = plan.Agent{}
	pl.Bounds = plan.Bounds{Endpoints: c.Endpoints, IndexBlocks: c.Blocks}
	pl.Prefix.LRUCapacityPerServer = c.Blocks / c.Endpoints
	var workers []*hosttest.Worker
	for range 3 { // the first plays the main thread
		w := p.AddWorker(module.New)
		if !w.LoadBoth(plan.Append(nil, pl)) {
			t.Fatalf("plan refused: %v %v", p.Logs, p.Faults)
		}
		workers = append(workers, w)
	}
	p.Run(time.Second)
	blocks := min(promptBlocks, c.Blocks/c.Endpoints)
	for i := range 2 * c.Blocks / blocks {
		r := lifecycletest.Completions(lifecycletest.CompletionsBody(lifecycletest.Text("sizing "+strconv.Itoa(i), blocks*256)))
		r.Chunk = 64 << 10
		workers[1+i%2].Do(&r)
		p.Advance(10 * time.Millisecond)
		if i%10 == 9 {
			p.Run(100 * time.Millisecond)
		}
	}
	p.Run(10 * time.Second) // a whole dump
	c.StateBytes = int(p.Metric("zerohop_vm_bytes").Value)
	c.VMBytes = workers[1].Module().(*VM).MemoryBytes()
	c.SharedBytes = p.SharedBytes("")
	if len(p.Faults) > 0 {
		t.Errorf("faults: %q", p.Faults)
	}
	if p.Metric("zerohop_prefix_evicted_records_total").Value == 0 {
		t.Error("the index is not full")
	}
	if limit := c.stateBytes(); c.StateBytes > limit {
		t.Errorf("the state has %d bytes, more than %d", c.StateBytes, limit)
	}
	// What an array leaves behind when it has grown is used again, but not all of it: the linear memory never shrinks.
	if limit := maxMemoryBytes + 5*c.stateBytes()/2; c.VMBytes > limit {
		t.Errorf("the VM has %d bytes, more than %d", c.VMBytes, limit)
	}
	if limit := c.sharedBytes(); c.SharedBytes > limit {
		t.Errorf("the shared data have %d bytes, more than %d", c.SharedBytes, limit)
	}
}
