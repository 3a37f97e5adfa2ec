package filter

// blindAfterNs is how long the first paused request may go without a body callback before the filter believes that none
// will come.
const blindAfterNs = 5e9

// blind notices that Envoy shows no bodies, as it does where the plugin lacks allow_on_headers_stop_iteration: every paused
// request would hang until it times out. From then on requests are routed by load, until a body callback proves otherwise.
type blind struct {
	_ [0]func() // not comparable, for the size of the module

	seen    bool   // there was a callback behind the headers
	on      bool   // none is expected
	waiting bool   // a request was paused
	since   uint64 // time of the first tick after that; 0 if there was none
}

// watchBodies is called by every tick.
func (v *VM) watchBodies(now uint64) {
	b := &v.blind
	switch {
	case b.seen || b.on || !b.waiting:
		return
	case b.since == 0:
		b.since = now
		return
	case now-b.since < blindAfterNs:
		return
	}
	b.on = true
	v.host.Log(LogError, "zerohop: Envoy shows no request body; set allow_on_headers_stop_iteration: true on the filter. Requests are routed by load meanwhile")
}
