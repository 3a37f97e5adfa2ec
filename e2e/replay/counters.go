package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// counters are what one endpoint says of itself, from its metrics page, as a real vLLM names them.
type counters struct {
	requests float64 // finished
	queries  float64 // prompt tokens looked up in the prefix cache
	hits     float64 // of them found
}

// maxPage bounds a metrics page.
const maxPage = 4 << 20

// readCounters reads the counters of the endpoint at addr ("ip:port").
func readCounters(ctx context.Context, client *http.Client, addr string) (counters, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return counters{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return counters{}, fmt.Errorf("read counters of %s: %w", addr, err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err != nil {
		return counters{}, fmt.Errorf("read counters of %s: %w", addr, err)
	}
	c, err := parseCounters(page)
	if err != nil {
		return counters{}, fmt.Errorf("read counters of %s: %w", addr, err)
	}
	return c, nil
}

// parseCounters adds up the samples of each family over their labels.
func parseCounters(page []byte) (counters, error) {
	sums := map[string]float64{}
	sc := bufio.NewScanner(bytes.NewReader(page))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		name, _, ok := strings.Cut(line, "{")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		switch name {
		case "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total", "vllm:request_success_total":
		default:
			continue
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return counters{}, fmt.Errorf("parse %s: %w", name, err)
		}
		sums[name] += v
	}
	if err := sc.Err(); err != nil {
		return counters{}, err
	}
	if _, ok := sums["vllm:prefix_cache_queries_total"]; !ok {
		return counters{}, fmt.Errorf("the page has no vllm:prefix_cache_queries_total")
	}
	return counters{
		requests: sums["vllm:request_success_total"],
		queries:  sums["vllm:prefix_cache_queries_total"],
		hits:     sums["vllm:prefix_cache_hits_total"],
	}, nil
}
