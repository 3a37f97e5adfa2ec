package hosttest

import "github.com/zerohop/zerohop/filter"

// Log implements filter.Process.
func (h *Host) Log(level filter.LogLevel, msg string) {
	h.enter("Log")
	h.p.Logs = append(h.p.Logs, LogLine{level, msg})
}

// Configuration implements filter.Process.
func (h *Host) Configuration(size int) []byte {
	h.enter("Configuration")
	if h.configure == nil {
		h.p.Fault("Configuration: outside of Configure")
		return nil
	}
	return h.give(h.configure.config[:min(size, len(h.configure.config))])
}

// RootID implements filter.Process.
func (h *Host) RootID() string {
	h.enter("RootID")
	if h.configure == nil {
		h.p.Fault("RootID: outside of Configure")
		return ""
	}
	return h.configure.Plugin
}

// SetTick implements filter.Process.
func (h *Host) SetTick(periodMs int) {
	h.enter("SetTick")
	if r := h.w.root(h.cur); r != nil {
		r.tickMs = periodMs
		return
	}
	h.p.Fault("SetTick: context %d is not a root", h.cur)
}

// Shared implements filter.Process.
func (h *Host) Shared(key string) (value []byte, cas uint32) {
	h.enter("Shared")
	c := h.p.shared[key]
	if c == nil {
		return nil, 0
	}
	return h.give(c.value), c.cas
}

// SetShared implements filter.Process.
func (h *Host) SetShared(key string, value []byte, cas uint32) bool {
	h.take("SetShared")
	defer h.spoil()
	return h.p.store(key, value, cas)
}

// Post implements filter.Process. The call belongs to the root of the current context.
func (h *Host) Post(cluster string, path, node, body []byte, timeoutMs int) (token uint32, ok bool) {
	h.take("Post")
	defer h.spoil()
	r := h.w.rootOf(h.cur)
	if r == nil || timeoutMs < 0 {
		h.p.Fault("Post: context %d, timeout %d ms", h.cur, timeoutMs)
		return 0, false
	}
	return h.w.dispatch(r, cluster, h.p.intern(path), h.p.intern(node), body, timeoutMs)
}

// CallStatus implements filter.Process.
func (h *Host) CallStatus() []byte {
	h.enter("CallStatus")
	if !h.answering {
		h.p.Fault("CallStatus: outside of CallDone")
		return nil
	}
	return h.giveString(h.answer.status)
}

// CallBody implements filter.Process.
func (h *Host) CallBody(size int) []byte {
	h.enter("CallBody")
	if !h.answering {
		h.p.Fault("CallBody: outside of CallDone")
		return nil
	}
	return h.give(h.answer.body[:min(size, len(h.answer.body))])
}

// DefineMetric implements filter.Process. Ids are the VM's own, the stats are the process's.
func (h *Host) DefineMetric(kind filter.MetricKind, name string) uint32 {
	h.enter("DefineMetric")
	m := h.p.metrics[name]
	if m == nil {
		m = &Metric{Kind: kind}
		h.p.metrics[name] = m
	}
	if m.Kind != kind {
		h.p.Fault("DefineMetric: %s is of kind %d, not %d", name, m.Kind, kind)
	}
	h.metrics = append(h.metrics, m)
	return uint32(len(h.metrics) - 1)
}

// Add implements filter.Process.
func (h *Host) Add(id uint32, n int64) {
	h.enter("Add")
	if m := h.metric(id, filter.Counter); m != nil && n > 0 {
		m.Value += n
		return
	}
	h.p.Fault("Add: %d to metric %d", n, id)
}

// Record implements filter.Process.
func (h *Host) Record(id uint32, v uint64) {
	h.enter("Record")
	switch m := h.metric(id, filter.Gauge, filter.Histogram); {
	case m == nil:
		h.p.Fault("Record: metric %d", id)
	case m.Kind == filter.Gauge:
		m.Value = int64(v)
		m.Samples++
	default:
		m.Value += int64(v)
		m.Samples++
	}
}

func (h *Host) metric(id uint32, kinds ...filter.MetricKind) *Metric {
	if int(id) >= len(h.metrics) {
		return nil
	}
	for _, k := range kinds {
		if h.metrics[id].Kind == k {
			return h.metrics[id]
		}
	}
	return nil
}

// HeapBytes implements filter.Process.
func (h *Host) HeapBytes() uint64 {
	h.enter("HeapBytes")
	return h.Heap
}

// Collect implements filter.Process.
func (h *Host) Collect() {
	h.enter("Collect")
	h.Collections++
	h.Heap = h.HeapLive
}
