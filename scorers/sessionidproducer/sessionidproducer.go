// Package sessionidproducer provides the plugin type session-id-producer: a request's session is named by a header or by a
// cookie, for the plugins that keep sessions together.
package sessionidproducer

import (
	"errors"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "session-id-producer"

const (
	paramHeader = "headerName"
	paramCookie = "cookieName"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindProducer,
	Params: []scorers.Param{
		{Name: paramHeader, Kind: plan.String, Doc: "request header whose value is the session's id"},
		{Name: paramCookie, Kind: plan.String, Doc: "cookie whose value is the session's id"},
	},
	Produces: []scorers.DataKey{scorers.DataSessionID},
	New:      newProducer,
}

// Producer says which session a request belongs to.
type Producer struct{ id scorers.HeaderID }

func newProducer(u *scorers.Setup) (any, error) {
	header := scorers.TrimText(u.Params.String(paramHeader, ""))
	cookie := scorers.TrimText(u.Params.String(paramCookie, ""))
	switch {
	case header == "" && cookie == "":
		return nil, errors.New("says neither " + paramHeader + " nor " + paramCookie + "; give one of them")
	case header != "" && cookie != "":
		return nil, errors.New("says both " + paramHeader + " and " + paramCookie + "; remove one of them")
	case cookie != "":
		return &Producer{u.Cookie(cookie)}, nil
	}
	return &Producer{u.Header(header)}, nil
}

// SessionID returns the id of the request's session; empty if it names none. It is valid during the cycle.
func (p *Producer) SessionID(c *scorers.Cycle) []byte {
	return c.Request.Headers.Get(p.id)
}
