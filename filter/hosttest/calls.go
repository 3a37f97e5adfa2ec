package hosttest

// Call is an HTTP call that was not answered yet.
type Call struct {
	Token   uint32
	Cluster string
	Path    string
	Node    string // node id that the filter gave
	Body    []byte // valid until the call is answered
	Root    *Root  // the root context that called
	startNs uint64
	endNs   uint64 // timeout; 0 means none
}

// Calls returns the calls that wait for an answer. The slice is valid until the next callback.
func (w *Worker) Calls() []Call { return w.calls }

// Answer ends a call. Status 0 means that it failed or timed out: no headers, no body.
func (w *Worker) Answer(token uint32, status int, body []byte) {
	for i, c := range w.calls {
		if c.Token != token {
			continue
		}
		w.calls = append(w.calls[:i], w.calls[i+1:]...)
		a := answer{body: body}
		if status != 0 {
			a.status = w.p.status(status)
		}
		h := w.Host
		h.cur, h.answering, h.answer = c.Root.ID, true, a
		w.mod.CallDone(c.Root.ID, token, len(body))
		h.answering = false
		return
	}
}

func (w *Worker) dispatch(r *Root, cluster, path, node string, body []byte, timeoutMs int) (uint32, bool) {
	if w.RefuseCalls {
		return 0, false
	}
	w.token++
	w.callBody = append(w.callBody[:0], body...) // a VM has one call open that matters
	c := Call{Token: w.token, Cluster: cluster, Path: path, Node: node, Body: w.callBody, Root: r, startNs: w.p.now}
	if timeoutMs > 0 {
		c.endNs = w.p.now + uint64(timeoutMs)*1e6
	}
	w.calls = append(w.calls, c)
	return c.Token, true
}
