package filter

// maxServedNames bounds the names of response headers that are remembered.
const maxServedNames = 64

// decorate adds to the response of s, whose headers pass the downstream filter, how it was decided, if that was asked,
// and what plugins say about the endpoint that answered.
func (v *VM) decorate(s *stream) {
	if s.replied {
		return
	}
	if s.note != noNote {
		v.reply(s)
	}
	if !s.responded || s.d.Cur < 0 || !v.sched.Wants().Response {
		return
	}
	v.served.Reset()
	v.sched.Served(&s.d, &v.served)
	for i := range v.served.Len() {
		name, value := v.served.At(i)
		v.host.ReplaceResponseHeader(v.headerName(name), value)
	}
}

// headerName returns b as a string, without allocating for what was seen before. Names come from the configuration.
func (v *VM) headerName(b []byte) string {
	for _, name := range v.servedNames {
		if name == string(b) {
			return name
		}
	}
	if len(v.servedNames) == maxServedNames {
		v.servedNames = v.servedNames[:0] // those of old plans
	}
	v.servedNames = append(v.servedNames, string(b))
	return v.servedNames[len(v.servedNames)-1]
}
