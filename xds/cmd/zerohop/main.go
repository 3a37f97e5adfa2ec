// Command zerohop is the companion of the zerohop filter: it runs the agent, renders and checks configurations, and shows what
// agent and filters are at.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitFailed = 1 // the command could not do its work
	exitUsage  = 2 // flags or input files are wrong
)

// cli are the commands and their flags.
type cli struct {
	Agent    agentCmd    `cmd:"" help:"Find and scrape the endpoints, and serve plan and snapshots to Envoy."`
	Render   renderCmd   `cmd:"" help:"Render configuration for other programs."`
	Check    checkCmd    `cmd:"" help:"Say what is wrong with a configuration, or what is in force by it. Exit code 2 if something is wrong."`
	Status   statusCmd   `cmd:"" help:"Say which plan every Envoy has, and what it refuses. Exit code 1 if something is refused."`
	Snapshot snapshotCmd `cmd:"" help:"Print what the agent publishes: endpoints, the ages of their numbers, and what the filters report of them."`
	Explain  explainCmd  `cmd:"" help:"Ask an Envoy what it would do with a request, without sending it to a model server. Exit code 1 if no endpoint would get it."`
	Schema   schemaCmd   `cmd:"" help:"Print the JSON Schema of the configuration, for editors."`
	Version  struct{}    `cmd:"" help:"Print the version."`
}

type renderCmd struct {
	Envoy envoyCmd `cmd:"" help:"Render a complete Envoy bootstrap with the filter."`
}

// inputs are the files that agent and render read.
type inputs struct {
	ConfigFile string `required:"" placeholder:"FILE" help:"EndpointPickerConfig, ZerohopConfig or both (YAML or JSON). An empty file means the default: queue 2, KV cache 2, prefix 3."`
	Endpoints  string `placeholder:"FILE" help:"Endpoint file in the format of the EPP's file discovery (YAML or JSON), beside what the configuration says of endpoints."`

	FailOnInactive bool `help:"Refuse a configuration of which a part is not active: known but not done in this version, or without effect as configured."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is an error of flags or input files.
type usageError struct{ error }

// run executes one command line and returns the exit code. The context ends the agent.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	helped := false
	parser, err := kong.New(&c, kong.Name("zerohop"),
		kong.Description("LLM-inference scheduling inside Envoy: the companion of the Wasm filter."),
		kong.UsageOnError(), kong.Writers(stdout, stderr), kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return report(stderr, err)
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return 0
	case err != nil:
		return report(stderr, usageError{fmt.Errorf("%w; see zerohop --help", err)})
	}
	switch parsed.Command() {
	case "agent":
		err = c.Agent.run(ctx, stderr)
	case "render envoy":
		err = c.Render.Envoy.run(stdout, stderr)
	case "check", "check <file>":
		err = c.Check.run(stdout, stderr)
	case "status":
		err = c.Status.run(ctx, stdout)
	case "snapshot":
		err = c.Snapshot.run(ctx, stdout, stderr)
	case "explain":
		err = c.Explain.run(ctx, os.Stdin, stdout)
	case "schema":
		err = c.Schema.run(stdout)
	case "version":
		_, err = fmt.Fprintln(stdout, version())
	}
	return report(stderr, err)
}

// report prints err and returns the exit code that goes with it.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "zerohop: %v\n", err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// version returns what the build recorded: module version or commit, and the Go version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "zerohop (built without module information)"
	}
	return "zerohop " + info.Main.Version + " " + info.GoVersion
}
