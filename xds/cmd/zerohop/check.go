package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/envoycheck"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

type checkCmd struct {
	File       string `arg:"" optional:"" placeholder:"FILE" help:"EndpointPickerConfig, ZerohopConfig, or both in one file (YAML or JSON)."`
	Endpoints  string `placeholder:"FILE" help:"Endpoint file to be checked with it."`
	Envoy      string `placeholder:"FILE" help:"Envoy configuration to be checked: a bootstrap, a listener, or an object that holds one."`
	ConfigFile string `placeholder:"FILE" help:"The same as FILE. Without one, --envoy is checked against the plan that stands in it."`
	Strict     bool   `name:"fail-on-inactive" help:"Count as a problem what is not active: known but not done in this version, or without effect as configured."`
	Output     string `short:"o" enum:"text,json" default:"text" help:"${enum}. Default ${default}."`
}

// run checks the files and prints what was found: problems and warnings to stderr, what is in force to stdout.
func (c *checkCmd) run(stdout, stderr io.Writer) error {
	if c.File == "" {
		c.File = c.ConfigFile
	}
	if c.File == "" && c.Envoy == "" {
		return usageError{errors.New("check: name a FILE, or an Envoy configuration with --envoy")}
	}
	if c.ConfigFile != "" && c.ConfigFile != c.File {
		return usageError{errors.New("--config-file: a FILE is named already")}
	}
	r := checked{Problems: []found{}, Warnings: []found{}, Notes: []found{}, Inactive: []config.Inactive{}}
	conf := c.config(&r)
	eps := c.endpoints(&r, conf)
	if conf != nil {
		r.judge(c.File, conf, eps)
	}
	if c.Envoy != "" {
		r.envoy(c.Envoy, conf)
	}
	r.OK = len(r.Problems) == 0
	if r.OK && conf != nil {
		r.Effective, r.Defaults = string(conf.YAML()), conf.Defaults
	}
	if err := r.print(c, stdout, stderr); err != nil {
		return err
	}
	switch n := len(r.Problems); {
	case n == 1:
		return usageError{errors.New("1 problem")}
	case n > 1:
		return usageError{fmt.Errorf("%d problems", n)}
	}
	return nil
}

// config loads the documents; nil if there are none or they have problems.
func (c *checkCmd) config(r *checked) *config.Config {
	if c.File == "" {
		return nil
	}
	doc, err := readBounded(c.File)
	if err != nil {
		r.problem(c.File, err)
		return nil
	}
	conf, err := loadConfig(doc, c.Strict)
	if err != nil {
		r.problem(c.File, err)
		return nil
	}
	for _, w := range conf.Warnings {
		r.Warnings = append(r.Warnings, found{File: c.File, Line: w.Line, Path: w.Path, Text: w.Text})
	}
	r.Inactive = append(r.Inactive, conf.Inactive...)
	return conf
}

// endpoints reads the endpoint file of the flag and those that the documents name.
func (c *checkCmd) endpoints(r *checked, conf *config.Config) []discovery.Endpoint {
	var all []discovery.Endpoint
	read := func(name string) {
		doc, err := readBounded(name)
		if err == nil {
			var eps []discovery.Endpoint
			eps, err = discovery.ParseFile(doc)
			all = append(all, eps...)
		}
		if err != nil {
			r.problem(name, err)
		}
	}
	if c.Endpoints != "" {
		read(c.Endpoints)
	}
	if conf == nil {
		return all
	}
	all = append(all, conf.Zerohop.Discovery.Endpoints...)
	for _, f := range conf.Files() {
		if _, err := os.Stat(f.Name); err != nil {
			r.warning(c.File, f.Line, f.Path, "%s cannot be read here (%v); it must be there where the agent runs", f.Name, cause(err))
			continue
		}
		if f.Endpoints && f.Name != c.Endpoints {
			read(f.Name)
		}
	}
	return all
}

// judge finds what is wrong with the whole although each part is right.
func (r *checked) judge(file string, conf *config.Config, eps []discovery.Endpoint) {
	z := &conf.Zerohop
	if most := z.Bounds.Endpoints; len(eps) > most {
		r.Problems = append(r.Problems, found{File: file, Path: "bounds.endpoints", Text: fmt.Sprintf("%d endpoints; the filter considers at most %d", len(eps), most)})
	}
	for _, text := range repeated(eps) {
		r.Problems = append(r.Problems, found{File: file, Text: text})
	}
	if _, err := sched.New(conf.Plan(config.Settings{}), 1); err != nil {
		r.problem(file, err)
	}
	if z.Agent.Disabled {
		if len(eps) == 0 {
			r.warning(file, 0, "agent.enabled", "is false, and there is no endpoint here; give some with --endpoints")
		}
		return
	}
	r.listeners(file, z)
}

// listeners applies the agent's rule of who may reach it. Files that are not here are no problem of the document.
func (r *checked) listeners(file string, z *config.Zerohop) {
	a := &z.Agent
	policy, err := policyOf(a, slog.New(slog.DiscardHandler))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return
	}
	if err != nil {
		r.problem(file, err)
		return
	}
	for _, l := range []struct {
		path string
		at   netip.AddrPort
	}{{"agent.listen", a.Listen}, {"agent.xdsListen", a.XDSListen}} {
		if err := policy.CheckListen(l.at); err != nil {
			r.Problems = append(r.Problems, found{File: file, Path: l.path, Text: err.Error()})
		}
	}
}

// envoy checks an Envoy configuration against the plan that conf compiles to.
func (r *checked) envoy(file string, conf *config.Config) {
	doc, err := readBounded(file)
	if err != nil {
		r.problem(file, err)
		return
	}
	var want *plan.Plan
	if conf != nil {
		settings := config.Settings{AgentCluster: conf.Zerohop.Envoy.AgentCluster}
		if conf.Zerohop.Agent.Disabled {
			settings.AgentCluster = ""
		}
		want = conf.Plan(settings)
	}
	report, err := envoycheck.Check(doc, want)
	if err != nil {
		r.problem(file, err)
		return
	}
	for _, f := range report.Findings {
		r.Problems = append(r.Problems, found{File: file, Line: f.Line, Path: f.Path, Text: f.What, Why: f.Why, Add: f.Add, Replace: f.Replace})
	}
	for _, f := range report.Notes {
		r.Notes = append(r.Notes, found{File: file, Line: f.Line, Path: f.Path, Text: f.What})
	}
}

// problem notes every problem that err lists.
func (r *checked) problem(file string, err error) {
	for _, p := range strictyaml.ListOf(err) {
		text := p.Text
		if p.Line == 0 && p.Path == "" {
			text = cause(err).Error()
		}
		r.Problems = append(r.Problems, found{File: file, Line: p.Line, Path: p.Path, Text: text})
	}
}

func (r *checked) warning(file string, line int, path, format string, args ...any) {
	r.Warnings = append(r.Warnings, found{File: file, Line: line, Path: path, Text: fmt.Sprintf(format, args...)})
}

// cause strips the file's name, which is printed anyway.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
