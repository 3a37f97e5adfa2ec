package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse checks that Parse never panics, calls a syntax error what encoding/json calls one, reads the same values as
// encoding/json, and that writing and reading a plan changes nothing.
func FuzzParse(f *testing.F) {
	f.Add(Append(nil, sample()))
	f.Add([]byte(`{"version":1,"destination":"a\ud83d\ude00\ud83d\u0041\udc00\/"}`))
	f.Add([]byte(`{"version":1,"x":[-0.0e+1,1E5,null,{"\\":"\b\f\r"}],"prefix":{"autoTune":false}}`))
	f.Add([]byte("{\"version\":1,\"agent\":{\"cluster\":\"\xff\xc3\"}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if errors.Is(err, ErrSyntax) {
			if json.Valid(b) && !strings.Contains(err.Error(), "nested deeper") {
				t.Fatalf("encoding/json accepts the syntax, Parse says %v", err)
			}
			return
		}
		if !json.Valid(b) {
			t.Fatalf("encoding/json refuses the syntax, Parse says %v", err)
		}
		if err != nil {
			return
		}
		var generic any
		if err := json.Unmarshal(b, &generic); err == nil { // it refuses 1e999 even where nobody reads it
			if diff := cmp.Diff(fromGeneric(generic), p, cmp.Comparer(sameParams)); diff != "" {
				t.Fatalf("encoding/json disagrees (-encoding/json +Parse):\n%s", diff)
			}
		}
		text := Append(nil, p)
		q, err := Parse(text)
		if err != nil {
			t.Fatalf("what Append writes is refused: %v\n%s", err, text)
		}
		if diff := cmp.Diff(p, q); diff != "" {
			t.Fatalf("plan changed (-first +second):\n%s", diff)
		}
		if again := Append(nil, q); !bytes.Equal(text, again) {
			t.Fatalf("text changed:\n%s\n%s", text, again)
		}
	})
}

// TestFromGeneric keeps the oracle honest.
func TestFromGeneric(t *testing.T) {
	var generic any
	if err := json.Unmarshal(Append(nil, sample()), &generic); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), fromGeneric(generic), cmp.Comparer(sameParams)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// fromGeneric builds a plan from what encoding/json decodes. Parameters lose their order, see sameParams.
func fromGeneric(v any) *Plan {
	o := generic{v}
	agent, bounds, prefix := o.get("agent"), o.get("bounds"), o.get("prefix")
	return &Plan{
		Version:     o.get("version").int(),
		Revision:    o.get("revision").string(),
		Destination: o.get("destination").string(),
		FailureMode: o.get("failureMode").string(),
		Parity:      o.get("parity").string(),
		Agent: Agent{
			Cluster:       agent.get("cluster").string(),
			PollTimeoutMs: agent.get("pollTimeoutMs").int(),
			StaleMs:       agent.get("staleMs").int(),
			ScrapeMs:      agent.get("scrapeMs").int(),
			MaxAgeMs:      agent.get("maxAgeMs").int(),
		},
		Bounds: Bounds{
			Endpoints: bounds.get("endpoints").int(), IndexBlocks: bounds.get("indexBlocks").int(), Sessions: bounds.get("sessions").int(),
		},
		Prefix: Prefix{
			AutoTune:             prefix.get("autoTune").bool(),
			BlockSizeTokens:      prefix.get("blockSizeTokens").int(),
			MaxPrefixBlocks:      prefix.get("maxPrefixBlocks").int(),
			MaxPrefixTokens:      prefix.get("maxPrefixTokens").int(),
			LRUCapacityPerServer: prefix.get("lruCapacityPerServer").int(),
		},
		Plugins: list(o.get("plugins"), func(o generic) Plugin {
			return Plugin{Name: o.get("name").string(), Type: o.get("type").string(), Parameters: o.get("parameters").params()}
		}),
		Profiles: list(o.get("profiles"), func(o generic) Profile {
			return Profile{
				Name:    o.get("name").string(),
				Filters: list(o.get("filters"), generic.string),
				Scorers: list(o.get("scorers"), func(o generic) Scorer {
					return Scorer{Plugin: o.get("plugin").string(), Weight: o.get("weight").float()}
				}),
				Picker: o.get("picker").string(),
			}
		}),
		ProfileHandler: o.get("profileHandler").string(),
		Endpoints: list(o.get("endpoints"), func(o generic) Endpoint {
			return Endpoint{
				Name: o.get("name").string(), Address: o.get("address").string(),
				Labels: list(o.get("labels"), func(o generic) Label { return Label{Key: o.get("key").string(), Value: o.get("value").string()} }),
			}
		}),
		Objectives: list(o.get("objectives"), func(o generic) Objective {
			return Objective{Name: o.get("name").string(), Priority: o.get("priority").int()}
		}),
		Explain: Explain{Networks: list(o.get("explain").get("networks"), generic.string)},
		Log:     Log{Chain: o.get("log").get("chain").bool()},
		Sharing: Sharing{
			Mode: o.get("sharing").get("mode").string(), IntervalUs: o.get("sharing").get("intervalUs").int(), LogBytes: o.get("sharing").get("logBytes").int(),
		},
		Attempts: Attempts{Retries: o.get("attempts").get("retries").string(), FirstByteMs: o.get("attempts").get("firstByteMs").int()},
		Inactive: list(o.get("inactive"), func(o generic) Inactive { return Inactive{Name: o.get("name").string(), Type: o.get("type").string()} }),
	}
}

// generic is a value decoded by encoding/json; absent fields read as zero.
type generic struct{ v any }

func (g generic) get(name string) generic {
	o, _ := g.v.(map[string]any)
	return generic{o[name]}
}

func (g generic) string() string { s, _ := g.v.(string); return s }

func (g generic) bool() bool { b, _ := g.v.(bool); return b }

func (g generic) float() float64 { f, _ := g.v.(float64); return f }

func (g generic) int() int { return int(g.float()) }

func (g generic) params() Params {
	o, _ := g.v.(map[string]any)
	var out Params
	for name, v := range o {
		p := Param{Name: name}
		switch v := v.(type) {
		case float64:
			p.Kind, p.Num = Number, v
		case bool:
			p.Kind = Bool
			if v {
				p.Num = 1
			}
		case string:
			p.Kind, p.Str = String, v
		}
		out = append(out, p)
	}
	return out
}

func list[T any](g generic, element func(generic) T) []T {
	a, _ := g.v.([]any)
	var out []T
	for _, v := range a {
		out = append(out, element(generic{v}))
	}
	return out
}

// sameParams compares parameters without regard to order.
func sameParams(a, b Params) bool {
	if len(a) != len(b) {
		return false
	}
	values := make(map[string]Param, len(a))
	for _, p := range a {
		values[p.Name] = p
	}
	for _, p := range b {
		if !cmp.Equal(values[p.Name], p) {
			return false
		}
	}
	return true
}
