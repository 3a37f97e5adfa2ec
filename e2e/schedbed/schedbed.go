// Package schedbed runs the scheduler of one worker on a configuration as an operator writes it and on endpoints as the agent
// publishes them, without a filter. It is for tests and measurements only.
package schedbed

import (
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/config"
)

// Server is one endpoint with what its engine reports. The zero value beside name and address is idle.
type Server struct {
	Name, Address string // namespace/name, ip:port
	Labels        map[string]string

	Waiting, Running     uint32
	KV                   float32
	BlockSize, NumBlocks uint32
	Unscraped            bool
	AgeMs                uint32

	Active, WaitingFor []string // adapters
	MaxLoRA            uint16
	Models             []string           // served; nil if unknown
	Attributes         map[string]float64 // by "producer/name"
}

// Snapshot encodes servers with what wants names of them.
func Snapshot(version uint64, wants *scorers.Wants, servers []Server) ([]byte, error) {
	eps := make([]snapshot.Endpoint, len(servers))
	facts := snapshot.Facts{Labels: wants.Labels, Attributes: wants.Attributes}
	var x snapshot.Extras
	for i := range servers {
		v := &servers[i]
		name, address := []byte(v.Name), []byte(v.Address)
		eps[i] = snapshot.Endpoint{
			ID: snapshot.EndpointID(name, address), Name: name, Address: address, ScrapeAgeMs: v.AgeMs, ScrapeSeq: uint32(version),
			Waiting: v.Waiting, Running: v.Running, KVUsage: v.KV, BlockSize: v.BlockSize, NumBlocks: v.NumBlocks,
		}
		if v.Unscraped {
			eps[i].ScrapeAgeMs = snapshot.NeverScraped
		}
		facts.Endpoints = append(facts.Endpoints, snapshot.EndpointFacts{
			ID: eps[i].ID, Labels: v.Labels, Models: hashes(v.Models), ModelsKnown: v.Models != nil,
		})
		if wants.LoRA {
			x.LoRA = append(x.LoRA, snapshot.LoRA{
				Known: v.MaxLoRA > 0, Max: v.MaxLoRA, Active: hashes(v.Active), Waiting: hashes(v.WaitingFor),
			})
			x.Places = max(x.Places, snapshot.Places(len(v.Active)+len(v.WaitingFor)))
		}
		x.Attributes = append(x.Attributes, v.attributes(wants.Attributes))
	}
	sheet, err := snapshot.NewSheet(&facts)
	if err != nil {
		return nil, fmt.Errorf("encode facts: %w", err)
	}
	x.Sheet = sheet
	return snapshot.AppendExtras(nil, version, eps, &x)
}

func (v *Server) attributes(keys []string) []float64 {
	out := make([]float64, len(keys))
	for i, key := range keys {
		value, ok := v.Attributes[key]
		if !ok {
			value = math.NaN()
		}
		out[i] = value
	}
	return out
}

func hashes(names []string) []uint64 {
	out := make([]uint64, len(names))
	for i, name := range names {
		out[i] = xxhash.Sum64String(name)
	}
	return out
}

// Bed is a scheduler with its plan.
type Bed struct {
	*sched.Scheduler
	Plan   *plan.Plan
	Config *config.Config
	Now    uint64 // monotonic ns; the caller moves it

	version uint64
}

// New loads a configuration and starts a scheduler on it.
func New(doc []byte, seed uint64) (*Bed, error) {
	c, err := config.Load(doc, registry.Specs())
	if err != nil {
		return nil, err
	}
	p := c.Plan(config.Settings{AgentCluster: "agent"})
	s, err := sched.New(p, seed)
	if err != nil {
		return nil, err
	}
	return &Bed{Scheduler: s, Plan: p, Config: c, Now: 1_000_000_000_000}, nil
}

// Publish makes servers the endpoints, scraped at the bed's time less their age.
func (b *Bed) Publish(servers []Server) error {
	b.version++
	blob, err := Snapshot(b.version, b.Wants(), servers)
	if err != nil {
		return err
	}
	v, err := snapshot.Open(blob)
	if err != nil {
		return fmt.Errorf("open the snapshot: %w", err)
	}
	b.Apply(v, b.Now, b.Now)
	return nil
}

// Slot returns the slot of the endpoint called name; -1 if there is none.
func (b *Bed) Slot(name string) int32 {
	for slot := range b.View().ID {
		if string(b.Name(int32(slot))) == name {
			return int32(slot)
		}
	}
	return -1
}

// SendTo decides p, and commits it to the endpoint called name whatever the outcome. The request is over at once.
func (b *Bed) SendTo(name string, p *sched.Prompt) {
	var d sched.Decision
	b.Decide(b.Now, p, &d)
	slot := b.Slot(name)
	d.Slots[0], d.Gen[0], d.N = slot, b.Gen(slot), max(d.N, 1)
	b.Commit(b.Now, p, &d)
	b.Done(b.Now, &d, false)
}
