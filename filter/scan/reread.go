package scan

// maxWindow is the most that is asked of the source at once; a host call copies that much.
const maxWindow = 64 << 10

// feed runs m over the body up to offset end.
func (s *Scanner) feed(m *machine, end int) {
	for m.off < end && s.result == OK {
		w := s.window(m.off, end)
		if len(w) == 0 {
			s.fail(Unreadable)
			return
		}
		s.run(m, w)
	}
}

// window returns bytes of the body from off on, at most up to end. They are valid until the next call.
func (s *Scanner) window(off, end int) []byte {
	if off < s.winOff || off >= s.winOff+len(s.win) {
		s.gen++
		s.win, s.winOff = nil, off
		if s.src != nil {
			limit := min(end-off, maxWindow)
			s.win = s.src.Body(off, limit)
			s.win = s.win[:min(len(s.win), limit)]
		}
	}
	w := s.win[off-s.winOff:]
	return w[:min(len(w), end-off)]
}

// readAgain reads value v, of key k in container c, one level below m.
func (s *Scanner) readAgain(m *machine, c container, k key, v value) {
	next := &s.level[m.level+1]
	*next = machine{level: m.level + 1, off: v.start, state: wantValue, ctx: c, cur: k, home: c, careful: m.careful}
	if !m.careful {
		next.openMessage = 1 << keyRole
	}
	s.feed(next, v.end)
	if next.state != done {
		s.fail(NotJSON) // the value was skipped before, and skipping checks less
	}
}

// reread hashes the prompt from the start, now that everything about its parts is known. prompt is the value of messages
// or prompt.
func (s *Scanner) reread(prompt value) {
	s.hash.Clear()
	s.elems, s.unsupported = 0, false
	body := &s.level[0]
	if v := body.val[keyTools]; s.api == Chat && v.kind != kindNone && v.kind != kindNull {
		s.hashTools(v)
	}
	if prompt.kind != kindArray && (prompt.kind != kindString || s.api == Chat) {
		return
	}
	k := keyMessages
	if s.api == Completions {
		k = keyPrompt
	}
	body.careful = s.again
	s.readAgain(body, inBody, k, prompt)
}

// hashTools hashes the tools in their canonical form.
func (s *Scanner) hashTools(v value) {
	s.toolsVerbatim = false
	if v.end-v.start > maxToolsBytes {
		s.toolsVerbatim = true
		for off := v.start; off < v.end; {
			w := s.window(off, v.end)
			if len(w) == 0 {
				s.fail(Unreadable)
				return
			}
			s.hash.Write(w)
			off += len(w)
		}
		return
	}
	raw, ok := s.gather(v)
	if !ok {
		s.fail(Unreadable)
		return
	}
	out, verdict := s.scratch.canon.canonical(raw)
	switch verdict {
	case canonBroken:
		s.fail(NotJSON)
	case canonLimit:
		s.toolsVerbatim = true
		s.hash.Write(raw)
	default:
		s.hash.Write(out)
	}
}

// gather returns the bytes of v in one piece: where they lie, or copied together if they are spread over windows.
func (s *Scanner) gather(v value) ([]byte, bool) {
	w := s.window(v.start, v.end)
	if len(w) == v.end-v.start {
		return w, true
	}
	raw := s.scratch.canon.raw[:0]
	for len(w) > 0 {
		raw = append(raw, w...)
		if len(raw) == v.end-v.start {
			break
		}
		w = s.window(v.start+len(raw), v.end)
	}
	s.scratch.canon.raw = raw
	return raw, len(raw) == v.end-v.start
}
