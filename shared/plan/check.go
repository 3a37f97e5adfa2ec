package plan

import (
	"strconv"

	"github.com/zerohop/zerohop/shared/cidr"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// problems returns what is wrong with the values of p, each with its path. What a plugin can do and which parameters it
// takes is checked where plugins are known, in the scheduler.
func (p *Plan) problems() []fieldError {
	c := checker{plugins: make(map[string]int, len(p.Plugins))}
	c.oneOf("destination", p.Destination, DestinationHeader, DestinationFilterState, DestinationList)
	c.oneOf("failureMode", p.FailureMode, FailClose, FailOpen)
	if p.Parity != "" {
		c.oneOf("parity", p.Parity, ParityNone, ParityEPP)
	}
	if p.Revision != "" && !validRevision(p.Revision) {
		c.add("revision", "must be 16 lower-case hexadecimal digits, not "+strconv.Quote(p.Revision))
	}
	if p.Agent.Cluster != "" {
		c.positive("agent.pollTimeoutMs", p.Agent.PollTimeoutMs)
		c.positive("agent.staleMs", p.Agent.StaleMs)
	}
	c.positive("bounds.endpoints", p.Bounds.Endpoints)
	c.checkIndex(p.Bounds)
	if !p.Prefix.AutoTune {
		c.positive("prefix.blockSizeTokens", p.Prefix.BlockSizeTokens)
	}
	c.checkPlugins(p.Plugins)
	c.checkProfiles(p.Profiles)
	c.reference("profileHandler", p.ProfileHandler)
	c.checkEndpoints(p.Endpoints)
	c.checkObjectives(p.Objectives)
	for i, text := range p.Explain.Networks {
		if _, err := cidr.Parse(text); err != nil {
			c.add(element("explain.networks", i), err.Error())
		}
	}
	if p.Sharing.Mode != "" {
		c.oneOf("sharing.mode", p.Sharing.Mode, SharingProcess, SharingWorker)
	}
	if p.Sharing.Mode == SharingProcess {
		c.positive("sharing.logBytes", p.Sharing.LogBytes)
	}
	if p.Attempts.Retries != "" {
		c.oneOf("attempts.retries", p.Attempts.Retries, RetryUnsent, RetryUnanswered)
	}
	return c.found
}

type checker struct {
	plugins map[string]int // index of each plugin by name
	found   []fieldError
}

// add notes a problem. Like the other helpers that are not inlined it has many callers, and they are run once per plan.
//
//go:noinline
func (c *checker) add(path, what string) { c.found = append(c.found, fieldError{path, what}) }

func (c *checker) oneOf(path, got string, known ...string) {
	text := "must be "
	for i, k := range known {
		if got == k {
			return
		}
		if i > 0 {
			text += " or "
		}
		text += strconv.Quote(k)
	}
	c.add(path, text+", not "+strconv.Quote(got))
}

// validRevision reports whether s is what RevisionID reads.
func validRevision(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 16
}

// RevisionID returns the revision as a number; 0 if it is unknown.
func (p *Plan) RevisionID() uint64 {
	if !validRevision(p.Revision) {
		return 0
	}
	id, _ := strconv.ParseUint(p.Revision, 16, 64)
	return id
}

func (c *checker) positive(path string, got int) {
	if got < 1 {
		c.add(path, "must be at least 1, not "+strconv.Itoa(got))
	}
}

// maxIndexMiB bounds what a worker's prefix index may grow to. Envoy gives a module 1 GiB.
const maxIndexMiB = 512

// checkIndex refuses bounds by which the prefix index could outgrow the module's memory: 130 bytes a record for run, record
// and tables, if no two blocks share a run, and one bit for each endpoint, in words of 64 that double.
func (c *checker) checkIndex(b Bounds) {
	words := 1
	for words*64 < b.Endpoints && words < 1<<20 {
		words *= 2
	}
	const limit = maxIndexMiB << 20
	if most := limit / (130 + 8*words); b.IndexBlocks > most {
		c.add("bounds.indexBlocks", "must be at most "+strconv.Itoa(most)+" with "+strconv.Itoa(b.Endpoints)+" endpoints, not "+
			strconv.Itoa(b.IndexBlocks)+": the prefix index of a worker would take more than "+strconv.Itoa(maxIndexMiB)+" MiB")
	}
}

// reference checks that name is the name of a plugin.
func (c *checker) reference(path, name string) {
	if name == "" {
		c.add(path, "must name a plugin")
	} else if _, ok := c.plugins[name]; !ok {
		c.add(path, "no plugin named "+strconv.Quote(name))
	}
}

func (c *checker) checkPlugins(plugins []Plugin) {
	for i := range plugins {
		p := &plugins[i]
		at := element("plugins", i)
		c.unique(c.plugins, "plugins", i, p.Name)
		if p.Type == "" {
			c.add(at+".type", "must not be empty")
		}
	}
}

func (c *checker) checkProfiles(profiles []Profile) {
	if len(profiles) == 0 {
		c.add("profiles", "must have at least one profile")
	}
	names := make(map[string]int, len(profiles))
	for i := range profiles {
		p := &profiles[i]
		at := element("profiles", i)
		c.unique(names, "profiles", i, p.Name)
		for j, name := range p.Filters {
			c.reference(element(at+".filters", j), name)
		}
		for j := range p.Scorers {
			c.reference(element(at+".scorers", j)+".plugin", p.Scorers[j].Plugin)
		}
		c.reference(at+".picker", p.Picker)
	}
}

func (c *checker) checkEndpoints(endpoints []Endpoint) {
	type identity struct{ name, address string }
	seen := make(map[identity]int, len(endpoints))
	for i := range endpoints {
		e := &endpoints[i]
		at := element("endpoints", i)
		if !snapshot.ValidName([]byte(e.Name)) {
			c.add(at+".name", "must have no control characters and at most "+strconv.Itoa(snapshot.MaxName)+" bytes")
		}
		if !snapshot.ValidAddress([]byte(e.Address)) {
			c.add(at+".address", strconv.Quote(e.Address)+" must be ip:port in canonical form, IPv6 in brackets")
		}
		id := identity{e.Name, e.Address}
		if first, ok := seen[id]; ok {
			c.add(at, "repeats "+element("endpoints", first))
		} else {
			seen[id] = i
		}
		c.checkLabels(at+".labels", e.Labels)
	}
}

func (c *checker) checkLabels(list string, labels []Label) {
	for i, l := range labels {
		at := element(list, i) + ".key"
		if l.Key == "" {
			c.add(at, "must not be empty")
		}
		for j := range i {
			if labels[j].Key == l.Key {
				c.add(at, strconv.Quote(l.Key)+" is the key of "+element(list, j)+" too")
				break
			}
		}
	}
}

func (c *checker) checkObjectives(objectives []Objective) {
	names := make(map[string]int, len(objectives))
	for i := range objectives {
		c.unique(names, "objectives", i, objectives[i].Name)
	}
}

// unique checks that element i of list has a name that no earlier element has.
func (c *checker) unique(names map[string]int, list string, i int, name string) {
	at := element(list, i) + ".name"
	if name == "" {
		c.add(at, "must not be empty")
	} else if first, ok := names[name]; ok {
		c.add(at, strconv.Quote(name)+" is the name of "+element(list, first)+" too")
	} else {
		names[name] = i
	}
}

// element returns the path of element i of list.
//
//go:noinline
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
