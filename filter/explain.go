package filter

import (
	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/cidr"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// Bounds of explained requests.
const (
	maxNotes  = 64      // requests whose explanation waits for their response headers
	noteBytes = 8 << 10 // of one explanation
)

// Values of stream.note beside an index into explainer.notes.
const (
	noNote   = -1
	busyNote = -2 // there was no place for one
)

// asked says what a client that may ask wants to know about its request.
type asked uint8

const (
	askedNothing asked = iota
	askedHeaders       // response headers
	askedDryRun        // the decision instead of a response
	askedForeign       // a dry run, from outside of the trusted networks
	askedByOther       // a dry run by another method than POST
)

// explainer explains picks. A slot can be given to another endpoint before the response comes, so what is to be said about a
// decision is written down with it.
type explainer struct {
	networks []cidr.Prefix // of clients that may ask
	last     sched.Explanation
	notes    [][]byte // serialized headers, see note.go
	free     []int32
}

// trust makes the networks of a plan known.
func (x *explainer) trust(p *plan.Plan) {
	x.networks = x.networks[:0]
	for _, text := range p.Explain.Networks {
		if prefix, err := cidr.Parse(text); err == nil { // which plan.Parse has made sure of
			x.networks = append(x.networks, prefix)
		}
	}
}

// trusted reports whether the client of the current request may ask for explanations.
func (v *VM) trusted() bool {
	addr, ok := cidr.ParseHostPort(v.host.Property(names.PropertySourceAddress))
	if !ok {
		return false
	}
	for _, n := range v.explain.networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// ask notes what a request wants explained. header is that it has names.HeaderExplain, dry that its path is that of dry runs,
// and post that its method is theirs.
func (v *VM) ask(s *stream, header, dry, post bool) {
	switch {
	case !header && !dry:
	case !v.trusted():
		v.stats.n[cExplainRefused]++
		if dry {
			s.asked = askedForeign
		}
	case dry && !post:
		s.asked = askedByOther
	case dry:
		s.asked = askedDryRun
	default:
		s.asked = askedHeaders
	}
}

// isDryRun reports whether path, query included, is that of dry runs, and if so returns the path that it asks about.
func isDryRun(path []byte) (about []byte, dry bool) {
	const n = len(names.PathExplain)
	if !hasPrefix(path, names.PathExplain) || len(path) > n && path[n] != '?' {
		return nil, false
	}
	if len(path) == n {
		return nil, true
	}
	query := path[n+1:]
	for len(query) > 0 {
		end := 0
		for end < len(query) && query[end] != '&' {
			end++
		}
		if key := "path="; hasPrefix(query[:end], key) {
			return query[len(key):end], true
		}
		query = query[min(end+1, len(query)):]
	}
	return nil, true
}

// unescape replaces %XX in place.
func unescape(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) && isHex(b[i+1]) && isHex(b[i+2]) {
			out = append(out, byte(digit(b[i+1]|0x20)<<4|digit(b[i+2]|0x20)))
			i += 2
			continue
		}
		out = append(out, b[i])
	}
	return out
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// acquireNote gives s a place for its explanation.
func (v *VM) acquireNote(s *stream) bool {
	x := &v.explain
	n := len(x.free)
	if n == 0 {
		if len(x.notes) >= maxNotes {
			s.note = busyNote
			return false
		}
		x.notes = append(x.notes, make([]byte, 0, noteBytes))
		x.free = append(x.free, int32(len(x.notes)-1))
		n = 1
	}
	s.note = x.free[n-1]
	x.free = x.free[:n-1]
	x.notes[s.note] = x.notes[s.note][:0]
	return true
}

func (v *VM) releaseNote(s *stream) {
	if s.note >= 0 {
		v.explain.free = append(v.explain.free, s.note)
	}
	s.note = noNote
}

// explained runs decide with the scheduler explaining what it does.
func (v *VM) explained(start uint64, p *sched.Prompt, d *sched.Decision) sched.Reason {
	v.sched.Explain(&v.explain.last)
	outcome := v.sched.Decide(start, p, d)
	v.sched.Explain(nil)
	return outcome
}

// dryRun answers s with what would be decided about it. Nothing is remembered of it.
func (v *VM) dryRun(s *stream, start uint64) Action {
	v.refresh(start)
	v.look(start)
	var p sched.Prompt
	v.prompt(s, &p)
	p.Dry = true
	outcome := sched.NoEndpoint
	a := answer{reason: s.reason, status: 200, decided: !v.outdated(start)}
	if a.decided {
		outcome = v.explained(start, &p, &s.d)
	}
	switch outcome {
	case sched.NoEndpoint, sched.FilteredOut, sched.Denied, sched.NoProfile:
		why, text := v.refusal(s, outcome)
		a.reason, a.status = why, text.status
		a.fallback = v.failsOpen(outcome)
	case sched.AllCooling:
		a.reason = reasonAllCooling
	}
	return v.answerDryRun(s, start, &a)
}

// rejectDryRun refuses a dry run from outside of the trusted networks, or by another method than POST.
func (v *VM) rejectDryRun(s *stream) Action {
	v.releaseCapture(s)
	s.phase = phaseRefused
	text := &foreign
	if s.asked == askedByOther {
		text = &notPost
	}
	v.respond(text)
	return Pause
}

// answerDryRun sends the answer of a dry run.
func (v *VM) answerDryRun(s *stream, now uint64, a *answer) Action {
	w := writer{v.line[:0]}
	v.writeAnswer(&w, s, now, a)
	n := len(w.b)
	v.line = pairs.Append(w.b, headersExplain...)
	v.releaseScanner(s)
	v.releaseCapture(s)
	s.d = sched.Decision{Cur: -1}
	s.phase = phaseRefused
	v.host.Respond(200, "zerohop_explain", text(v.line[:n]), v.line[n:])
	return Pause
}
