package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// startPatience is how long the first list waits for sources that have none yet, be it that they fail. Without it a
// restarted agent would begin with half of its endpoints, and those that come later would look new to every filter.
const startPatience = 5 * time.Second

// Merge returns one source for several. Its list is theirs one after the other, in the order of the arguments, each in its
// own order.
//
// An endpoint is left out, with a warning, if its ID or its address is that of an endpoint before it, whatever its other
// properties, or if it is invalid. So the source that is named first wins, whichever speaks first. When the winner loses
// its endpoint, the other one's takes its place.
//
// A source that becomes unhealthy keeps its last list in the merged one. Err names all sources that are unhealthy. While
// there are some, each new list is followed by an update with Err.
//
// The log gets a line when a source becomes unhealthy, for another reason, or healthy again, and one for each new warning.
func Merge(log *slog.Logger, sources ...Source) Source { return &merger{log: log, sources: sources} }

type merger struct {
	log     *slog.Logger
	sources []Source
}

func (m *merger) Run(ctx context.Context, update func(Update)) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	type message struct {
		from   int
		update Update
	}
	messages := make(chan message)
	for i, s := range m.sources {
		running.Go(func() {
			s.Run(ctx, func(u Update) {
				select {
				case messages <- message{i, u}:
				case <-ctx.Done():
				}
			})
		})
	}
	u := newUnion(m.log, m.sources, update)
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	for {
		u.tell()
		select {
		case <-ctx.Done():
			return
		case <-patience.C:
			u.silent = 0
		case msg := <-messages:
			u.take(msg.from, msg.update)
		}
	}
}

// member is what is known of one source.
type member struct {
	name  string
	known bool // there is a list
	list  Update
	err   error
}

// union is the state of a merger, without goroutines.
type union struct {
	log     *slog.Logger
	members []member
	silent  int // members that the first list waits for
	teller  teller
}

func newUnion(log *slog.Logger, sources []Source, update func(Update)) *union {
	u := &union{log: log, members: make([]member, len(sources)), silent: len(sources), teller: teller{update: update}}
	for i, s := range sources {
		u.members[i].name = fmt.Sprintf("source %d", i+1)
		if named, ok := s.(fmt.Stringer); ok {
			u.members[i].name = named.String()
		}
	}
	return u
}

// take stores what a source says.
func (u *union) take(from int, update Update) {
	m := &u.members[from]
	switch {
	case update.Err != nil && (m.err == nil || m.err.Error() != update.Err.Error()):
		u.log.Warn("source of endpoints is unhealthy; its last list stays", "source", m.name, "error", update.Err)
	case update.Err == nil && m.err != nil:
		u.log.Info("source of endpoints is healthy again", "source", m.name, "endpoints", len(update.Endpoints))
	}
	m.err = update.Err
	if update.Err != nil {
		return
	}
	if !m.known {
		u.silent-- // below zero when patience has ended: the same as zero
	}
	m.known, m.list = true, update
}

// tell sends what is new.
func (u *union) tell() {
	var errs []error
	known := len(u.members) == 0
	for i := range u.members {
		if err := u.members[i].err; err != nil {
			errs = append(errs, err)
		}
		known = known || u.members[i].known
	}
	if known && u.silent <= 0 {
		list := u.combine()
		u.logWarnings(list.Warnings)
		if len(errs) == 0 || !u.teller.knows(list) {
			u.teller.tell(list)
		}
	}
	if len(errs) > 0 {
		u.teller.tell(Update{Err: errors.Join(errs...)})
	}
}

// owner is the endpoint that has a name or an address, and the member it is from.
type owner struct {
	endpoint *Endpoint
	member   *member
}

// combine returns the merged list.
func (u *union) combine() Update {
	out := Update{Endpoints: []Endpoint{}}
	names, addresses := make(map[string]owner), make(map[netip.AddrPort]owner)
	for i := range u.members {
		m := &u.members[i]
		out.Warnings = append(out.Warnings, m.list.Warnings...)
		for j := range m.list.Endpoints {
			e := &m.list.Endpoints[j]
			if reason := conflict(e, names, addresses); reason != "" {
				out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %.300q at %s is left out: %s", m.name, e.ID(), e.Address, reason))
				continue
			}
			names[e.ID()], addresses[e.Address] = owner{e, m}, owner{e, m}
			out.Endpoints = append(out.Endpoints, *e)
		}
	}
	out.Warnings = bounded(out.Warnings)
	return out
}

// conflict says why e cannot join the endpoints that are there, or nothing.
func conflict(e *Endpoint, names map[string]owner, addresses map[netip.AddrPort]owner) string {
	if err := e.Validate(); err != nil {
		return err.Error()
	}
	if o, ok := names[e.ID()]; ok {
		return fmt.Sprintf("%s has an endpoint of that name at %s", o.member.name, o.endpoint.Address)
	}
	if o, ok := addresses[e.Address]; ok {
		return fmt.Sprintf("%s has that address as %s", o.member.name, o.endpoint.ID())
	}
	return ""
}

// logWarnings reports the warnings that the last list did not have.
func (u *union) logWarnings(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(u.teller.list.Warnings, w) {
			u.log.Warn("list of endpoints is not as it should be", "warning", w)
		}
	}
}
