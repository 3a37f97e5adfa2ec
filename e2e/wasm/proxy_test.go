package wasm

import (
	"encoding/binary"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/shared/names"
)

// Map and buffer types of the ABI that the filter uses.
const (
	mapRequestHeaders  = 0
	mapRequestTrailers = 1
	mapResponseHeaders = 2
	mapCallHeaders     = 6

	bufferRequestBody = 0
	bufferCallBody    = 4
	bufferPlugin      = 7
)

// proxyFuncs are the proxy-wasm functions that the filter may import.
var proxyFuncs = []hostFunc{
	{name: "proxy_log", params: "iii", inInit: true, inAllocator: true, call: func(v *VM, a []uint64) status {
		v.host.Log(filter.LogLevel(a[0]), v.text(a[1], a[2]))
		return statusOK
	}},
	{name: "proxy_set_tick_period_milliseconds", params: "i", call: func(v *VM, a []uint64) status {
		v.host.SetTick(int(a[0]))
		return statusOK
	}},
	{name: "proxy_set_effective_context", params: "i", call: func(v *VM, a []uint64) status {
		if !v.host.Use(uint32(a[0])) {
			return statusBadArgument
		}
		return statusOK
	}},
	{name: "proxy_get_property", params: "iiii", call: getProperty},
	{name: "proxy_set_property", params: "iiii", call: func(v *VM, a []uint64) status {
		v.host.SetProperty(v.text(a[0], a[1]), v.bytes(a[2], a[3]))
		return statusOK
	}},
	{name: "proxy_get_buffer_bytes", params: "iiiii", call: getBuffer},
	{name: "proxy_get_header_map_pairs", params: "iii", call: func(v *VM, a []uint64) status {
		if a[0] != mapRequestHeaders {
			return statusBadArgument
		}
		return v.giveFound(v.host.RequestHeaders(), a[1], a[2])
	}},
	{name: "proxy_get_header_map_value", params: "iiiii", call: getHeader},
	{name: "proxy_replace_header_map_value", params: "iiiii", call: func(v *VM, a []uint64) status {
		switch name, value := v.text(a[1], a[2]), v.bytes(a[3], a[4]); a[0] {
		case mapRequestHeaders:
			v.host.ReplaceRequestHeader(name, value)
		case mapResponseHeaders:
			v.host.ReplaceResponseHeader(name, value)
		default:
			return statusBadArgument
		}
		return statusOK
	}},
	{name: "proxy_remove_header_map_value", params: "iii", call: removeHeader},
	{name: "proxy_send_local_response", params: "iiiiiiii", call: func(v *VM, a []uint64) status {
		v.host.Respond(int(a[0]), v.text(a[1], a[2]), v.text(a[3], a[4]), v.bytes(a[5], a[6]))
		return statusOK
	}},
	{name: "proxy_http_call", params: "iiiiiiiiii", call: httpCall},
	{name: "proxy_get_shared_data", params: "iiiii", call: func(v *VM, a []uint64) status {
		value, cas := v.host.Shared(v.text(a[0], a[1]))
		if cas == 0 {
			return statusNotFound
		}
		v.give(value, a[2], a[3])
		v.put32(a[4], cas)
		return statusOK
	}},
	{name: "proxy_set_shared_data", params: "iiiii", call: func(v *VM, a []uint64) status {
		if !v.host.SetShared(v.text(a[0], a[1]), v.bytes(a[2], a[3]), uint32(a[4])) {
			return statusCASMismatch
		}
		return statusOK
	}},
	{name: "proxy_define_metric", params: "iiii", call: func(v *VM, a []uint64) status {
		v.put32(a[3], v.host.DefineMetric(filter.MetricKind(a[0]), v.text(a[1], a[2])))
		return statusOK
	}},
	{name: "proxy_increment_metric", params: "iI", call: func(v *VM, a []uint64) status {
		v.host.Add(uint32(a[0]), int64(a[1]))
		return statusOK
	}},
	{name: "proxy_record_metric", params: "iI", call: func(v *VM, a []uint64) status {
		v.host.Record(uint32(a[0]), a[1])
		return statusOK
	}},
	{name: "proxy_call_foreign_function", params: "iiiiii", call: foreign},
}

