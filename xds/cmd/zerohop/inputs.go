package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// load reads both files and prints the warnings. An error lists all problems of both.
func (in *inputs) load(stderr io.Writer) (*config.Config, []discovery.Endpoint, error) {
	c, configErr := readFile(in.ConfigFile, func(b []byte) (*config.Config, error) { return config.Load(b, registry.Specs()) })
	eps, endpointsErr := readFile(in.Endpoints, discovery.ParseFile)
	switch {
	case configErr != nil && endpointsErr != nil:
		return nil, nil, usageError{fmt.Errorf("%w\n%w", configErr, endpointsErr)}
	case configErr != nil:
		return nil, nil, usageError{configErr}
	case endpointsErr != nil:
		return nil, nil, usageError{endpointsErr}
	}
	if len(eps) > config.MaxEndpoints {
		return nil, nil, usageError{fmt.Errorf("%s: %d endpoints; the filter considers at most %d", in.Endpoints, len(eps), config.MaxEndpoints)}
	}
	if len(eps) == 0 {
		_, _ = fmt.Fprintf(stderr, "zerohop: warning: %s: there is no endpoint, and the file is read only at start\n", in.Endpoints)
	}
	for _, w := range c.Warnings {
		_, _ = fmt.Fprintf(stderr, "zerohop: warning: %s: %s\n", in.ConfigFile, w)
	}
	return c, eps, nil
}

// readFile reads a file of bounded size and parses it. The lines of a parse error stand indented under the file's name.
func readFile[T any](name string, parse func([]byte) (T, error)) (T, error) {
	var zero T
	f, err := os.Open(name)
	if err != nil {
		return zero, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, strictyaml.MaxBytes+1))
	if err != nil {
		return zero, err
	}
	v, err := parse(b)
	if err != nil {
		return zero, fmt.Errorf("%s:\n  %s", name, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return v, nil
}
