package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
)

func TestLoadPrefix(t *testing.T) {
	defaults := plan.Prefix{AutoTune: true, BlockSizeTokens: 16, MaxPrefixTokens: 131072, MaxPrefixBlocks: 2048, LRUCapacityPerServer: 31250}
	with := func(f func(*plan.Prefix)) plan.Prefix {
		p := defaults
		f(&p)
		return p
	}
	tests := []struct {
		name, params string
		want         plan.Prefix
		warnings     []string
	}{
		{name: "none", want: defaults},
		{
			name: "all", params: "autoTune: false, blockSizeTokens: 128, maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 7, lruCapacityPerServer: 9",
			want: plan.Prefix{BlockSizeTokens: 128, MaxPrefixBlocks: 7, LRUCapacityPerServer: 9},
		},
		{
			name: "deprecated blockSize", params: "blockSize: 256", want: with(func(p *plan.Prefix) { p.BlockSizeTokens = 256 }),
			warnings: []string{"line 3: plugins[0].parameters.blockSize: is deprecated; write blockSizeTokens"},
		},
		{
			name: "blockSize beside blockSizeTokens", params: "blockSize: 256, blockSizeTokens: 32",
			want:     with(func(p *plan.Prefix) { p.BlockSizeTokens = 32 }),
			warnings: []string{"line 3: plugins[0].parameters.blockSize: has no effect beside blockSizeTokens"},
		},
		{name: "blockSize 0", params: "blockSize: 0", want: defaults},
		{name: "no limit", params: "maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 0", want: with(func(p *plan.Prefix) {
			p.MaxPrefixTokens, p.MaxPrefixBlocks = 0, unlimitedPrefixBlocks
		})},
		{
			name: "negative numbers", params: "maxPrefixBlocksToMatch: -1, lruCapacityPerServer: -7", want: with(func(p *plan.Prefix) { p.MaxPrefixBlocks = 0 }),
			warnings: []string{
				"line 3: plugins[0].parameters.maxPrefixBlocksToMatch: is negative, which counts as 0: no limit",
				"line 3: plugins[0].parameters.lruCapacityPerServer: is negative, which counts as the default, 31250",
			},
		},
		{name: "zeros mean defaults", params: "blockSizeTokens: 0, lruCapacityPerServer: 0", want: defaults},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(header+"plugins: [{type: approx-prefix-cache-producer, parameters: {"+tt.params+"}}, {type: queue-scorer}]"), testTypes)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, c.Prefix); d != "" {
				t.Error(d)
			}
			var warnings []string
			for _, w := range c.Warnings {
				warnings = append(warnings, w.String())
			}
			if d := cmp.Diff(tt.warnings, warnings); d != "" {
				t.Error(d)
			}
		})
	}
}
