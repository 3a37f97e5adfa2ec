//go:build vllm

package vllm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestVLLM runs everything on one pair of servers, since starting them costs most. The parts that break servers come
// last.
func TestVLLM(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), totalTimeout)
	defer cancel()
	b := openBed(ctx, t)
	c := openClient(t, b.in, b.stack.URL())
	defer b.logStats(t)

	t.Run("prefix hits", func(t *testing.T) { b.testPrefixHits(ctx, t, c) })
	t.Run("repeats are cached", func(t *testing.T) { testRepeats(ctx, t, c) })
	t.Run("stream unchanged", func(t *testing.T) { b.testStreamUnchanged(ctx, t) })
	t.Run("agent sees the metrics", func(t *testing.T) { b.testSnapshot(ctx, t, c) })

	b.retryUnanswered(ctx, t)
	t.Run("SIGTERM in a stream", func(t *testing.T) { b.testTerminate(ctx, t, c) })
	t.Run("engine killed in a stream", func(t *testing.T) { b.testEngineKilled(ctx, t, c) })
}

// The prefix workload: a document of 1.5 KB and a short question about it, three times each in random order. With this
// seed round robin over two endpoints hits 10 times, a little more than the 9.6 of the mean over seeds; 16 are possible.
const (
	prefixes        = 8
	prefixBytes     = 1500
	askedPerPrefix  = 3
	workloadSeed    = 1
	wantTimesBetter = 1.5
)

// workload returns the requests in the order in which they are sent. The salt keeps the caches of two runs apart, on
// the servers and in zerohop: each run starts cold.
func workload(salt string) []request {
	rng := rand.New(rand.NewPCG(workloadSeed, 0))
	var list []request
	for p := range prefixes {
		document := text(rng, prefixBytes)
		for i := range askedPerPrefix {
			list = append(list, request{
				API:       []string{"chat", "completions"}[p%2],
				Prompt:    document + fmt.Sprintf(" Question %d?", i),
				MaxTokens: 4,
				Stream:    i%2 == 0,
				Extra:     map[string]any{"cache_salt": salt},
			})
		}
	}
	order := rand.New(rand.NewPCG(workloadSeed, 0))
	order.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// text returns n bytes of random words.
func text(rng *rand.Rand, n int) string {
	words := []string{"the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "hello", "world", "router", "test"}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

// testPrefixHits compares the fleet's prefix hit rate, by vLLM's own counters, with round robin.
func (b *bed) testPrefixHits(ctx context.Context, t *testing.T, c *client) {
	run := func(c *client, salt string) float64 {
		before, _ := b.metrics(ctx, t)
		for _, r := range workload(salt) {
			c.do(ctx, t, r)
		}
		after, _ := b.metrics(ctx, t)
		return (after[PrefixHits] - before[PrefixHits]) / (after[PrefixQueries] - before[PrefixQueries])
	}
	roundRobin := run(openClient(t, b.in, b.roundRobin), "round robin")
	zerohop := run(c, "zerohop")
	t.Logf("prefix hit rate: round robin %.3f, zerohop %.3f, %.2f times", roundRobin, zerohop, zerohop/roundRobin)
	if roundRobin <= 0 || zerohop < wantTimesBetter*roundRobin {
		t.Errorf("want at least %.1f times", wantTimesBetter)
	}
}

// testRepeats sends each kind of request twice: the answer is the same, and the second time most of it comes from the
// cache, which is only so if the same endpoint gets it.
func testRepeats(ctx context.Context, t *testing.T, c *client) {
	for _, api := range []string{"chat", "completions"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", api, stream), func(t *testing.T) {
				r := request{
					API: api, Prompt: text(rand.New(rand.NewPCG(2, 0)), 800), MaxTokens: 24, Stream: stream,
					Extra: map[string]any{"cache_salt": salt(t), "ignore_eos": true},
				}
				first, second := c.do(ctx, t, r), c.do(ctx, t, r)
				switch {
				case first.Text == "" || first.Text != second.Text:
					t.Errorf("texts differ or are empty: %q, %q", first.Text, second.Text)
				case stream && second.Chunks < 2:
					t.Errorf("the stream came in %d pieces", second.Chunks)
				case second.FinishReason != "length":
					t.Errorf("finish reason %q, want length", second.FinishReason)
				case first.CachedTokens == nil || *first.CachedTokens != 0:
					t.Errorf("first: cached tokens %v, want 0", first.CachedTokens)
				case second.CachedTokens == nil || *second.CachedTokens < second.PromptTokens-BlockTokens:
					t.Errorf("second: cached tokens %v of %d, want all but the last block", second.CachedTokens, second.PromptTokens)
				}
			})
		}
	}
}
