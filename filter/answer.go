package filter

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// answer is what a dry run found out beside the scheduler's explanation.
type answer struct {
	reason   reason
	status   int  // of the answer that the request would get; 200 if an endpoint would get it
	fallback bool // it would go to the fallback cluster instead
	decided  bool // false if the body was refused before any decision
}

var (
	dryRunHeaders = pairs.Append(nil, "content-type", "application/json", names.HeaderExplain, names.ExplainDryRun)
	notPost       = refusal{
		status:  405,
		details: "zerohop_explain_method",
		body:    errorBody("an explanation is asked for by POST, with the body of the request that it is about", "invalid_request_error", "method_not_allowed"),
		headers: pairs.Append(nil, "content-type", "application/json", "allow", "POST", names.HeaderExplain, names.ExplainDryRun),
	}
	foreign = refusal{
		status:  403,
		details: "zerohop_explain_refused",
		body:    errorBody("the address of the client is in none of the networks that may have picks explained", "permission_error", "explain_refused"),
		headers: pairs.Append(nil, "content-type", "application/json", names.HeaderExplain, names.ExplainDryRun),
	}
)

// appendAnswer appends the answer of a dry run as JSON. docs/explain.md lists its members.
func (v *VM) appendAnswer(b []byte, s *stream, now uint64, a *answer) []byte {
	x := &v.explain.last
	if !a.decided {
		*x = sched.Explanation{Handler: v.sched.HandlerName()}
	}
	b = appendJSON(put(b, `{"outcome":`), reasonNames[a.reason])
	b = appendInt(b, `,"status":`, int64(a.status))
	b = appendBool(b, `,"fallback":`, a.fallback)
	b = appendJSON(put(b, `,"profile":`), x.Profile)
	b = appendJSON(put(b, `,"handler":`), x.Handler)
	b = appendJSON(put(b, `,"parity":`), v.parity())
	b = appendJSON(put(b, `,"revision":`), v.plan.Revision)
	b = appendJSON(put(b, `,"snapshot":{"version":`), strconv.FormatUint(v.intake.version, 16)) // beyond what JSON's numbers hold
	b = appendInt(b, `,"ageMs":`, int64(v.intake.ageMs(now)))
	b = v.appendRequest(put(b, `},"request":`), s, x)
	b = appendInt(b, `,"candidates":`, int64(x.Candidates))
	b = appendInt(b, `,"left":`, int64(x.Left))
	b = v.appendHeldJSON(b, x)
	b = appendJSON(put(b, `,"session":`), x.Session.String())
	b = v.appendSteps(b, x)
	b = v.appendBest(put(b, `,"best":`), now, x)
	b = appendInt(b, `,"ties":`, int64(x.Ties))
	b = put(b, `,"inactive":`)
	b = list(b, len(v.plan.Inactive), func(b []byte, i int) []byte {
		p := &v.plan.Inactive[i]
		b = appendJSON(put(b, `{"name":`), p.Name)
		return put(appendJSON(put(b, `,"type":`), p.Type), "}")
	})
	return put(b, "}\n")
}

func (v *VM) appendRequest(b []byte, s *stream, x *sched.Explanation) []byte {
	model, maxTokens := "", 0
	if s.scanner >= 0 {
		model, maxTokens = string(v.scanners[s.scanner].Model()), v.scanners[s.scanner].MaxTokens()
	}
	b = appendJSON(put(b, `{"model":`), model)
	b = appendInt(b, `,"tokens":`, int64(s.d.Tokens))
	b = appendInt(b, `,"maxTokens":`, int64(maxTokens))
	b = appendInt(b, `,"blockTokens":`, int64(s.d.BlockTokens))
	b = appendInt(b, `,"blocks":`, int64(s.d.Total))
	b = appendInt(b, `,"universal":`, int64(s.d.Universal))
	b = appendInt(b, `,"priority":`, int64(x.Priority))
	b = put(b, `,"headers":{`) // whether they are there; what is in them may be a secret
	h := v.headers(s)
	for i, name := range v.interest.names[:v.interest.count] {
		if i > 0 {
			b = put(b, ",")
		}
		b = appendBool(appendJSON(b, name), ":", h.Get(scorers.HeaderID(i)) != nil)
	}
	return put(b, "}}")
}

// appendHeldJSON appends the endpoints that should get no request, and who refused the request, if an admitter did.
func (v *VM) appendHeldJSON(b []byte, x *sched.Explanation) []byte {
	b = list(put(b, `,"held":`), len(x.Held), func(b []byte, i int) []byte {
		h := &x.Held[i]
		b = appendJSON(put(v.appendEndpoint(b, h.Slot), `,"why":`), why(h))
		return put(appendInt(b, `,"leftMs":`, h.LeftMs), "}")
	})
	b = put(b, `,"denied":`)
	if x.Reason != sched.Denied {
		return put(b, "null")
	}
	b = appendPlugin(b, x.Denial.Plugin, x.Denial.Type)
	b = appendFloat(put(b, `,"value":`), x.Denial.Value)
	return put(appendFloat(put(b, `,"threshold":`), x.Denial.Threshold), "}")
}

