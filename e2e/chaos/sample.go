package main

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// sampleEvery is the time between two looks at everybody's counts.
const sampleEvery = 250 * time.Millisecond

// Sample is what everybody says at one time. A count that could not be had is missing.
type Sample struct {
	At        time.Time
	Clients   int
	Endpoints map[string]int // requests in flight by address, as the endpoints say
	Agent     map[string]int // the same as the filters told the agent; nil without agent
	Tokens    int            // in flight in all, as the filters told the agent

	RSS, Linear, AgentRSS int64 // bytes; 0 where not looked at
}

// inFlightLine matches a line of the agent's metrics.
var inFlightLine = regexp.MustCompile(`(?m)^zerohop_agent_endpoint_in_flight_(requests|tokens)\{address="([^"]+)",[^}]*\} ([0-9.e+]+)$`)

// parseInFlight reads requests in flight by address and tokens in flight in all from the agent's metrics. An endpoint with two
// names, one of which drains, counts once with the sum.
func parseInFlight(page []byte) (requests map[string]int, tokens int) {
	requests = map[string]int{}
	for _, m := range inFlightLine.FindAllSubmatch(page, -1) {
		n, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			continue
		}
		if string(m[1]) == "tokens" {
			tokens += int(n)
			continue
		}
		requests[string(m[2])] += int(n)
	}
	return requests, tokens
}

// look takes one sample.
func (b *bed) look(ctx context.Context, memory bool) Sample {
	s := Sample{Endpoints: map[string]int{}}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, e := range b.endpoints {
		if !e.there() {
			continue
		}
		asked.Go(func() {
			st, err := e.stats(ctx)
			if err != nil || !e.there() {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			s.Endpoints[e.addr] = int(st.InFlight)
		})
	}
	if b.agentReady() {
		asked.Go(func() {
			if page, err := ask(ctx, http.MethodGet, b.stack.AgentURL()+"/metrics", nil); err == nil {
				s.Agent, s.Tokens = parseInFlight(page)
			}
		})
	}
	asked.Wait()
	s.At, s.Clients = time.Now(), int(b.load.inFlight.Load())
	if memory {
		m := readMemory(b.stack.Envoy.Pid())
		s.RSS, s.Linear = m.rss, m.linear
		if b.agentReady() {
			s.AgentRSS = readMemory(b.stack.Agent.Pid()).rss
		}
	}
	return s
}

// sample looks until ctx ends.
func (b *bed) sample(ctx context.Context) []Sample {
	var all []Sample
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return all
		case <-tick.C:
		}
		all = append(all, b.look(ctx, i%4 == 0))
	}
}
