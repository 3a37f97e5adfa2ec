package filter

import (
	"encoding/binary"
	"strconv"

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
	v.add(s, noteProfile, v.appendProfile(v.line[:0], x, why, decided))
	if !decided {
		return
	}
	b := appendInt(v.line[:0], "candidates=", int64(x.Candidates))
	v.add(s, noteCandidates, appendInt(b, " left=", int64(x.Left)))
	if len(x.Filters) > 0 {
		v.add(s, noteFiltered, v.appendFiltered(v.line[:0], x))
	}
	b = appendInt(v.line[:0], "matched=", int64(s.d.Matched))
	b = appendInt(b, " total=", int64(s.d.Total))
	b = appendInt(b, " universal=", int64(s.d.Universal))
	b = appendInt(b, " block=", int64(s.d.BlockTokens))
	b = appendInt(b, " tokens=", int64(s.d.Tokens))
	if x.Session != sched.SessionUnread {
		b = put(put(b, " session="), x.Session.String())
	}
	v.add(s, noteMatch, b)
	if len(x.Held) > 0 {
		v.add(s, noteHeld, v.appendHeld(v.line[:0], x))
	}
	if x.Reason == sched.Denied {
		v.add(s, noteDenied, appendDenied(v.line[:0], &x.Denial))
	}
	v.add(s, noteInputs, v.appendInputs(v.line[:0], now, x))
	for i := range x.Best {
		v.add(s, noteScore+i, v.appendScores(v.line[:0], x, &x.Best[i]))
	}
}

// add appends a header to the note of s if it fits. value is in the scratch for lines.
//
//go:noinline
func (v *VM) add(s *stream, header int, value []byte) {
	v.line = value
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
	b := v.line[:0]
	if s.d.Cur >= 0 && v.sched.Gen(s.d.Cur) == s.d.CurGen {
		b = put(b, text(v.sched.Address(s.d.Cur)))
	} else {
		b = put(b, "-")
	}
	b = appendInt(b, " ties=", int64(s.ties))
	v.line = appendInt(b, " attempt=", int64(s.d.Attempt))
	v.host.ReplaceResponseHeader(names.HeaderPick, v.line)
	v.releaseNote(s)
}

var textBusy, textHeaders = []byte(names.ExplainBusy), []byte(names.ExplainHeaders)

func (v *VM) appendProfile(b []byte, x *sched.Explanation, why reason, decided bool) []byte {
	profile := ""
	if decided {
		profile = x.Profile
	}
	b = appendText(b, profile)
	b = appendText(put(b, " handler="), v.sched.HandlerName())
	b = put(put(b, " reason="), reasonNames[why])
	b = put(put(b, " parity="), v.parity())
	return appendText(put(b, " revision="), v.plan.Revision)
}

func (v *VM) appendFiltered(b []byte, x *sched.Explanation) []byte {
	for i := range x.Filters {
		f := &x.Filters[i]
		if i > 0 {
			b = put(b, " ")
		}
		b = appendInt(appendText(b, f.Plugin), ":", int64(f.Before))
		b = appendInt(b, ">", int64(f.After))
	}
	for i, r := range x.Removed {
		if i == 0 {
			b = put(b, "; ")
		} else {
			b = put(b, ",")
		}
		b = put(put(b, text(v.sched.Address(r.Slot))), "=")
		b = appendText(b, x.Filters[r.By].Plugin)
	}
	return b
}

func (v *VM) appendHeld(b []byte, x *sched.Explanation) []byte {
	for i := range x.Held {
		h := &x.Held[i]
		if i > 0 {
			b = put(b, ",")
		}
		b = put(put(put(b, text(v.sched.Address(h.Slot))), "="), why(h))
		if h.Cooling {
			b = appendInt(b, " left_ms=", h.LeftMs)
		}
	}
	return b
}

// why returns the reason for which an endpoint should get no request. One that cools and drains is said to cool, and drains
// after that.
func why(h *sched.Held) string {
	if h.Cooling {
		return "cooling"
	}
	return "draining"
}

func appendDenied(b []byte, d *sched.Denial) []byte {
	b = appendNumber(put(appendText(b, d.Plugin), " value="), d.Value)
	return appendNumber(put(b, " threshold="), d.Threshold)
}

func (v *VM) appendInputs(b []byte, now uint64, x *sched.Explanation) []byte {
	b = put(b, "snapshot_ms=")
	if v.intake.version == 0 {
		b = put(b, "-")
	} else {
		b = appendInt(b, "", int64(v.intake.ageMs(now)))
	}
	for i := range x.Best {
		slot := x.Best[i].Slot
		b = put(put(b, "; "), text(v.sched.Address(slot)))
		in := v.inputs(now, slot)
		for k, name := range inputNames {
			b = appendNumber(put(put(put(b, " "), name), "="), in.numbers[k])
		}
		b = appendInt(b, " inflight=", int64(in.inFlight))
		b = put(appendInt(b, " tokens=", in.tokens), " scrape_ms=")
		if in.scraped {
			b = appendInt(b, "", int64(in.ageMs))
		} else {
			b = put(b, "-")
		}
		if in.fresh {
			b = put(b, " fresh=1")
		} else {
			b = put(b, " fresh=0")
		}
	}
	return b
}

func (v *VM) appendScores(b []byte, x *sched.Explanation, e *sched.Explained) []byte {
	b = put(put(b, text(v.sched.Address(e.Slot))), " ")
	b = appendText(b, text(v.sched.Name(e.Slot)))
	b = appendNumber(put(b, " total="), e.Total)
	for i := range e.Scores {
		b = put(appendText(put(b, " "), x.Scorers[i].Plugin), "=")
		b = put(appendNumber(b, e.Scores[i]), "*")
		b = appendNumber(b, x.Scorers[i].Weight)
	}
	return b
}

// appendNumber appends f with as many digits as people read.
//
//go:noinline
func appendNumber(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', 6, 64) }
