package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// loadConfig loads the documents of a configuration file and lets the filter's own rules judge the result. failOnInactive
// refuses what is known but not active.
func loadConfig(doc []byte, failOnInactive bool) (*config.Config, error) {
	var options []config.Option
	if failOnInactive {
		options = append(options, config.FailOnInactive)
	}
	c, err := config.Load(doc, registry.Specs(), options...)
	if err != nil {
		return nil, err
	}
	if _, err := sched.Wants(c.Plan(config.Settings{})); err != nil {
		return nil, err
	}
	return c, nil
}

// load reads the configuration and every endpoint that stands in a file, and prints the warnings. An error lists all
// problems of all files.
func (in *inputs) load(stderr io.Writer) (*config.Config, []discovery.Endpoint, error) {
	c, configErr := readFile(in.ConfigFile, func(doc []byte) (*config.Config, error) { return loadConfig(doc, in.FailOnInactive) })
	var eps []discovery.Endpoint
	var problems []string
	if configErr != nil {
		problems = append(problems, configErr.Error())
	}
	for _, name := range in.endpointFiles(c) {
		more, err := readFile(name, discovery.ParseFile)
		if err != nil {
			problems = append(problems, err.Error())
		}
		eps = append(eps, more...)
	}
	if c != nil {
		eps = append(eps, c.Zerohop.Discovery.Endpoints...)
	}
	problems = append(problems, repeated(eps)...)
	if problems != nil {
		return nil, nil, usageError{fmt.Errorf("%s", strings.Join(problems, "\n"))}
	}
	if limit := c.Zerohop.Bounds.Endpoints; len(eps) > limit {
		return nil, nil, usageError{fmt.Errorf("%s: %d endpoints; the filter considers at most %d (bounds.endpoints)", in.name(), len(eps), limit)}
	}
	if len(eps) == 0 && len(c.Zerohop.Discovery.DNS) == 0 {
		_, _ = fmt.Fprintf(stderr, "zerohop: warning: %s: there is no endpoint in any file, and no other source of them\n", in.name())
	}
	for _, w := range c.Warnings {
		_, _ = fmt.Fprintf(stderr, "zerohop: warning: %s: %s\n", in.ConfigFile, w)
	}
	for i := range c.Inactive {
		_, _ = fmt.Fprintf(stderr, "zerohop: warning: %s: %s\n", in.ConfigFile, &c.Inactive[i])
	}
	return c, eps, nil
}

func (in *inputs) name() string {
	if in.Endpoints != "" {
		return in.Endpoints
	}
	return in.ConfigFile
}

// endpointFiles returns the names of the endpoint files: that of the flag, and those of the configuration.
func (in *inputs) endpointFiles(c *config.Config) []string {
	var names []string
	if in.Endpoints != "" {
		names = append(names, in.Endpoints)
	}
	if c == nil {
		return names
	}
	for _, f := range c.Files() {
		if f.Endpoints && f.Name != in.Endpoints {
			names = append(names, f.Name)
		}
	}
	return names
}

// repeated returns the endpoints whose name or address is that of an earlier one of another source.
func repeated(eps []discovery.Endpoint) []string {
	var problems []string
	names, addresses := make(map[string]bool), make(map[netip.AddrPort]bool)
	for i := range eps {
		e := &eps[i]
		if names[e.ID()] || addresses[e.Address] {
			problems = append(problems, fmt.Sprintf("endpoint %s at %s: name or address is that of an endpoint of another source", e.ID(), e.Address))
		}
		names[e.ID()], addresses[e.Address] = true, true
	}
	return problems
}

// readFile reads a file of bounded size and parses it. The lines of a parse error stand indented under the file's name.
func readFile[T any](name string, parse func([]byte) (T, error)) (T, error) {
	var zero T
	b, err := readBounded(name)
	if err != nil {
		return zero, err
	}
	v, err := parse(b)
	if err != nil {
		return zero, fmt.Errorf("%s:\n  %s", name, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return v, nil
}

// readBounded reads a file up to the size beyond which strictyaml refuses it.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, strictyaml.MaxBytes+1))
}
