package scorers

import "github.com/zerohop/zerohop/shared/plan"

// Kind is a set of the roles that a plugin type can play.
type Kind uint16

// The roles of plugins.
const (
	KindFilter Kind = 1 << iota
	KindScorer
	KindPicker
	KindProfileHandler
	KindProducer // makes data that others read; it has no method of its own in the cycle
	KindAdmitter
	KindDetector
	KindAgent // the agent or the loader acts on it, and nothing of it runs in the filter
)

// Shape is how a parameter is built.
type Shape uint8

// The shapes of parameters. In a plan there are scalars only, and everything else is flattened to them: element i of list a
// is a[i], field b of an object a.b. A map is a list of {key, value} sorted by key. An object without fields is true where
// it is present.
const (
	Scalar Shape = iota
	List
	Object
	Map
)

// Param declares one parameter of a plugin type.
type Param struct {
	Name     string
	Shape    Shape
	Kind     plan.ParamKind // of a scalar, of list elements without fields, of the values of a map
	Fields   []Param        // of an object, or of each element of a list
	Default  any            // float64, bool or string, as Kind demands; nil leaves an absent parameter absent
	Required bool
	Min, Max float64  // equal bounds mean that there are none
	MinOpen  bool     // Min itself is too small
	Integer  bool     // a number without fraction
	Choices  []string // the values of a string, if only some are allowed

	Duration   bool   // written as "200ms"; nanoseconds in the plan
	Deprecated string // what to write instead; empty unless the parameter is deprecated
	Ref        string // type of the producer whose instance the parameter names; it is the default too
	Limit      int    // most elements of a list or map; 0 means DefaultLimit
	Doc        string // unit and meaning
}

// DefaultLimit is the most elements of a list or map that declares no limit.
const DefaultLimit = 64

// DataKey names data that one plugin produces and others read, as the EPP calls it.
type DataKey string

// The data that active plugins produce or read.
const (
	DataPrefixMatch DataKey = "PrefixCacheMatchInfoDataKey"
	DataInFlight    DataKey = "InFlightLoadDataKey"
	DataUncached    DataKey = "UncachedRequestTokensDataKey"
	DataLatency     DataKey = "LatencyPredictionInfoDataKey"
	DataSessionID   DataKey = "SessionIDDataKey"
	DataTokens      DataKey = "TokenizedPromptDataKey"
	DataTopology    DataKey = "TopologyDataKey"
)

// Need is data that a plugin reads.
type Need struct {
	_ [0]func() // not comparable, for the size of the module

	Key      DataKey
	Param    string // the parameter that names the producer; empty if none does
	Optional bool
}

// Spec describes one plugin type. Each plugin folder exports exactly one Spec variable; package registry lists them all.
type Spec struct {
	Type    string
	Aliases []string // older names, which load with a warning; a plan has Type
	Kinds   Kind
	Params  []Param
	// LooseParams accepts and ignores unknown parameters (with a warning by the loader), as the EPP does for the types
	// whose factories do not read any.
	LooseParams  bool
	Stability    string // "alpha", or empty
	DeprecatedBy string // what to use instead, for the warning; empty unless the type is deprecated
	Consumes     []Need
	Produces     []DataKey
	// New builds an instance that implements the interfaces of Kinds. u.Params holds every declared parameter that is given
	// or has a default. It must not allocate much, nor touch anything that an older instance uses: a configuration is tried
	// before it is put into force.
	New func(u *Setup) (any, error)
}
