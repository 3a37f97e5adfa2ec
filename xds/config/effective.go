package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/shared/plan"
)

// YAML returns both documents complete: every setting stands there with the value in force, and those that the loaded
// documents left open are marked as defaults. What it returns loads to the same plan.
func (c *Config) YAML() []byte {
	w := &yamlWriter{defaults: make(map[string]bool, len(c.Defaults))}
	for i := range c.Defaults {
		w.defaults[c.Defaults[i].Path] = true
	}
	w.picker(c)
	w.line(0, "---", "")
	w.zerohop(&c.Zerohop)
	return []byte(w.b.String())
}

// yamlWriter writes lines and marks defaults.
type yamlWriter struct {
	b        strings.Builder
	defaults map[string]bool // paths
}

// line writes one line. If path is that of a default, it is marked.
func (w *yamlWriter) line(indent int, text, path string) {
	w.b.WriteString(strings.Repeat("  ", indent))
	w.b.WriteString(text)
	if w.defaults[path] {
		w.b.WriteString(" # default")
	}
	w.b.WriteByte('\n')
}

// picker writes the EndpointPickerConfig.
func (w *yamlWriter) picker(c *Config) {
	w.line(0, "apiVersion: "+apiVersion, "")
	w.line(0, "kind: "+kind, kind)
	w.line(0, "plugins:", "")
	for i := range c.all {
		w.plugin(&c.all[i], fmt.Sprintf("plugins[%d]", i))
	}
	w.line(0, "schedulingProfiles:", "schedulingProfiles")
	for i := range c.Profiles {
		w.profile(&c.Profiles[i], c.refs[i], fmt.Sprintf("schedulingProfiles[%d]", c.firstProfile+i))
	}
	for _, line := range c.raw {
		w.line(0, line, "")
	}
}

// plugin writes the plugin that is declared, or added, at path.
func (w *yamlWriter) plugin(p *listed, path string) {
	w.line(0, "- type: "+scalar(p.spec.Type), path)
	w.line(1, "name: "+scalar(p.name), path+".name")
	if p.raw != "" {
		w.line(1, "parameters: "+p.raw, "")
	}
	if len(p.params) == 0 {
		return
	}
	w.line(1, "parameters:", "")
	w.parameters(2, path+".parameters", "", p.spec.Params, p.params)
}

// profile writes one profile; refs has the place of each scorer among the declared references. Its
// references stand in an order that gives the filters and the scorers theirs.
func (w *yamlWriter) profile(p *plan.Profile, refs []int, path string) {
	w.line(0, "- name: "+scalar(p.Name), "")
	w.line(1, "plugins:", "")
	left := p.Scorers
	scorer := func() {
		w.line(1, fmt.Sprintf("- {pluginRef: %s, weight: %s}", scalar(left[0].Plugin), numberText(left[0].Weight)),
			fmt.Sprintf("%s.plugins[%d].weight", path, refs[len(p.Scorers)-len(left)]))
		left = left[1:]
	}
	named := func(name string) bool {
		return slices.ContainsFunc(p.Scorers, func(s plan.Scorer) bool { return s.Plugin == name })
	}
	for _, f := range p.Filters {
		at := slices.IndexFunc(left, func(s plan.Scorer) bool { return s.Plugin == f })
		if at < 0 {
			w.line(1, "- pluginRef: "+scalar(f), "")
		}
		for ; at >= 0; at-- {
			scorer()
		}
	}
	for len(left) > 0 {
		scorer()
	}
	if !named(p.Picker) && !slices.Contains(p.Filters, p.Picker) {
		w.line(1, "- pluginRef: "+scalar(p.Picker), path+".picker")
	}
}

// zerohop writes the ZerohopConfig.
func (w *yamlWriter) zerohop(z *Zerohop) {
	w.line(0, "apiVersion: "+zerohopVersion, "")
	w.line(0, "kind: "+zerohopKind, "")
	var open []string // sections
	for i := range settings {
		s := &settings[i]
		path := strings.Split(s.path, ".")
		sections := path[:len(path)-1]
		for j := range sections {
			if j >= len(open) || open[j] != sections[j] {
				w.line(j, sections[j]+":", "")
				open = append(open[:j:j], sections[j])
			}
		}
		open = open[:len(sections)]
		w.line(len(sections), path[len(sections)]+": "+s.form.show(z), s.path)
		if s.path == lastOfDiscovery {
			w.endpoints(z)
			w.dns(z)
		}
	}
}

// lastOfDiscovery is the setting after which the lists of the section stand.
const lastOfDiscovery = "discovery.watch"

func (w *yamlWriter) endpoints(z *Zerohop) {
	if len(z.Discovery.Endpoints) == 0 {
		return
	}
	w.line(1, "endpoints:", "")
	for i := range z.Discovery.Endpoints {
		e := &z.Discovery.Endpoints[i]
		text := fmt.Sprintf("- {namespace: %s, name: %s, address: %s, port: \"%d\"", scalar(e.Namespace), scalar(e.Name),
			scalar(e.Address.Addr().String()), e.Address.Port())
		if len(e.Labels) > 0 {
			var labels []string
			for _, k := range sortedKeys(e.Labels) {
				labels = append(labels, scalar(k)+": "+scalar(e.Labels[k]))
			}
			text += ", labels: {" + strings.Join(labels, ", ") + "}"
		}
		w.line(1, text+"}", "")
	}
}

func (w *yamlWriter) dns(z *Zerohop) {
	if len(z.Discovery.DNS) == 0 {
		return
	}
	w.line(1, "dns:", "")
	for i := range z.Discovery.DNS {
		d := &z.Discovery.DNS[i]
		path := fmt.Sprintf("%s[%d].", pathDNS, i)
		w.line(1, "- name: "+scalar(d.Name), "")
		w.line(2, "type: "+scalar(d.Type), path+"type")
		if len(d.Ports) > 0 {
			ports := make([]string, len(d.Ports))
			for j, p := range d.Ports {
				ports[j] = fmt.Sprint(p)
			}
			w.line(2, "ports: ["+strings.Join(ports, ", ")+"]", "")
		}
		w.line(2, "namespace: "+scalar(d.Namespace), path+"namespace")
		w.line(2, "resolver: "+scalar(d.Resolver), path+"resolver")
		w.line(2, "minTTL: "+d.MinTTL.String(), path+"minTTL")
		w.line(2, "maxTTL: "+d.MaxTTL.String(), path+"maxTTL")
	}
}
