// Package agentidentity provides the plugin type agent-identity: coding agents name their session in a header of their own,
// and this finds whichever is there.
package agentidentity

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "agent-identity"

const paramHeaders = "additionalSessionHeaders"

// known are the headers that agents send, in the order in which they count.
var known = [...]string{"x-claude-code-session-id", "x-session-affinity", "session-id", "session_id"}

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindProducer,
	Stability: "alpha",
	Params: []scorers.Param{{
		Name: paramHeaders, Shape: scorers.List, Kind: plan.String, Limit: scorers.MaxHeaders - len(known),
		Doc: "request headers that count before the known ones",
	}},
	Produces: []scorers.DataKey{scorers.DataSessionID},
	New:      newIdentity,
}

// Identity says which agent's session a request belongs to.
type Identity struct{ headers []scorers.HeaderID }

func newIdentity(u *scorers.Setup) (any, error) {
	p := &Identity{}
	for i := range u.Params.Len(paramHeaders) {
		if name := scorers.TrimText(u.Params.String(plan.Element(paramHeaders, i), "")); name != "" {
			p.headers = append(p.headers, u.Header(name))
		}
	}
	for _, name := range known {
		p.headers = append(p.headers, u.Header(name))
	}
	return p, nil
}

// SessionID returns the first id that is not empty; empty if there is none. It is valid during the cycle.
func (p *Identity) SessionID(c *scorers.Cycle) []byte {
	for _, id := range p.headers {
		if value := c.Request.Headers.Get(id); len(value) > 0 {
			return value
		}
	}
	return nil
}
