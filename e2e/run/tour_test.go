package main

import (
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
)

// TestEntryOf finds an entry among those of other clients, whatever their order.
func TestEntryOf(t *testing.T) {
	entries := []harness.AccessEntry{
		{"path": "/v1/chat/completions", "pick": "a"},
		{"path": "/v1/chat/completions?tour=xid", "pick": "b"},
		{"path": "/v1/chat/completions?tour=id", "pick": "c"},
		{"path": nil},
	}
	for _, tt := range []struct{ name, id, want string }{{"last", "id", "c"}, {"longer", "xid", "b"}, {"none", "d", ""}} {
		t.Run(tt.name, func(t *testing.T) {
			e, ok := entryOf(entries, tt.id)
			if e.String("pick") != tt.want || ok != (tt.want != "") {
				t.Errorf("%v, %v", e, ok)
			}
		})
	}
}
