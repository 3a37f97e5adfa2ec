package scorers

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// LabelID names an endpoint label that Setup.Label registered.
type LabelID uint8

// AttrID names an endpoint attribute that Setup.Attribute registered: Endpoints.Attr[id] is its column.
type AttrID uint8

// The most that all instances of a plan may ask for together.
const (
	MaxHeaders    = 32
	MaxLabels     = 32
	MaxAttributes = 16
)

// Wants is what the instances of a plan ask for. Only that is shipped, kept and read.
type Wants struct {
	Headers      []string // request headers by HeaderID, lower case; or cookies, see CookieName
	Labels       []string // endpoint labels by LabelID
	Attributes   []string // endpoint attributes by AttrID, "producer/name"
	Models, LoRA bool     // served models, adapters
	Response     bool     // response headers: an instance is a Server

	Priority, SLO HeaderPair    // headers of the objective and, first of two, of the latency objectives
	TPOT          HeaderPair    // the second of the latency objectives
	Topology      *TopologyKeys // labels of the topology; nil if nobody reads it
	TopologyIDs   [4]LabelID    // of Topology, in the order of Endpoints.Topo
}

// HeaderPair is a header and its older name; the header wins. Wanted is false if nobody asked.
type HeaderPair struct {
	ID, Alias HeaderID
	Wanted    bool
}

// Get returns the value of the header, or else of the older one.
func (p HeaderPair) Get(h *Headers) []byte {
	if !p.Wanted {
		return nil
	}
	if v := h.Get(p.ID); v != nil {
		return v
	}
	return h.Get(p.Alias)
}

// TopologyKeys are the labels that say where an endpoint is.
type TopologyKeys struct{ Host, Rack, Zone, Region string }

// Setup is what a constructor gets: its parameters, and the means to ask for data. Whatever is not asked for is not there.
type Setup struct {
	Name     string      // of the instance
	Params   plan.Params // declared parameters that are given or have a default
	Profiles []string    // names of the plan's profiles
	Parity   bool        // do as the EPP does where zerohop would do better

	MaxSlots    int    // most endpoints
	MaxSessions int    // most sessions that an instance remembers
	ScrapeNs    uint64 // three scrape intervals: no threshold of staleness makes sense below
	Wants       *Wants // of all instances

	builder *Builder
	err     error
}

// Builder makes the instances of one plan, in its order. Set the exported fields before the first Build.
type Builder struct {
	Profiles    []string
	Parity      bool
	MaxSlots    int
	MaxSessions int
	ScrapeNs    uint64
	Wants       Wants

	made   []made
	byName map[string]int // index in made
}

type made struct {
	_ [0]func() // not comparable, for the size of the module

	name, typ string
	instance  any
}

// Build makes an instance of spec. params are what Spec.Complete returned.
func (b *Builder) Build(spec *Spec, name string, params plan.Params) (any, error) {
	u := &Setup{
		Name: name, Params: params, Profiles: b.Profiles, Parity: b.Parity, MaxSlots: b.MaxSlots, MaxSessions: b.MaxSessions,
		ScrapeNs: b.ScrapeNs, Wants: &b.Wants, builder: b,
	}
	instance, err := spec.New(u)
	if err = errors.Join(err, u.err); err != nil {
		return nil, err
	}
	if _, ok := instance.(Server); ok {
		b.Wants.Response = true
	}
	if b.byName == nil {
		b.byName = make(map[string]int)
	}
	b.byName[name] = len(b.made)
	b.made = append(b.made, made{name: name, typ: spec.Type, instance: instance})
	return instance, nil
}

// Instance returns the instance called name; nil if there is none.
func (b *Builder) Instance(name string) any {
	if i, ok := b.byName[name]; ok {
		return b.made[i].instance
	}
	return nil
}