func getProperty(v *VM, a []uint64) status {
	path := v.text(a[0], a[1])
	if path == "plugin_root_id" {
		return v.give([]byte(v.host.RootID()), a[2], a[3])
	}
	return v.giveFound(v.host.Property(path), a[2], a[3])
}

func getBuffer(v *VM, a []uint64) status {
	off, limit := int(a[1]), int(a[2])
	switch {
	case a[0] == bufferRequestBody:
		return v.give(v.host.Body(off, limit), a[3], a[4])
	case a[0] == bufferCallBody && off == 0:
		return v.give(v.host.CallBody(limit), a[3], a[4])
	case a[0] == bufferPlugin && off == 0:
		return v.give(v.host.Configuration(limit), a[3], a[4])
	}
	return statusBadArgument
}

func getHeader(v *VM, a []uint64) status {
	name := v.text(a[1], a[2])
	switch a[0] {
	case mapRequestHeaders:
		return v.giveFound(v.host.RequestHeader(name), a[3], a[4])
	case mapResponseHeaders:
		return v.giveFound(v.host.ResponseHeader(name), a[3], a[4])
	case mapCallHeaders:
		if name == ":status" {
			return v.giveFound(v.host.CallStatus(), a[3], a[4])
		}
	}
	return statusBadArgument
}

func removeHeader(v *VM, a []uint64) status {
	name := v.text(a[1], a[2])
	switch a[0] {
	case mapRequestHeaders:
		v.host.RemoveRequestHeader(name)
	case mapRequestTrailers:
		v.host.RemoveRequestTrailer(name)
	default:
		return statusBadArgument
	}
	return statusOK
}

// httpCall takes a POST without trailers that carries all headers of a poll.
func httpCall(v *VM, a []uint64) status {
	var path, node []byte
	method, authority := "", false
	others := map[string]string{
		"accept":       names.ContentTypeSnapshot + ", " + names.ContentTypeDelta,
		"content-type": names.ContentTypeReport, names.HeaderPrefer: filter.Prefer, names.HeaderModule: filter.Module,
	}
	r := pairs.Read(v.bytes(a[2], a[3]))
	for {
		key, value, ok := r.Next()
		if !ok {
			break
		}
		switch string(key) {
		case ":method":
			method = string(value)
		case ":authority":
			authority = true
		case ":path":
			path = value
		case names.HeaderNode:
			node = value
		default:
			if others[string(key)] == string(value) {
				delete(others, string(key))
			}
		}
	}
	if method != "POST" || !authority || path == nil || node == nil || len(others) != 0 || a[7] != 0 {
		return statusBadArgument
	}
	token, ok := v.host.Post(v.text(a[0], a[1]), path, node, v.bytes(a[4], a[5]), int(int32(a[8])))
	if !ok {
		return statusInternal
	}
	v.put32(a[9], token)
	return statusOK
}

// foreign takes set_envoy_filter_state with SetEnvoyFilterStateArguments {1: path, 2: value, 3: span}.
func foreign(v *VM, a []uint64) status {
	if v.text(a[0], a[1]) != "set_envoy_filter_state" {
		return statusNotFound
	}
	var path, value []byte
	span := uint64(0)
	for b := v.bytes(a[2], a[3]); len(b) > 0; {
		tag, n := binary.Uvarint(b)
		x, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 {
			return statusBadArgument
		}
		b = b[n+m:]
		switch {
		case tag == 3<<3:
			span = x
			continue
		case tag != 1<<3|2 && tag != 2<<3|2 || x > uint64(len(b)):
			return statusBadArgument
		case tag == 1<<3|2:
			path = b[:x]
		default:
			value = b[:x]
		}
		b = b[x:]
	}
	const downstreamRequest = 1
	if string(path) != names.StateOriginalDst || span != downstreamRequest {
		return statusBadArgument
	}
	v.host.SetDestination(value)
	return v.give(nil, a[4], a[5])
}
