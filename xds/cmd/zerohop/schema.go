package main

import (
	"io"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/xds/config"
)

type schemaCmd struct{}

// run prints the JSON Schema of the configuration.
func (schemaCmd) run(stdout io.Writer) error {
	text, err := config.JSONSchema(registry.Specs())
	if err != nil {
		return err
	}
	_, err = stdout.Write(text)
	return err
}