// Alone makes an instance of spec by itself, as for a test of its parameters. Instances that it refers to do not exist.
func Alone(spec *Spec, params plan.Params) (any, error) {
	b := Builder{Profiles: []string{"default"}, MaxSlots: 1024, MaxSessions: 1024}
	return b.Build(spec, spec.Type, params)
}

// Header registers a request header and returns where its value will be. The name's case does not matter.
func (u *Setup) Header(name string) HeaderID {
	if !headerName(name) {
		u.fail(strconv.Quote(name) + " is not the name of a header: letters, digits and hyphens")
	}
	return HeaderID(u.register("headers", &u.Wants.Headers, lower(name), MaxHeaders))
}

// headerName reports whether name is one by RFC 9110, and no pseudo-header.
func headerName(name string) bool {
	for i := range len(name) {
		c := name[i]
		alphanumeric := c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

// lower returns name in lower case. Header names are ASCII.
func lower(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Label registers an endpoint label.
func (u *Setup) Label(key string) LabelID {
	return LabelID(u.register("endpoint labels", &u.Wants.Labels, key, MaxLabels))
}

// Attribute registers an endpoint attribute, "producer/name".
func (u *Setup) Attribute(key string) AttrID {
	return AttrID(u.register("endpoint attributes", &u.Wants.Attributes, key, MaxAttributes))
}

// Models asks for the served models of endpoints and for Request.ModelHash.
func (u *Setup) Models() { u.Wants.Models = true }

// LoRA asks for the adapters of endpoints and for Request.ModelHash.
func (u *Setup) LoRA() { u.Wants.LoRA = true }

// Priority asks for Request.Priority.
func (u *Setup) Priority() {
	u.Wants.Priority = u.pair(names.HeaderObjective, names.HeaderObjectiveOld)
}

// SLO asks for Request.TTFTms and Request.TPOTms.
func (u *Setup) SLO() {
	u.Wants.SLO = u.pair(names.HeaderTTFT, names.HeaderTTFTOld)
	u.Wants.TPOT = u.pair(names.HeaderTPOT, names.HeaderTPOTOld)
}

func (u *Setup) pair(name, alias string) HeaderPair {
	return HeaderPair{ID: u.Header(name), Alias: u.Header(alias), Wanted: true}
}

// Topology asks for Endpoints.Topo, filled from these labels. All instances of a plan share one set of them; an empty one
// is a level that no endpoint has.
func (u *Setup) Topology(p TopologyKeys) {
	if u.Wants.Topology != nil {
		if *u.Wants.Topology != p {
			u.fail("the topology of endpoints is read from two sets of labels; declare one")
		}
		return
	}
	u.Wants.Topology = &p
	for i, key := range [...]string{p.Host, p.Rack, p.Zone, p.Region} {
		if key != "" {
			u.Wants.TopologyIDs[i] = u.Label(key)
		}
	}
}

// Producer returns the instance that the string parameter names, or where it is empty the one called like its default type,
// or else the first of that type. It is nil if there is none, as for a type that is not active.
func (u *Setup) Producer(param, defaultType string) any {
	name := u.Params.String(param, "")
	if name == "" {
		name = defaultType
	}
	if instance := u.builder.Instance(name); instance != nil {
		return instance
	}
	if name != defaultType {
		return nil
	}
	for i := range u.builder.made {
		if u.builder.made[i].typ == defaultType {
			return u.builder.made[i].instance
		}
	}
	return nil
}

// register returns the index of name in list, to which it is appended if it is not there.
func (u *Setup) register(what string, list *[]string, name string, limit int) int {
	if i := slices.Index(*list, name); i >= 0 {
		return i
	}
	if len(*list) == limit {
		u.fail("the plugins of one configuration can read at most " + strconv.Itoa(limit) + " " + what + ", and " +
			strconv.Quote(name) + " is one more; remove a plugin")
		return 0
	}
	*list = append(*list, name)
	return len(*list) - 1
}

// fail makes the constructor's result an error.
func (u *Setup) fail(text string) {
	if u.err == nil {
		u.err = errors.New(text)
	}
}
