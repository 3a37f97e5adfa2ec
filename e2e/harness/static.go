package harness

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net"
	"text/template"
)

//go:embed static.yaml
var staticYAML string

var staticTemplate = template.Must(template.New("static.yaml").Parse(staticYAML))

// StaticOptions describe an Envoy that knows nothing of zerohop: one listener, one static cluster "endpoints".
type StaticOptions struct {
	Listen    string   // ip:port of the listener
	Admin     string   // ip:port of the admin interface
	Endpoints []string // ip:port of each endpoint, balanced ROUND_ROBIN
	AccessLog bool     // JSON access log on standard output
	Module    string   // Wasm module to run as HTTP filter; empty means none
	Config    string   // the module's configuration
}

// StaticBootstrap writes the bootstrap of an Envoy that balances round robin: what zerohop is compared with.
func StaticBootstrap(o StaticOptions) []byte {
	type addr struct{ Host, Port string }
	split := func(hostPort string) addr {
		host, port, _ := net.SplitHostPort(hostPort) // Envoy reports a wrong address better than we could
		return addr{host, port}
	}
	data := struct {
		Listen, Admin addr
		Endpoints     []addr
		AccessLog     bool
		Module        string
		Config        string // in double quotes
	}{Listen: split(o.Listen), Admin: split(o.Admin), AccessLog: o.AccessLog, Module: o.Module}
	if o.Config != "" {
		quoted, err := json.Marshal(o.Config)
		if err != nil {
			panic(err) // a string always has a JSON form
		}
		data.Config = string(quoted)
	}
	for _, e := range o.Endpoints {
		data.Endpoints = append(data.Endpoints, split(e))
	}
	var b bytes.Buffer
	if err := staticTemplate.Execute(&b, data); err != nil {
		panic(err) // the template and its data stand in this package
	}
	return b.Bytes()
}
