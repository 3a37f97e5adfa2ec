package discovery

import (
	"context"
	"fmt"
)

// Memory is the last list of a source. It outlives the source's Run: when the sources are put together anew, one that cannot
// be asked at this moment must not lose its endpoints. The zero value remembers nothing. Sources of one Memory run one
// after the other.
type Memory struct {
	known bool
	last  Update
}

// Of returns s with the memory of those before it: its first update is their last list, if there is one.
func (m *Memory) Of(s Source) Source { return &remembering{Source: s, memory: m} }

type remembering struct {
	Source
	memory *Memory
}

// String names the source as it names itself.
func (r *remembering) String() string {
	if named, ok := r.Source.(fmt.Stringer); ok {
		return named.String()
	}
	return "a list of endpoints"
}

// Run implements Source.
func (r *remembering) Run(ctx context.Context, update func(Update)) {
	t := teller{update: update}
	if r.memory.known {
		t.tell(r.memory.last)
	}
	r.Source.Run(ctx, func(u Update) {
		if u.Err == nil {
			r.memory.known, r.memory.last = true, u
		}
		t.tell(u)
	})
}
