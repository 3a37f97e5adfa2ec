package envoycheck

import (
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/xds/strictyaml"
)

// node is a value of the document.
type node struct{ strictyaml.Node }

// get walks down field names as protobuf has them. Each may stand in the document in lowerCamelCase too.
func (n node) get(names ...string) node {
	for _, name := range names {
		f := n.Field(name)
		if !f.Exists() {
			if alt := n.Field(camel(name)); alt.Exists() {
				f = alt
			}
		}
		n = node{f}
	}
	return n
}

func camel(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		if p := parts[i]; p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// str returns a string, or "" if it is none.
func (n node) str() string {
	if n.IsText() {
		return n.Text()
	}
	return ""
}

// is says whether the value is true.
func (n node) is() bool { return n.IsBool() && n.Bool() }

// number returns a number; a string of digits is one too, as in protobuf's JSON.
func (n node) number() (float64, bool) {
	if n.IsNumber() {
		return n.Number(), true
	}
	f, err := strconv.ParseFloat(n.str(), 64)
	return f, err == nil && n.str() != ""
}

// list returns a list's elements; none if it is no list.
func (n node) list() []node {
	if !n.IsList() {
		return nil
	}
	l := n.List()
	out := make([]node, len(l))
	for i := range l {
		out[i] = node{l[i]}
	}
	return out
}

// fields returns an object's keys; none if it is no object.
func (n node) fields() []string {
	if !n.IsObject() {
		return nil
	}
	return n.Keys()
}

// seconds returns a duration of protobuf's JSON, such as 0.02s.
func (n node) seconds() (float64, bool) {
	s, ok := strings.CutSuffix(n.str(), "s")
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// typ returns the type of a message without the packages, such as HttpConnectionManager.
func (n node) typ() string {
	url := n.get("@type").str()
	return url[strings.LastIndexAny(url, "./")+1:]
}

// message looks through a TypedStruct, in which Istio wraps messages.
func (n node) message() (body node, typ string) {
	if typ := n.typ(); typ != "TypedStruct" {
		return n, typ
	}
	url := n.get("type_url").str()
	return n.get("value"), url[strings.LastIndexAny(url, "./")+1:]
}

// place says where a value stands.
type place struct {
	upstream bool   // among the filters of a cluster
	manager  bool   // among the filters of an HttpConnectionManager
	ecds     bool   // in the default of a filter that comes by ECDS
	name     string // of the filter around it
}

// collect finds the messages that are checked, wherever they stand.
func (c *checker) collect(n node, at place) {
	if n.IsList() {
		for _, e := range n.list() {
			c.collect(e, at)
		}
		return
	}
	body, typ := n.message()
	keys := body.fields()
	has := func(names ...string) bool {
		for _, name := range names {
			if body.get(name).Exists() {
				return true
			}
		}
		return false
	}
	switch {
	case typ == "Wasm":
		c.wasms = append(c.wasms, wasm{config: body.get("config"), place: at})
	case typ == "HttpConnectionManager" || typ == "" && has("http_filters") && has("stat_prefix", "route_config", "rds", "codec_type"):
		c.hcms = append(c.hcms, body)
	case typ == "Cluster" || typ == "" && has("name") && has("connect_timeout", "lb_policy", "load_assignment", "eds_cluster_config", "load_balancing_policy", "original_dst_lb_config"):
		c.clusters = append(c.clusters, body)
	case typ == "RouteConfiguration" || typ == "" && has("virtual_hosts"):
		c.routes = append(c.routes, body)
	case typ == "Listener" || typ == "" && has("filter_chains"):
		c.listeners = append(c.listeners, body)
	case has("static_resources"):
		c.bootstrap = body
	}
	if has("typed_config", "config_discovery") {
		at.name = body.get("name").str()
	}
	for _, k := range keys {
		below := at
		below.upstream = at.upstream || typ == "HttpProtocolOptions"
		below.manager = at.manager || typ == "HttpConnectionManager"
		below.ecds = at.ecds || k == "default_config" || k == camel("default_config")
		c.collect(node{body.Field(k)}, below)
	}
}

// flow writes a value in YAML's flow style.
func flow(n node) string {
	switch {
	case n.IsObject():
		keys := n.Keys()
		parts := make([]string, 0, len(keys))
		for _, k := range keys {
			parts = append(parts, scalar(k)+": "+flow(node{n.Field(k)}))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.IsList():
		parts := []string{}
		for _, e := range n.list() {
			parts = append(parts, flow(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.IsNumber():
		return strconv.FormatFloat(n.Number(), 'f', -1, 64)
	case n.IsBool():
		return strconv.FormatBool(n.Bool())
	case !n.Exists():
		return "null"
	}
	return scalar(n.str())
}

// scalar quotes a string unless it is a word that no reader takes for something else.
func scalar(s string) string {
	plain := len(s) > 1 && s != "no" && s != "on" && s != "yes" && s != "off" && s != "true" && s != "false" && s != "null"
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c == '_'
		plain = plain && (letter || i > 0 && (c == '.' || c == '-' || c >= '0' && c <= '9'))
	}
	if plain {
		return s
	}
	return strconv.QuoteToASCII(s)
}
