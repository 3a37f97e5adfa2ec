package discovery

import (
	"errors"
	"testing"
	"testing/synctest"
)

// TestMemory lets one source follow another, which does not answer at first.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		first := make(script)
		r := runSource(t, m.Of(first))
		r.want()
		first <- Update{Endpoints: []Endpoint{endpoint("a", "10.0.0.1:80")}}
		r.want("a@10.0.0.1:80")
		first <- Update{Err: errors.New("broken")}
		r.want("err: broken")
		r.stop()

		second := make(script)
		r = runSource(t, m.Of(second))
		r.want("a@10.0.0.1:80")
		second <- Update{Err: errors.New("still broken")}
		r.want("err: still broken")
		second <- Update{Endpoints: []Endpoint{endpoint("a", "10.0.0.1:80")}}
		r.want("a@10.0.0.1:80") // ends the error
		second <- Update{Endpoints: []Endpoint{}}
		r.want("")
		r.stop()

		r = runSource(t, m.Of(make(script)))
		r.want("") // a list without endpoints
		r.stop()
	})
}