func (v *VM) appendSteps(b []byte, x *sched.Explanation) []byte {
	b = list(put(b, `,"filters":`), len(x.Filters), func(b []byte, i int) []byte {
		f := &x.Filters[i]
		b = appendPlugin(b, f.Plugin, f.Type)
		b = appendInt(b, `,"before":`, int64(f.Before))
		return put(appendInt(b, `,"after":`, int64(f.After)), "}")
	})
	b = list(put(b, `,"removed":`), len(x.Removed), func(b []byte, i int) []byte {
		r := &x.Removed[i]
		b = v.appendEndpoint(b, r.Slot)
		return put(appendJSON(put(b, `,"by":`), x.Filters[r.By].Plugin), "}")
	})
	b = list(put(b, `,"saturation":`), len(x.Saturation), func(b []byte, i int) []byte {
		d := &x.Saturation[i]
		b = appendJSON(put(b, `{"plugin":`), d.Plugin)
		return put(appendFloat(put(b, `,"value":`), d.Value), "}")
	})
	return list(put(b, `,"scorers":`), len(x.Scorers), func(b []byte, i int) []byte {
		w := &x.Scorers[i]
		b = appendPlugin(b, w.Plugin, w.Type)
		return put(appendFloat(put(b, `,"weight":`), w.Weight), "}")
	})
}

func (v *VM) appendBest(b []byte, now uint64, x *sched.Explanation) []byte {
	return list(b, len(x.Best), func(b []byte, i int) []byte {
		best := &x.Best[i]
		slot := best.Slot
		b = v.appendEndpoint(b, slot)
		b = appendFloat(put(b, `,"total":`), best.Total)
		b = appendInt(b, `,"matched":`, int64(best.Matched))
		b = list(put(b, `,"scores":`), len(best.Scores), func(b []byte, i int) []byte { return appendFloat(b, best.Scores[i]) })
		in := v.inputs(now, slot)
		for i, name := range inputNames {
			b = appendFloat(put(put(put(b, `,"`), name), `":`), in.numbers[i])
		}
		b = appendInt(b, `,"inFlight":`, int64(in.inFlight))
		b = appendInt(b, `,"inFlightTokens":`, in.tokens)
		if in.scraped {
			b = appendInt(b, `,"scrapeMs":`, int64(in.ageMs))
		} else {
			b = put(b, `,"scrapeMs":null`)
		}
		return put(appendBool(b, `,"fresh":`, in.fresh), "}")
	})
}

// inputs is what an endpoint was scored with.
type inputs struct {
	numbers        [4]float64 // in the order of inputNames
	inFlight       int32
	tokens         int64
	ageMs          uint64 // of the numbers, if scraped
	scraped, fresh bool
}

var inputNames = [4]string{"waiting", "queue", "running", "kv"}

func (v *VM) inputs(now uint64, slot int32) inputs {
	e := v.sched.View()
	in := inputs{
		numbers:  [4]float64{e.Waiting[slot], e.Queue[slot], e.Running[slot], e.KVUsage[slot]},
		inFlight: e.InFlight[slot], tokens: e.InFlightTokens[slot], fresh: e.Fresh[slot],
	}
	if at := e.ScrapedAt[slot]; e.Scraped[slot] && now >= at {
		in.ageMs, in.scraped = (now-at)/1e6, true
	}
	return in
}

//go:noinline
func appendPlugin(b []byte, name, typ string) []byte {
	b = appendJSON(put(b, `{"plugin":`), name)
	return appendJSON(put(b, `,"type":`), typ)
}

func (v *VM) appendEndpoint(b []byte, slot int32) []byte {
	b = appendJSON(put(b, `{"endpoint":`), string(v.sched.Name(slot)))
	return appendJSON(put(b, `,"address":`), string(v.sched.Address(slot)))
}

// parity returns the plan's parity.
func (v *VM) parity() string {
	if v.plan.Parity == "" {
		return plan.ParityNone
	}
	return v.plan.Parity
}

// list appends a JSON array of n elements; element appends one.
func list(b []byte, n int, element func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = put(b, ",")
		}
		b = element(b, i)
	}
	return append(b, ']')
}

//go:noinline
func appendBool(b []byte, key string, is bool) []byte {
	return strconv.AppendBool(append(b, key...), is)
}

// appendFloat appends f, or null if JSON has no such number.
//
//go:noinline
func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return put(b, "null")
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// appendJSON appends a JSON string. What is no UTF-8 becomes U+FFFD.
//
//go:noinline
func appendJSON(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}
