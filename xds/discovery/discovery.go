// Package discovery says which endpoints exist: a static list, a file in the format of the EPP's file-discovery plugin, DNS,
// or several of them merged. It reads no metrics, decides nothing about health and knows nothing of Envoy.
//
// # What a source guarantees
//
// Everything that finds endpoints is a [Source]; one for Kubernetes has to keep to this too.
//
//   - An update carries the whole list, never a difference. An endpoint that is absent from it is gone.
//   - The first update, a list or an error, comes soon: within seconds even when nothing can be reached.
//   - A list is sent when it or its warnings differ from those sent before, or when it ends an error; not at every look. Its
//     order depends on nothing but its content.
//   - A list that cannot be trusted is not sent. The source says why in Err and the last list stays: an outage of whatever
//     the list comes from must not take endpoints away. An empty list is a statement, to be sent only when it is certain.
//   - Every endpoint passes [Endpoint.Validate]; no ID and no address stands in a list twice.
//   - An endpoint's ID is the same in every update and does not depend on what else is in the list. An ID whose address
//     changes is another endpoint, because load, cache and open streams belong to the server at the address.
//   - An update never changes once it is sent: senders and receivers share the lists and the maps in them.
//   - Run calls update from one goroutine, one call after the other. It returns soon after its context has ended, not
//     before, and leaves nothing running.
//
// [Merge] puts sources together, reports what is wrong with them to the log, and leaves out what breaks the rule on
// validity.
//
// # Who can name an address
//
// The addresses decide where prompts go and what is scraped, so they come from the operator, or from a server which the
// operator named: the file, the document, the resolver. Nothing that an endpoint sends (metrics page, redirect, response)
// becomes an address. Whoever can write the file or answer for the resolver can send traffic to any unicast address,
// loopback included: DNS is no source where the resolver, or the network to it, is not trusted.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"

	"github.com/zerohop/zerohop/shared/snapshot"
)

// Endpoint is one ip:port that serves a model.
type Endpoint struct {
	Namespace string
	Name      string
	Address   netip.AddrPort // without zone; IPv4-mapped IPv6 is unmapped
	Labels    map[string]string
	Rank      int // which data-parallel rank of its host it is, from 0
}

// ID returns namespace/name, by which an endpoint is known everywhere.
func (e *Endpoint) ID() string { return e.Namespace + "/" + e.Name }

// equal says whether two endpoints are the same one and unchanged.
func (e *Endpoint) equal(o *Endpoint) bool {
	return e.Address == o.Address && e.Name == o.Name && e.Namespace == o.Namespace && e.Rank == o.Rank && maps.Equal(e.Labels, o.Labels)
}

// Validate says what makes e unusable.
func (e *Endpoint) Validate() error {
	switch {
	case e.Namespace == "" || e.Name == "":
		return errors.New("namespace or name is empty")
	case !snapshot.ValidName([]byte(e.ID())):
		return fmt.Errorf("name %.100q has control characters or, with its namespace, more than %d bytes", e.ID(), snapshot.MaxName)
	case e.Address.Port() == 0:
		return errors.New("port is 0")
	case e.Rank < 0:
		return errors.New("rank is negative")
	}
	return validateIP(e.Address.Addr())
}

// validateIP says why ip is not the address of one host, in the form that addresses have here.
func validateIP(ip netip.Addr) error {
	switch {
	case !ip.IsValid():
		return errors.New("address is missing")
	case ip.Zone() != "":
		return fmt.Errorf("address %s has a zone, which Envoy's ORIGINAL_DST cluster must not see", ip)
	case ip.Is4In6():
		return fmt.Errorf("address %s is an IPv4 address written as IPv6", ip)
	case ip.IsUnspecified() || ip.IsMulticast() || ip == broadcast:
		return fmt.Errorf("address %s is no address of a single host", ip)
	}
	return nil
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// Update is what a source knows. It must not be changed by anybody.
type Update struct {
	Endpoints []Endpoint // the whole list
	Warnings  []string   // what is not as it should be, such as what was left out of the list
	Err       error      // if not nil, the source is unhealthy, the rest is empty, and the last list stays in force
}

// Source finds endpoints. The package comment says what it guarantees. A source may implement fmt.Stringer to say what it
// is called in messages.
type Source interface {
	// Run calls update at once when the endpoints are first known and whenever they change, until ctx ends.
	Run(ctx context.Context, update func(Update))
}

// Static returns a source whose list never changes. The list must not change either.
func Static(endpoints []Endpoint) Source { return static(endpoints) }

type static []Endpoint

func (static) String() string { return "the static list" }

func (s static) Run(ctx context.Context, update func(Update)) {
	list := []Endpoint(s)
	if list == nil {
		list = []Endpoint{}
	}
	update(Update{Endpoints: list})
	<-ctx.Done()
}
