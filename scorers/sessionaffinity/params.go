// Package sessionaffinity finds the endpoint that a request's session belongs to, for the plugins that keep sessions together.
// There are two ways: a header names the endpoint (Token), or this worker remembers which endpoint a session was sent to
// (Bindings).
package sessionaffinity

import (
	"errors"
	"math"
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/agentidentity"
	"github.com/zerohop/zerohop/scorers/sessionidproducer"
	"github.com/zerohop/zerohop/shared/plan"
)

const (
	paramStrategy = "strategy"
	paramToken    = "encodedEndpointHeaderConfig"
	paramHeader   = paramToken + ".header"
	paramID       = "sessionIdConfig"
	paramSources  = paramID + ".sources"
	paramIdle     = paramID + ".evictionTtlSeconds"
	paramSweep    = paramID + ".evictionSweepSeconds"
	paramProfile  = "profileName"

	strategyToken = "encoded_endpoint_header"
	strategyID    = "session_id"

	defaultToken = "x-session-token"
	defaultID    = "x-session-id"
	defaultIdle  = 300 // seconds
	defaultSweep = 10  // seconds
)

// Params are the parameters of each plugin type that uses this package.
var Params = []scorers.Param{
	{
		Name: paramStrategy, Kind: plan.String, Default: strategyToken, Choices: []string{strategyToken, strategyID},
		Doc: "how the endpoint of a session is known",
	},
	{
		Name: paramToken, Shape: scorers.Object, Doc: "of strategy " + strategyToken,
		Fields: []scorers.Param{
			{Name: "header", Kind: plan.String, Default: defaultToken, Doc: "request and response header that names the endpoint"},
		},
	},
	{
		Name: paramID, Shape: scorers.Object, Doc: "of strategy " + strategyID,
		Fields: []scorers.Param{
			{
				Name: "sources", Shape: scorers.List, Limit: 16, Doc: "where the id is; the first that is not empty counts. By default header " + defaultID,
				Fields: []scorers.Param{
					{Name: "header", Kind: plan.String, Doc: "request header whose value is the id"},
					{Name: "attribute", Kind: plan.String, Doc: "request attribute that is the id: " + agentidentity.Type + ", or else that of a " + sessionidproducer.Type},
					{Name: "producer", Kind: plan.String, Ref: sessionidproducer.Type, Doc: "name of the plugin that makes the attribute"},
				},
			},
			{
				Name: "evictionTtlSeconds", Default: float64(defaultIdle), MinOpen: true, Max: math.Inf(1),
				Doc: "seconds after its last request from which a session may be forgotten",
			},
			{
				Name: "evictionSweepSeconds", Default: float64(defaultSweep), MinOpen: true, Max: math.Inf(1),
				Doc: "seconds in which all sessions are looked at once",
			},
		},
	},
	{Name: paramProfile, Kind: plan.String, Default: "", Doc: "only requests that run this profile bind a session or get a header; empty means all"},
}

// Consumes is what each plugin type that uses this package reads.
var Consumes = []scorers.Need{{Key: scorers.DataSessionID, Optional: true}}

// ByID reports whether Bindings are asked for, or else a Token.
func ByID(u *scorers.Setup) bool { return u.Params.String(paramStrategy, strategyToken) == strategyID }

// profileOf returns which profile a plugin is for.
func profileOf(u *scorers.Setup) profile {
	name := u.Params.String(paramProfile, "")
	return profile{index: slices.Index(u.Profiles, name), any: name == ""}
}

// profile is the one that a plugin is for. A name that no profile has is for none.
type profile struct {
	_ [0]func() // not comparable, for the size of the module

	index int
	any   bool
}

func (p profile) is(index int) bool { return p.any || p.index == index }

// source is one place where the id of a session may be.
type source struct {
	_ [0]func() // not comparable, for the size of the module

	header   scorers.HeaderID
	producer identifier // instead of the header, unless nil
	absent   bool       // the producer does not exist, or its type is not active
}

// identifier is a plugin that says which session a request belongs to; see sessionidproducer and agentidentity.
type identifier interface {
	SessionID(c *scorers.Cycle) []byte
}

func (s *source) id(c *scorers.Cycle) []byte {
	switch {
	case s.absent:
		return nil
	case s.producer != nil:
		return s.producer.SessionID(c)
	}
	return c.Request.Headers.Get(s.header)
}

// sourcesOf reads the list of sources. Its error is of the first that is wrong.
func sourcesOf(u *scorers.Setup) ([]source, error) {
	n := u.Params.Len(paramSources)
	if n == 0 {
		return []source{{header: u.Header(defaultID)}}, nil
	}
	out := make([]source, n)
	for i := range out {
		path := plan.Element(paramSources, i)
		if what := out[i].read(u, path); what != "" {
			return nil, errors.New(path + what)
		}
	}
	return out, nil
}

// read takes over one source, and returns what is wrong with it.
func (s *source) read(u *scorers.Setup, path string) string {
	header := scorers.TrimText(u.Params.String(path+".header", ""))
	attribute := scorers.TrimText(u.Params.String(path+".attribute", ""))
	producer := path + ".producer"
	switch {
	case header == "" && attribute == "":
		return ": says neither header nor attribute; give one of them"
	case header != "" && attribute != "":
		return ": says both header and attribute; remove one of them"
	case header != "" && u.Params.String(producer, "") != "":
		return ".producer: has no meaning beside a header; remove it"
	case header != "":
		s.header = u.Header(header)
		return ""
	}
	typ := sessionidproducer.Type
	if attribute == agentidentity.Type {
		typ = agentidentity.Type
	}
	from, ok := u.Producer(producer, typ).(identifier)
	s.producer, s.absent = from, !ok
	return ""
}

// seconds reads a number of seconds, in nanoseconds.
func seconds(u *scorers.Setup, name string, def float64) uint64 {
	return uint64(max(1, min(u.Params.Float(name, def)*1e9, math.MaxInt64)))
}
