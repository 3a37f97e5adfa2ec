package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// loads returns an error unless doc loads as a plan whose only profile and plugins are these.
func loads(doc, profile string, plugins ...string) error {
	c, err := load(doc)
	if err != nil {
		return err
	}
	var got []string
	for i := range c.Plugins {
		got = append(got, c.Plugins[i].Type)
	}
	slices.Sort(got)
	slices.Sort(plugins)
	return errors.Join(
		differ("profiles", len(c.Profiles), 1), differ("profile", summary(c), profile), differ("plugins", strings.Join(got, " "), strings.Join(plugins, " ")),
	)
}

// summary returns "name(filters|scorer*weight …|picker)" of the first profile.
func summary(c *config.Config) string {
	p := &c.Profiles[0]
	var s []string
	for _, r := range p.Scorers {
		s = append(s, fmt.Sprintf("%s*%g", r.Plugin, r.Weight))
	}
	return p.Name + "(" + strings.Join(p.Filters, " ") + "|" + strings.Join(s, " ") + "|" + p.Picker + ")"
}

func loaderRows() []row {
	const most, single, queue = "max-score-picker", "single-profile-handler", "queue-scorer"
	profiles := func(list string) string {
		return header + "plugins: [{type: queue-scorer}]\nschedulingProfiles: [" + list + "]\n"
	}
	fails := func(id, what, doc, want string) row {
		return row{id: id, what: what, check: func() error { return rejects(doc, want) }}
	}
	succeeds := func(id, what, doc, profile string, plugins ...string) row {
		return row{id: id, what: what, check: func() error { return loads(doc, profile, plugins...) }}
	}
	return []row{
		succeeds("L1", "empty text: the default document", "", "default(|queue-scorer*2 kv-cache-utilization-scorer*2 prefix-cache-scorer*3|max-score-picker)",
			queue, "kv-cache-utilization-scorer", "prefix-cache-scorer", "approx-prefix-cache-producer", most, single),
		succeeds("L2", "header only: no scorers", header, "default(||max-score-picker)", most, single),
		{id: "L3", what: "queue-depth-scorer loads as queue-scorer, with a warning", status: deviation, ref: "§13 10", check: func() error {
			doc := header + "plugins: [{type: queue-depth-scorer}]\n"
			c, err := load(doc)
			if err != nil {
				return err
			}
			warned := slices.ContainsFunc(c.Warnings, func(w strictyaml.Problem) bool { return strings.Contains(w.String(), "queue-scorer") })
			return errors.Join(differ("a warning", warned, true), loads(doc, "default(|queue-depth-scorer*1|max-score-picker)", queue, most, single))
		}},
		fails("L4", "an unknown field at the top", header+"foo: 1\n", "foo"),
		{id: "L5", what: "an unknown parameter", needs: []string{"load-aware-scorer"}, check: func() error {
			return refused("load-aware-scorer", "thresold", "thresold: 5")
		}},
		succeeds("L6", "a parameter of a type that has none", header+"plugins: [{type: queue-scorer, parameters: {x: 3}}]\n",
			"default(|queue-scorer*1|max-score-picker)", queue, most, single),
		succeeds("L7", "weight -1", profiles("{name: p, plugins: [{pluginRef: queue-scorer, weight: -1}]}"), "p(|queue-scorer*-1|max-score-picker)", queue, most, single),
		succeeds("L8", "a profile without plugins", profiles("{name: p, plugins: []}"), "p(||max-score-picker)", queue, most, single),
		fails("L9", "a reference to nothing", header+"schedulingProfiles: [{name: p, plugins: [{pluginRef: queue-scorer}]}]\n", "queue-scorer"),
		fails("L10", "two pickers and no profiles", header+"plugins: [{type: max-score-picker}, {type: max-score-picker, name: other}]\n", "picker"),
		{id: "L11", what: "unknown feature gate, bad value", check: func() error {
			return errors.Join(rejects(header+"featureGates: [foo]\n", "foo"), rejects(header+"featureGates: [flowControl=maybe]\n", "maybe"))
		}},
		fails("L12", "two profiles and no handler", profiles("{name: a}, {name: b}"), "handler"),
		{id: "L13", what: "a producer that does not exist", check: func() error {
			return refused("prefix-cache-scorer", "nope", "prefixMatchInfoProducerName: nope")
		}},
		{id: "L14", what: "session-id-producer without parameters", needs: []string{"session-id-producer"}, check: func() error {
			return refused("session-id-producer", "headerName", "")
		}},
		{
			id: "L16", what: "active-request-scorer has its producer made", needs: []string{"active-request-scorer", "inflight-load-producer"},
			check: func() error {
				return loads(header+"plugins: [{type: active-request-scorer}]\n", "default(|active-request-scorer*1|max-score-picker)",
					"active-request-scorer", "inflight-load-producer", most, single)
			},
		},
	}
}
