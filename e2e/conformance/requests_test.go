package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zerohop/zerohop/e2e/schedbed"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
)

// equalWeights is a configuration whose scorers weigh the same.
func equalWeights(types ...string) string {
	doc := header + "plugins:\n"
	for _, typ := range types {
		doc += "- {type: " + typ + "}\n"
	}
	return doc
}

func chatOf(model string) *hosttest.Request {
	return post(pathChat, `{"model":"`+model+`","messages":[{"role":"user","content":"hello"}]}`)
}

// loaded returns pods with waiting requests and KV usage, in pairs.
func loaded(pairs ...float64) []schedbed.Server {
	out := pods(len(pairs) / 2)
	for i := range out {
		out[i].Waiting, out[i].KV, out[i].MaxLoRA = uint32(pairs[2*i]), float32(pairs[2*i+1]), 2
	}
	return out
}

// fourScorers are those of R9 and R10.
var fourScorers = equalWeights("queue-scorer", "kv-cache-utilization-scorer", "prefix-cache-scorer", "lora-affinity-scorer")

func requestRows() []row {
	hello := chatOf("m")
	return []row{
		{id: "R3", what: "a body that is not JSON: 400, another text", status: deviation, ref: "N1", check: func() error {
			return badRequest("no healthy upstream", "invalid_json")
		}},
		{id: "R4", what: "no model: 400, another text", status: deviation, ref: "N1", check: func() error {
			return badRequest(`{"prompt":"hello world"}`, "missing_model")
		}},
		{id: "R5", what: "no body and no endpoints: 500 under parity epp, another text", status: deviation, ref: "N1", check: func() error {
			return answers("", nil, get("/v1/models"), 500, "no_endpoints")
		}},
		unhinted("R6", "subset hint that no endpoint meets: served as without", "192.168.1.99:8000", loaded(3, .2, 0, .1, 10, .2), "ns/b"),
		unhinted("R7", "subset hint of three endpoints: the fourth is better", "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80", loaded(5, .2, 5, .1, 10, .2, 0, 0), "ns/d"),
		unhinted("R8", "subset hint of the busiest endpoint: the idle one is picked", "10.0.0.3:80", loaded(5, .2, 0, .1, 10, .2), "ns/b"),
		{id: "R9", what: "the adapter is on the second endpoint", needs: []string{"lora-affinity-scorer"}, check: func() error {
			servers := loaded(10, .2, 10, .4, 10, .3)
			servers[1].Active = []string{"sql-lora"}
			servers[0].Active, servers[2].Active = []string{"x", "y"}, []string{"x", "y"} // no room
			return goesTo(fourScorers, servers, chatOf("sql-lora"), "ns/b")
		}},
		{id: "R10", what: "the adapter's endpoint is busy, and the others are full", needs: []string{"lora-affinity-scorer"}, check: func() error {
			servers := loaded(6, .2, 0, .85, 10, .9)
			servers[0].Active = []string{"sql-lora"}
			servers[1].Active, servers[2].Active = []string{"x", "y"}, []string{"x", "y"}
			return goesTo(fourScorers, servers, chatOf("sql-lora"), "ns/a")
		}},
		{id: "R11", what: "a path that is passed through", check: func() error {
			doc := equalWeights("queue-scorer", "kv-cache-utilization-scorer")
			return errors.Join(
				goesTo(doc, loaded(3, .2, 0, .1, 10, .2), post("/v1/something", "any { body"), "ns/b"),
				goesTo(doc, loaded(3, .2, 0, .1, 10, .2), get("/v1/models"), "ns/b"),
			)
		}},
		{id: "R12", what: "a body in two chunks is read as one", check: checkR12},
		{id: "R14", what: "no prompt, no messages: 400", check: func() error {
			return errors.Join(
				badRequest(`{"model":"m"}`, "missing_prompt"),
				answers("", pods(1), post(pathChat, `{"model":"m","messages":[]}`), 400, "missing_prompt"),
			)
		}},
		{id: "R17", what: "an admitter's denial: 500 under parity epp", needs: []string{"probabilistic-admitter"}, check: func() error {
			doc := equalWeights("queue-scorer", "probabilistic-admitter")
			objectives := parityEPP + "objectives: [{name: batch, priority: -1}]\n"
			batch := chatOf("m")
			batch.Headers = append(batch.Headers, hosttest.Pairs("x-llm-d-inference-objective", "batch")...)
			status := func(want int) func(*hosttest.Result, string) error {
				return func(res *hosttest.Result, _ string) error { return differ("status", res.Status, want) }
			}
			busy := loaded(50, .9)
			return errors.Join(
				one(doc+objectives, busy, batch, status(500)), one(doc+objectives, busy, hello, status(200)),
				one(doc+objectives, loaded(0, 0), batch, status(200)),
			)
		}},
		{id: "R19", what: "three picks are announced in their order", check: checkR19},
	}
}

// unhinted returns a row of the subset hint, which zerohop neither reads nor lets pass: the request goes to the best of all
// endpoints.
func unhinted(id, what, hint string, servers []schedbed.Server, name string) row {
	return row{id: id, what: what, status: deviation, ref: "N17", check: func() error {
		doc := equalWeights("queue-scorer", "kv-cache-utilization-scorer")
		r := chatOf("m")
		r.Headers = append(r.Headers, hosttest.Pairs(names.HeaderDestinationSubset, hint)...)
		return errors.Join(goesTo(doc, servers, r, name), one(doc+parityEPP, servers, r, func(res *hosttest.Result, _ string) error {
			return differ("hint reaches the model server:", res.Sent.Has(names.HeaderDestinationSubset), false)
		}))
	}}
}

// checkR12 sends a prompt whole and then in two chunks: the second time all of it is known.
func checkR12() error {
	w, err := start(parityEPP, pods(1))
	if err != nil {
		return err
	}
	r := post(pathChat, `{"model":"m","messages":[{"role":"user","content":"`+strings.Repeat("many words ", 200)+`"}]}`)
	first, _ := w.send(r)
	blocks := hosttest.Pick(string(first.Pick), "total")
	r.Chunk = len(r.Body)/2 + 1
	second, _ := w.send(r)
	pick := string(second.Pick)
	if blocks == "" || blocks == "0" {
		err = fmt.Errorf("the first request has %q blocks", blocks)
	}
	return errors.Join(err, differ("reason", second.Reason(), "scored"), differ("matched", hosttest.Pick(pick, "matched"), blocks), differ("total", hosttest.Pick(pick, "total"), blocks), w.close())
}

func checkR19() error {
	doc := header + "plugins:\n- {type: queue-scorer}\n- {type: max-score-picker, parameters: {maxNumOfEndpoints: 3}}\n" +
		parityEPP + "destinationMode: list\n"
	servers := loaded(1, 0, 9, 0, 2, 0, 0, 0)
	want := servers[3].Address + "," + servers[0].Address + "," + servers[2].Address
	return one(doc, servers, chatOf("m"), func(_ *hosttest.Result, destination string) error {
		return differ("destination", destination, want)
	})
}
