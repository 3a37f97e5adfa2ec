package filter

import (
	"encoding/binary"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
)

// noteHeaders are the response headers that a note may have. A note is a sequence of: u8 index into noteHeaders, u16 length,
// value.
var noteHeaders = [...]string{
	names.HeaderProfile, names.HeaderCandidates, names.HeaderFiltered, names.HeaderInputs, names.HeaderMatch,
	names.HeaderHeld, names.HeaderDenied,
	names.HeaderScore + "-1", names.HeaderScore + "-2", names.HeaderScore + "-3", names.HeaderScore + "-4", names.HeaderScore + "-5",
}

const (
	noteProfile = iota
	noteCandidates
	noteFiltered
	noteInputs
	noteMatch
	noteHeld
	noteDenied
	noteScore // the first of several
)

const noteHead = 3 // bytes before a value

// takeNote writes down how s was decided, for its response. Nothing was decided if the body was refused.
func (v *VM) takeNote(s *stream, now uint64, why reason, decided bool) {
	if !v.acquireNote(s) {
		return
	}
	x := &v.explain.last
	s.ties = 0
	if decided {
		s.ties = uint16(min(x.Ties, 1<<16-1))
	}
	w := writer{v.line[:0]}
	v.noteProfile(&w, x, why, decided)
	v.add(s, noteProfile, &w)
	if decided {
		v.noteDecision(&w, s, now, x)
	}
	v.line = w.b
}

func (v *VM) noteDecision(w *writer, s *stream, now uint64, x *sched.Explanation) {
	w.int("candidates=", int64(x.Candidates))
	w.int(" left=", int64(x.Left))
	v.add(s, noteCandidates, w)
	if len(x.Filters) > 0 {
		v.noteFiltered(w, x)
		v.add(s, noteFiltered, w)
	}
	w.int("matched=", int64(s.d.Matched))
	w.int(" total=", int64(s.d.Total))
	w.int(" universal=", int64(s.d.Universal))
	w.int(" block=", int64(s.d.BlockTokens))
	w.int(" tokens=", int64(s.d.Tokens))
	if x.Session != sched.SessionUnread {
		w.put(" session=")
		w.put(x.Session.String())
	}
	v.add(s, noteMatch, w)
	if len(x.Held) > 0 {
		v.noteHeld(w, x)
		v.add(s, noteHeld, w)
	}
	if x.Reason == sched.Denied {
		w.word("", x.Denial.Plugin)
		w.number(" value=", x.Denial.Value)
		w.number(" threshold=", x.Denial.Threshold)
		v.add(s, noteDenied, w)
	}
	v.noteInputs(w, now, x)
	v.add(s, noteInputs, w)
	for i := range x.Best {
		v.noteScores(w, x, &x.Best[i])
		v.add(s, noteScore+i, w)
	}
}

// add appends a header to the note of s if it fits, and empties w, which has its value.
//
//go:noinline
func (v *VM) add(s *stream, header int, w *writer) {
	value := w.b
	w.b = value[:0]
	note := v.explain.notes[s.note]
	if header >= len(noteHeaders) || len(note)+noteHead+len(value) > noteBytes {
		return
	}
	note = append(note, byte(header))
	note = binary.LittleEndian.AppendUint16(note, uint16(len(value)))
	v.explain.notes[s.note] = append(note, value...)
}

// reply writes what was noted about s into its response headers.
func (v *VM) reply(s *stream) {
	if s.note == busyNote {
		v.host.ReplaceResponseHeader(names.HeaderExplain, textBusy)
		return
	}
	v.host.ReplaceResponseHeader(names.HeaderExplain, textHeaders)
	for b := v.explain.notes[s.note]; len(b) >= noteHead; {
		header, n := b[0], int(binary.LittleEndian.Uint16(b[1:]))
		v.host.ReplaceResponseHeader(noteHeaders[header], b[noteHead:noteHead+n])
		b = b[noteHead+n:]
	}
	w := writer{v.line[:0]}
	if s.d.Cur >= 0 && v.sched.Gen(s.d.Cur) == s.d.CurGen {
		v.writeAddress(&w, s.d.Cur)
	} else {
		w.put("-")
	}
	w.int(" ties=", int64(s.ties))
	w.int(" attempt=", int64(s.d.Attempt))
	v.line = w.b
	v.host.ReplaceResponseHeader(names.HeaderPick, v.line)
	v.releaseNote(s)
}

var textBusy, textHeaders = []byte(names.ExplainBusy), []byte(names.ExplainHeaders)

//go:noinline
func (v *VM) writeAddress(w *writer, slot int32) { w.put(text(v.sched.Address(slot))) }

func (v *VM) noteProfile(w *writer, x *sched.Explanation, why reason, decided bool) {
	profile := ""
	if decided {
		profile = x.Profile
	}
	w.word("", profile)
	w.word(" handler=", v.sched.HandlerName())
	w.put(" reason=")
	w.put(reasonNames[why])
	w.put(" parity=")
	w.put(v.parity())
	w.word(" revision=", v.plan.Revision)
}

func (v *VM) noteFiltered(w *writer, x *sched.Explanation) {
	for i := range x.Filters {
		f := &x.Filters[i]
		w.between(i, " ")
		w.word("", f.Plugin)
		w.int(":", int64(f.Before))
		w.int(">", int64(f.After))
	}
	between := "; "
	for _, r := range x.Removed {
		w.put(between)
		v.writeAddress(w, r.Slot)
		w.word("=", x.Filters[r.By].Plugin)
		between = ","
	}
}

func (v *VM) noteHeld(w *writer, x *sched.Explanation) {
	for i := range x.Held {
		h := &x.Held[i]
		w.between(i, ",")
		v.writeAddress(w, h.Slot)
		w.put("=")
		w.put(why(h))
		if h.Cooling {
			w.int(" left_ms=", h.LeftMs)
		}
	}
}

// why returns the reason for which an endpoint should get no request. One that cools and drains is said to cool, and drains
// after that.
func why(h *sched.Held) string {
	if h.Cooling {
		return "cooling"
	}
	return "draining"
}

func (v *VM) noteInputs(w *writer, now uint64, x *sched.Explanation) {
	if v.intake.version == 0 {
		w.put("snapshot_ms=-")
	} else {
		w.int("snapshot_ms=", int64(v.intake.ageMs(now)))
	}
	var in inputs
	for i := range x.Best {
		slot := x.Best[i].Slot
		w.put("; ")
		v.writeAddress(w, slot)
		v.inputs(&in, now, slot)
		for k, name := range inputNames {
			w.put(" ")
			w.put(name)
			w.number("=", in.numbers[k])
		}
		w.int(" inflight=", int64(in.inFlight))
		w.int(" tokens=", in.tokens)
		w.put(" scrape_ms=")
		w.scraped(&in, "-")
		fresh := " fresh=0"
		if in.fresh {
			fresh = " fresh=1"
		}
		w.put(fresh)
	}
}

func (v *VM) noteScores(w *writer, x *sched.Explanation, e *sched.Explained) {
	v.writeAddress(w, e.Slot)
	w.word(" ", text(v.sched.Name(e.Slot)))
	w.number(" total=", e.Total)
	for i := range e.Scores {
		w.word(" ", x.Scorers[i].Plugin)
		w.number("=", e.Scores[i])
		w.number("*", x.Scorers[i].Weight)
	}
}
