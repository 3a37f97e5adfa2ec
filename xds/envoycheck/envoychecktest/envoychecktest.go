// Package envoychecktest does what package envoycheck asks for: tests mend an Envoy configuration by it and see whether that
// is enough. Comments of the configuration are lost, and so it is no tool for users.
package envoychecktest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/envoycheck"
)

// Tree is a configuration as the YAML reader has it.
type Tree = map[any]any

// mostFindings bounds how often a configuration is mended.
const mostFindings = 60

// Mend applies what the check asks for, one finding after the other, until it asks for nothing more.
func Mend(doc []byte, want *plan.Plan) ([]byte, error) {
	for range mostFindings {
		r, err := envoycheck.Check(doc, want)
		if err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
		if len(r.Findings) == 0 {
			return doc, nil
		}
		var root Tree
		if err := yaml.Unmarshal(doc, &root); err != nil {
			return nil, fmt.Errorf("parse: %w", err)
		}
		if err := Apply(root, r.Findings[0]); err != nil {
			return nil, err
		}
		if doc, err = yaml.Marshal(root); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
	}
	return nil, errors.New("what the check asks for does not help")
}

// Apply merges the lines of a finding into the object at its path.
func Apply(root Tree, f envoycheck.Finding) error {
	var add Tree
	if err := yaml.Unmarshal([]byte(f.Add), &add); err != nil {
		return fmt.Errorf("%s: the lines are no YAML: %w\n%s", f.ID, err, f.Add)
	}
	if len(add) == 0 {
		return fmt.Errorf("%s: %s: %s: there are no lines to add", f.ID, f.Path, f.What)
	}
	target := root
	if f.Path != "document" {
		target, _ = find(root, f.Path).(Tree)
	}
	if target == nil {
		return fmt.Errorf("%s: there is no object at %s", f.ID, f.Path)
	}
	merge(target, add, f)
	return nil
}

// find follows a path as findings have it; keys may contain dots. It returns nil if there is nothing.
func find(v any, path string) any {
	if path == "" {
		return v
	}
	switch x := v.(type) {
	case Tree:
		for k, e := range x {
			key, _ := k.(string)
			rest, ok := strings.CutPrefix(path, key)
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if found := find(e, strings.TrimPrefix(rest, ".")); found != nil {
				return found
			}
		}
	case []any:
		number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		if !ok || err != nil || i >= len(x) {
			return nil
		}
		return find(x[i], strings.TrimPrefix(rest, "."))
	}
	return nil
}

func merge(into, add Tree, f envoycheck.Finding) {
	for k, v := range add {
		old := into[k]
		if f.Replace {
			old = nil
		}
		switch v := v.(type) {
		case Tree:
			if m, ok := old.(Tree); ok {
				merge(m, v, f)
				continue
			}
		case []any:
			if l, ok := old.([]any); ok && f.Last {
				into[k] = append(slices.Clone(l), v...)
				continue
			} else if ok {
				into[k] = append(slices.Clone(v), l...)
				continue
			}
		}
		into[k] = v
	}
}
