package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
)

const header = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"

const parityEPP = "---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\nparity: epp\n"

type (
	ep  = plugintest.EP
	req = plugintest.Req
	eps = []plugintest.EP
)

// load reads a document with the plugin types of the filter.
func load(doc string) (*config.Config, error) { return config.Load([]byte(doc), registry.Specs()) }

// plugin is one instance as a configuration writes it.
type plugin struct {
	typ    string
	params string // YAML flow mapping without braces
	epp    bool   // under parity epp
	extra  string // further plugins, one a line
}

func (p *plugin) doc() string {
	doc := header + "plugins:\n- {type: " + p.typ
	if p.params != "" {
		doc += ", parameters: {" + p.params + "}"
	}
	doc += "}\n" + p.extra
	if p.epp {
		doc += parityEPP
	}
	return doc
}

// bed loads the configuration and makes the instance, and those before it, as the filter does.
func (p *plugin) bed(e eps, r req) (*plugintest.Bed, error) {
	c, err := load(p.doc())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.Plugins, func(x plan.Plugin) bool { return x.Type == p.typ })
	if i < 0 {
		return nil, fmt.Errorf("the plan has no %s", p.typ)
	}
	conf := plugintest.Config{Parity: p.epp}
	for _, x := range c.Plugins[:i] {
		if s, ok := registry.Lookup(x.Type); ok {
			conf.Peers = append(conf.Peers, plugintest.Peer{Spec: &s, Name: x.Name, Params: x.Parameters})
		}
	}
	s, _ := registry.Lookup(p.typ)
	return plugintest.NewWith(conf, &s, c.Plugins[i].Parameters, e, r)
}

// tolerance is how far a score may be from the printed one, which has ten digits.
const tolerance = 1e-9

// equal returns an error if scores differ from want after the scheduler's clamp.
func equal(got, want []float64, within float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d scores, want %d", len(got), len(want))
	}
	for i := range want {
		if v := min(max(got[i], 0), 1); !(math.Abs(v-want[i]) <= within) {
			return fmt.Errorf("scores %v, want %v", got, want)
		}
	}
	return nil
}

// score is one case of a scorer.
type score struct {
	params string
	eps    eps
	req    req
	want   []float64 // after the clamp to [0,1]
}

// scored returns a row of a scorer. Its cases run under parity epp, for endpoints whose numbers are fresh.
func scored(id, typ, what string, cases ...score) row {
	return row{id: id, what: what, needs: []string{typ}, check: func() error {
		var all error
		for i := range cases {
			c := &cases[i]
			p := plugin{typ: typ, params: c.params, epp: true}
			b, err := p.bed(c.eps, c.req)
			if err == nil {
				err = equal(b.Score(), c.want, tolerance)
			}
			all = errors.Join(all, named(c.params, err))
		}
		return all
	}}
}

// keep is one case of a filter.
type keep struct {
	params string
	eps    eps
	req    req
	want   []int
}

// kept returns a row of a filter.
func kept(id, typ, what string, cases ...keep) row {
	return row{id: id, what: what, needs: []string{typ}, check: func() error {
		var all error
		for i := range cases {
			c := &cases[i]
			p := plugin{typ: typ, params: c.params, epp: true}
			b, err := p.bed(c.eps, c.req)
			if err == nil {
				if got := b.Filter(); !slices.Equal(got, c.want) {
					err = fmt.Errorf("kept %v, want %v", got, c.want)
				}
			}
			all = errors.Join(all, named(c.params, err))
		}
		return all
	}}
}

// refused returns an error unless the configuration of each of the parameters is refused with a text that contains want.
func refused(typ, want string, params ...string) error {
	var all error
	for _, text := range params {
		p := plugin{typ: typ, params: text}
		all = errors.Join(all, named(text, rejects(p.doc(), want)))
	}
	return all
}

// rejects returns an error unless doc is refused with a text that contains want.
func rejects(doc, want string) error {
	_, err := load(doc)
	if err == nil {
		return errors.New("accepted")
	}
	if !strings.Contains(err.Error(), want) {
		return fmt.Errorf("refused with %q, want %q", err, want)
	}
	return nil
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", cmp.Or(name, "defaults"), err)
}

func each[T any](values []T, f func(v T) ep) eps {
	out := make(eps, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}

func waiting(q ...float64) eps { return each(q, func(v float64) ep { return ep{Waiting: v} }) }
func running(q ...float64) eps { return each(q, func(v float64) ep { return ep{Running: v} }) }
func kvUsage(v ...float64) eps { return each(v, func(v float64) ep { return ep{KV: v} }) }
func inFlight(n ...int32) eps  { return each(n, func(v int32) ep { return ep{InFlight: v} }) }
func booked(n ...int64) eps    { return each(n, func(v int64) ep { return ep{Tokens: v} }) }
func held(blocks ...int32) eps { return each(blocks, func(v int32) ep { return ep{Match: v} }) }
func labelled(key string, values ...string) eps {
	return each(values, func(v string) ep {
		if v == "none" {
			return ep{}
		}
		return ep{Labels: map[string]string{key: v}}
	})
}

// attribute returns endpoints with the attribute load; "-" has none.
func attribute(values ...any) eps {
	return each(values, func(v any) ep {
		switch v := v.(type) {
		case int:
			return ep{Attrs: map[string]float64{"core-metrics-extractor/load": float64(v)}}
		case float64:
			return ep{Attrs: map[string]float64{"core-metrics-extractor/load": v}}
		}
		return ep{}
	})
}

func headroom(ttft, tpot float64) ep {
	return ep{Pred: &plugintest.Pred{TTFTHeadroom: ttft, TPOTHeadroom: tpot, Dispatched: 1}}
}
