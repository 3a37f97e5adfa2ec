// Package envoycheck finds what an Envoy configuration lacks for zerohop to work, and says for each missing piece why it
// is needed and which lines to add where. It reads a bootstrap, a fragment of one (listener, cluster, route configuration),
// a config dump, or an object that holds such fragments, as YAML or JSON. It knows messages by their type or, where that is
// not said, by their fields, so that versions of Envoy that it does not know are no obstacle. It does not replace "envoy
// --mode validate": what Envoy itself refuses is left to Envoy. What the filter needs from other programs (files, agent,
// endpoints) is not checked either.
package envoycheck

import (
	"fmt"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// Finding is one piece that is missing or wrong.
type Finding struct {
	ID   string // names the check
	Line int    // 0 if unknown
	Path string // of the object that lacks something
	What string // is wrong
	Why  string // it matters
	Add  string // YAML to add to the object at Path; empty if adding is not enough
	// Replace says that Add takes the place of fields of the same name. Otherwise what it has is merged with them, and
	// elements of lists stand first, or last if Last.
	Replace, Last bool
}

// Report is the result of a check.
type Report struct {
	Findings []Finding // to be mended, in the order of lines
	Notes    []Finding // what could not be checked, and what to keep in mind
}

// Check examines a configuration. want is the plan that the filter is to run, or nil if that is only in the document. The
// error says why the document cannot be read.
func Check(doc []byte, want *plan.Plan) (Report, error) {
	var problems strictyaml.Problems
	roots, err := strictyaml.ParseAll(doc, &problems)
	if err != nil {
		return Report{}, err
	}
	if err := problems.Err(); err != nil { // duplicate keys, of which Envoy would take one
		return Report{}, err
	}
	c := &checker{want: want}
	for _, root := range roots {
		c.collect(node{root}, place{})
	}
	if len(c.hcms) == 0 && len(c.wasms) == 0 && len(c.clusters) == 0 {
		return Report{}, fmt.Errorf("there is neither an HttpConnectionManager nor a cluster nor a Wasm filter here; is it an Envoy configuration?")
	}
	c.filters()
	c.managers()
	c.ads()
	c.checkClusters()
	c.concurrency()
	return c.report(), nil
}

// checker is one check in progress.
type checker struct {
	want      *plan.Plan
	bootstrap node // has static_resources; may not exist

	hcms      []node
	wasms     []wasm
	clusters  []node
	routes    []node // route configurations outside of HCMs
	listeners []node

	down     *wasm      // the downstream filter that is checked
	inFile   *plan.Plan // its plan
	findings []Finding
	notes    []Finding
}

// plan returns the plan to check against: the wanted one, else the document's, else nil.
func (c *checker) plan() *plan.Plan {
	if c.want != nil {
		return c.want
	}
	return c.inFile
}

// mode returns the destination mode.
func (c *checker) mode() string {
	if p := c.plan(); p != nil {
		return p.Destination
	}
	return plan.DestinationHeader
}

// lack notes that the object at n lacks the lines in add.
func (c *checker) lack(id string, n node, what, why, add string) *Finding {
	c.findings = append(c.findings, Finding{ID: id, Line: n.Line(), Path: n.Path(), What: what, Why: why, Add: add})
	return &c.findings[len(c.findings)-1]
}

func (c *checker) note(id string, n node, format string, args ...any) {
	c.notes = append(c.notes, Finding{ID: id, Line: n.Line(), Path: n.Path(), What: fmt.Sprintf(format, args...)})
}

// concurrency reminds of what each worker thread takes.
func (c *checker) concurrency() {
	if p := c.plan(); p != nil && c.down != nil {
		c.note("concurrency", c.down.config, "each worker thread (--concurrency, by default one for each CPU) keeps a prefix index of its own, of up to %d MiB by bounds.indexBlocks",
			indexMiB(p.Bounds))
	}
}

// indexMiB returns what the prefix index of a worker may grow to, by the rule of package plan: 130 bytes a record, and one bit
// for each endpoint in words of 64 that double.
func indexMiB(b plan.Bounds) int {
	words := 1
	for words*64 < b.Endpoints && words < 1<<20 {
		words *= 2
	}
	return b.IndexBlocks / (1 << 10) * (130 + 8*words) / (1 << 10)
}
