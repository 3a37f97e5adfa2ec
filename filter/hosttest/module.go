package hosttest

import (
	"fmt"
	"runtime/debug"

	"github.com/zerohop/zerohop/filter"
)

// Module is one VM with the filter in it: its exports, with a panic already turned into what the module makes of it. One
// that also is an io.Closer is closed when its VM is gone.
type Module interface {
	CreateContext(id, parent uint32)
	Configure(id uint32, size int) bool
	Tick(id uint32)
	CallDone(id, token uint32, size int)
	RequestHeaders(id uint32, endOfStream bool) filter.Action
	RequestBody(id uint32, size int, endOfStream bool) filter.Action
	RequestTrailers(id uint32) filter.Action
	ResponseHeaders(id uint32, endOfStream bool) filter.Action
	ResponseBody(id uint32, size int, endOfStream bool) filter.Action
	DeleteContext(id uint32)
}

// NewModule makes a VM on a host.
type NewModule func(*Host) Module

// Native is the filter in this process. It recovers from panics as the compiled module's exports do.
type Native struct {
	VM *filter.VM
	p  *Process
}

// NewNative is a NewModule.
func NewNative(h *Host) Module { return Native{filter.New(h), h.p} }

func (n Native) guard(id uint32) {
	if r := recover(); r != nil {
		n.p.Panics = append(n.p.Panics, fmt.Sprintf("%v\n%s", r, debug.Stack()))
		defer func() { _ = recover() }()
		n.VM.Recovered(id)
	}
}

// CreateContext implements Module.
func (n Native) CreateContext(id, parent uint32) {
	defer n.guard(id)
	n.VM.CreateContext(id, parent)
}

// Configure implements Module.
func (n Native) Configure(id uint32, size int) (accepted bool) {
	defer n.guard(id)
	return n.VM.Configure(id, size)
}

// Tick implements Module.
func (n Native) Tick(id uint32) {
	defer n.guard(id)
	n.VM.Tick(id)
}

// CallDone implements Module.
func (n Native) CallDone(id, token uint32, size int) {
	defer n.guard(id)
	n.VM.CallDone(id, token, size)
}

// RequestHeaders implements Module.
func (n Native) RequestHeaders(id uint32, endOfStream bool) (a filter.Action) {
	defer n.guard(id)
	return n.VM.RequestHeaders(id, endOfStream)
}

// RequestBody implements Module.
func (n Native) RequestBody(id uint32, size int, endOfStream bool) (a filter.Action) {
	defer n.guard(id)
	return n.VM.RequestBody(id, size, endOfStream)
}

// RequestTrailers implements Module.
func (n Native) RequestTrailers(id uint32) (a filter.Action) {
	defer n.guard(id)
	return n.VM.RequestTrailers(id)
}

// ResponseHeaders implements Module.
func (n Native) ResponseHeaders(id uint32, endOfStream bool) (a filter.Action) {
	defer n.guard(id)
	return n.VM.ResponseHeaders(id, endOfStream)
}

// ResponseBody implements Module.
func (n Native) ResponseBody(id uint32, _ int, _ bool) (a filter.Action) {
	defer n.guard(id)
	return n.VM.ResponseBody(id)
}

// DeleteContext implements Module.
func (n Native) DeleteContext(id uint32) {
	defer n.guard(id)
	n.VM.DeleteContext(id)
}
