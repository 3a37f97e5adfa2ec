package sched

import (
	"strings"
	"testing"

	"github.com/zerohop/zerohop/shared/plan"
)

func TestTune(t *testing.T) {
	report := func(size, blocks uint32) metrics { return metrics{blockSize: size, numBlocks: blocks} }
	tests := []struct {
		name     string
		prefix   plan.Prefix
		reports  []metrics
		block    int
		max      int
		capacity []int // of each endpoint
	}{
		{
			"nothing reported",
			plan.Prefix{AutoTune: true, BlockSizeTokens: 16, MaxPrefixTokens: 131072, LRUCapacityPerServer: 31250},
			[]metrics{{}},
			64, 2048,
			[]int{31250},
		},
		{
			"small engine blocks",
			plan.Prefix{AutoTune: true, BlockSizeTokens: 16, MaxPrefixTokens: 131072, LRUCapacityPerServer: 31250},
			[]metrics{report(16, 19208), {}},
			64, 2048,
			[]int{4802, 31250},
		},
		{
			"large engine blocks",
			plan.Prefix{AutoTune: true, BlockSizeTokens: 16, MaxPrefixTokens: 131072, LRUCapacityPerServer: 31250},
			[]metrics{report(256, 1000)},
			256, 512,
			[]int{1000},
		},
		{
			"autoTune off",
			plan.Prefix{BlockSizeTokens: 128, MaxPrefixBlocks: 77, LRUCapacityPerServer: 500},
			[]metrics{report(16, 19208)},
			128, 77,
			[]int{500},
		},
		{
			"configured below the smallest",
			plan.Prefix{BlockSizeTokens: 16, MaxPrefixBlocks: 2048, LRUCapacityPerServer: 500},
			[]metrics{report(16, 19208)},
			64, 2048,
			[]int{500},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(len(tt.reports))
			p.Prefix = tt.prefix
			s := newScheduler(t, p)
			publish(t, s, p, 1, 1*ms, tt.reports...)
			if s.BlockTokens() != tt.block || s.MaxBlocks() != tt.max {
				t.Errorf("blocks of %d tokens, at most %d; want %d, %d", s.BlockTokens(), s.MaxBlocks(), tt.block, tt.max)
			}
			for i, want := range tt.capacity {
				if got := s.caps[slotOf(t, s, letter(i))]; got != want {
					t.Errorf("capacity of %s is %d, want %d", letter(i), got, want)
				}
			}
		})
	}
}

func TestBlockSizeChangeFlushes(t *testing.T) {
	p := testPlan(2)
	s := newScheduler(t, p)
	route(t, s, "A", []uint64{1, 2})
	publish(t, s, p, 1, 1*ms, metrics{blockSize: 32, numBlocks: 10}, metrics{blockSize: 256, numBlocks: 10})
	first := s.BlockTokens()
	if first != 64 && first != 256 {
		t.Fatalf("block size %d", first)
	}
	publish(t, s, p, 2, 2*ms, metrics{blockSize: 256, numBlocks: 10}, metrics{blockSize: 32, numBlocks: 10})
	if s.BlockTokens() != first {
		t.Error("the block size changed although an endpoint still reports it")
	}
	publish(t, s, p, 3, 3*ms, metrics{blockSize: 512, numBlocks: 10}, metrics{blockSize: 512, numBlocks: 10})
	if s.BlockTokens() != 512 || s.Stats(3*ms).IndexRecords != 0 {
		t.Errorf("block size %d, %d records", s.BlockTokens(), s.Stats(3*ms).IndexRecords)
	}
}

func TestBlockSizeChangeForgetsUniversalPrefix(t *testing.T) {
	p := testPlan(1)
	s := newScheduler(t, p)
	for i := range uint64(40) {
		route(t, s, "A", []uint64{1, 2, 100 + i})
	}
	universal := func() int32 {
		var d Decision
		pr := promptOf([]uint64{1, 2, 500})
		pr.BlockTokens = s.BlockTokens()
		s.Decide(1*ms, pr, &d)
		return d.Universal
	}
	if got := universal(); got != 2 {
		t.Fatalf("%d universal blocks, want 2", got)
	}
	publish(t, s, p, 1, 1*ms, metrics{numBlocks: 10, blockSize: 256})
	if got := universal(); got != 0 {
		t.Errorf("%d universal blocks after the block size has changed", got)
	}
}

func TestEvictionsAreNeverForgotten(t *testing.T) {
	p := testPlan(1)
	p.Prefix.LRUCapacityPerServer = 2
	s := newScheduler(t, p)
	for _, bound := range []int{p.Bounds.IndexBlocks, 1 << 10, 1 << 12} {
		before := s.Stats(1).IndexEvicted
		p.Bounds.IndexBlocks = bound
		if err := s.Reconfigure(p); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats(1).IndexEvicted; got != before {
			t.Errorf("evicted %d before a bound of %d, %d after", before, bound, got)
		}
		for i := range uint64(4) {
			route(t, s, "A", []uint64{uint64(bound) + i})
		}
		if got := s.Stats(1).IndexEvicted; got < before+2 {
			t.Errorf("evicted %d with a bound of %d, %d before", got, bound, before)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	p := testPlan(1)
	p.Plugins[2].Parameters = plan.Params{{Name: "matchLengthWeight", Num: 2}}
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "x", Type: "queue-depth-scorer"})
	p.Profiles[0].Picker = "queue"
	p.Profiles[0].Filters = []string{"nobody"}
	p.ProfileHandler = ""
	_, err := New(p, 1)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"plugins[2].parameters: matchLengthWeight: want a number from 0 to 1",
		`plugins[5].type: plugin type "queue-depth-scorer" is not registered`,
		`profiles[0].picker: plugin "queue" is no picker`,
		`profiles[0].filters[0]: plugin "nobody" does not exist`,
		`profileHandler: plugin "" does not exist`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %s:\n%v", want, err)
		}
	}
}
