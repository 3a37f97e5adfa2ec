package config

import (
	"strings"

	"github.com/zerohop/zerohop/xds/strictyaml"
)

// documents tells the two documents apart and checks that each is what it says it is. One that is neither is reported
// and not read further: everything in it would be a problem.
func (l *loader) documents(roots []strictyaml.Node) (picker, zerohop strictyaml.Node) {
	for _, root := range roots {
		into, want := &picker, kind
		switch l.kindOf(root) {
		case kind:
		case zerohopKind:
			into, want = &zerohop, zerohopKind
		default:
			continue
		}
		if into.Exists() {
			root.Field("kind").Problemf("is a second %s; keep the one in line %d", want, into.Line())
			continue
		}
		*into = root
	}
	return picker, zerohop
}

// kindOf reports what is wrong with a document's envelope. It returns which document it is or seems to be, or "".
func (l *loader) kindOf(root strictyaml.Node) string {
	if !root.IsObject() {
		root.Problemf("must be an object with apiVersion and kind")
		return ""
	}
	version, is := root.Field("apiVersion").Required(), root.Field("kind").Required()
	known := []string{kind, zerohopKind}
	switch is {
	case kind:
		checkVersion(root, version, apiVersion, apiVersionLegacy)
		return kind
	case zerohopKind:
		checkVersion(root, version, zerohopVersion)
		return zerohopKind
	case "":
		if strings.HasPrefix(version, "zerohop.") {
			return zerohopKind
		}
		return kind
	}
	root.Field("kind").Problemf("no kind %q is registered for version %q; %s", is, version, strictyaml.Suggest(is, known))
	return strictyaml.Nearest(is, known)
}

// checkVersion reports an apiVersion that is not among known, of which the first is the one to write.
func checkVersion(root strictyaml.Node, version string, known ...string) {
	for _, k := range known {
		if version == k || version == "" {
			return
		}
	}
	root.Field("apiVersion").Problemf("%q is not known; write %s", version, known[0])
}
