package config

import (
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/xds/config/known"
)

// defaultProducers are the types that are added for data that nothing produces.
var defaultProducers = map[scorers.DataKey]string{
	scorers.DataPrefixMatch: producerType,
	scorers.DataInFlight:    "inflight-load-producer",
	scorers.DataUncached:    "inflight-load-producer",
	scorers.DataLatency:     "predicted-latency-producer",
	scorers.DataTokens:      known.TokenProducer,
	scorers.DataSessionID:   "session-id-producer",
	scorers.DataTopology:    "topology-extractor",
}

// needs adds the producers that active plugins read from and that are not declared, and those that these need in turn.
func (l *loader) needs() {
	for i := 0; i < len(l.instances); i++ {
		if in := &l.instances[i]; in.spec == nil || in.known != nil && !in.known.Active() {
			continue
		}
		for _, need := range l.instances[i].spec.Consumes {
			l.need(i, need)
		}
		l.references(&l.instances[i])
	}
}

// need sees to it that something produces what instance i reads.
func (l *loader) need(i int, need scorers.Need) {
	in := &l.instances[i]
	typ := defaultProducers[need.Key]
	name := in.params.String(need.Param, "")
	if name != "" && name != typ {
		if from := l.find(name); from == nil || from.spec != nil && !from.produces(need.Key) {
			if need.Optional && from == nil {
				l.warnf(in.at(need.Param), "references undefined plugin %q, and %s goes without it; %s", name, in.spec.Type, l.suggestName(name))
				return
			}
			in.at(need.Param).Problemf("no default producer found for missing data key %s/%s, consumed by %s; declare a plugin {type: %s, name: %s}",
				need.Key, name, in.spec.Type, typ, name)
		} else {
			l.inactiveProducer(in, from, need)
		}
		return
	}
	for j := range l.instances {
		if from := &l.instances[j]; from.spec != nil && from.spec.Type == typ {
			l.inactiveProducer(in, from, need)
			return
		}
	}
	if need.Optional {
		return
	}
	spec, k := l.types.lookup(typ)
	switch {
	case spec == nil:
		// A build without the type has the data all the same, or the plugin does without.
	case k != nil && !k.Active():
		l.idlef(in.node, in, "it reads %s of %s, which is not active in this version, and does without", need.Key, typ)
	default:
		if k == nil {
			if _, err := scorers.Alone(spec, spec.Defaults()); err != nil {
				in.node.Problemf("needs a plugin of type %s, which cannot be added by default: %v; declare one", typ, err)
				return
			}
		}
		l.add(typ, "added: "+in.spec.Type+" reads what it produces")
	}
}

// inactiveProducer says that data comes from a plugin that makes none.
func (l *loader) inactiveProducer(in, from *instance, need scorers.Need) {
	if from.known == nil || from.known.Active() {
		return
	}
	instead := "it does without"
	if need.Key == scorers.DataPrefixMatch {
		instead = "the approximate index is read instead"
	}
	l.warnf(in.at(need.Param), "%s reads %s of %s, which is not active in this version: %s", in.spec.Type, need.Key, from.name, instead)
}

// references checks parameters that name producers and are not covered by what the type says it reads.
func (l *loader) references(in *instance) {
	for i := range in.params {
		path, name := in.params[i].Name, in.params[i].Str
		p := paramAt(in.spec.Params, path)
		if p == nil || p.Ref == "" || name == "" || name == p.Ref || in.reads(path) {
			continue
		}
		if l.find(name) == nil {
			in.at(path).Problemf("references undefined plugin %q; declare a plugin {type: %s, name: %s}", name, p.Ref, name)
		}
	}
}

// reads says whether a parameter names the producer of something that the type says it reads.
func (in *instance) reads(param string) bool {
	for _, need := range in.spec.Consumes {
		if need.Param == param {
			return true
		}
	}
	return false
}

func (in *instance) produces(key scorers.DataKey) bool {
	for _, k := range in.spec.Produces {
		if k == key {
			return true
		}
	}
	return false
}

// order returns the places of the instances as a plan has them: producers first, each after those that it reads from, since
// instances refer to them while they are made. Apart from that they stand as declared.
func (l *loader) order() []int {
	s := sorter{l: l, state: make([]uint8, len(l.instances))}
	for _, producers := range []bool{true, false} {
		for i := range l.instances {
			if l.instances[i].is(scorers.KindProducer) == producers {
				s.visit(i)
			}
		}
	}
	return s.out
}

// sorter puts instances after those that they name.
type sorter struct {
	l     *loader
	out   []int
	trail []string // names on the way to the instance that is visited
	state []uint8  // by instance: 0 not seen, 1 on the trail, 2 done
}

func (s *sorter) visit(i int) {
	in := &s.l.instances[i]
	switch s.state[i] {
	case 1:
		s.l.problems.Addf("plugins", "reference cycle %s; remove one reference", strings.Join(append(s.trail, in.name), " → "))
		return
	case 2:
		return
	}
	s.state[i] = 1
	s.trail = append(s.trail, in.name)
	if in.spec != nil {
		for k := range in.params {
			p := paramAt(in.spec.Params, in.params[k].Name)
			if j, ok := s.l.byName[in.params[k].Str]; ok && p != nil && p.Ref != "" {
				s.visit(j)
			}
		}
	}
	s.trail = s.trail[:len(s.trail)-1]
	s.state[i] = 2
	s.out = append(s.out, i)
}
