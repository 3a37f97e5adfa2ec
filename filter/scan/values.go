package scan

// sinks and containers say where the value of a key goes in the ordinary case: a string to the sink, an array into the
// container. What goes nowhere is skipped.
var (
	sinks = [16]sink{
		keyModel: sinkModel, keySalt: sinkSalt, keyPrompt: sinkPrompt,
		keyRole: sinkPrompt, keyContent: sinkPrompt, keyType: sinkSmall, keyText: sinkPrompt,
	}
	containers = [16]container{keyMessages: inMessages, keyPrompt: inPrompt, keyContent: inContent}
)

// startValue begins the value whose first byte, at offset at, is c.
func (s *Scanner) startValue(m *machine, c byte, at int) {
	k := kindOf[c]
	m.kind = k
	to, into := sinkNone, nowhere
	switch {
	case m.ctx == inMessages && k == kindObject: // as all of them are
		s.elems++
		m.val[keyRole].kind, m.val[keyContent].kind = kindNone, kindNone
		into = inMessage
	case m.ctx >= inMessages:
		to, into = s.routeElem(m)
	case m.cur != keyOther:
		to, into = s.route(m, at)
	}
	switch {
	case k == kindString && to != sinkNone:
		m.state, m.sink, m.smallLen = inString, to, 0
	case k == kindNumber:
		m.state, m.integer, m.num = inScalar, c != '-', uint64(c&0xf)
		if m.tokens && m.integer {
			m.state = inTokens
		}
	case k > kindNumber && k < kindObject:
		m.state, m.num = inScalar, uint64(c)
	case into == nowhere:
		m.state, m.quoted, m.depth = inSkipped, true, depthOf[m.ctx&7]
		if k != kindString {
			m.quoted, m.depth = false, m.depth+1
		}
	default:
		m.ctx, m.state = into, wantKeyOrEnd
		if k == kindArray {
			m.state = wantElemOrEnd
		}
	}
}

// route notes where the value of a key with a meaning is, and decides what becomes of it: the sink if it is a string, the
// container to enter if it is an array.
func (s *Scanner) route(m *machine, at int) (to sink, into container) {
	v := &m.val[m.cur&15]
	repeated := v.kind != kindNone
	v.start, v.kind = at, m.kind
	if repeated || m.careful || m.ctx == m.home {
		return s.routeAgain(m, repeated)
	}
	to = sinks[m.cur&15]
	if m.kind == kindArray {
		into = containers[m.cur&15]
	}
	switch m.cur {
	case keyModel:
		s.model.present = m.kind == kindString
	case keyContent:
		if m.val[keyRole].kind == kindNone { // content that comes first waits for the role
			return sinkNone, nowhere
		}
	case keyText:
		if !m.text { // so does text for the type
			return sinkNone, nowhere
		}
	case keyMessages:
		// They are not hashed as they pass if they are bound to be read again because tools will follow. That is guessed
		// from the body before this one, since a client writes all its bodies in one order; a wrong guess costs one more
		// reading.
		if m.kind == kindArray && s.scratch.expectLate && m.val[keyTools].kind == kindNone {
			s.putOff = true
			return sinkNone, nowhere
		}
	}
	return to, into
}

// routeAgain is route for a key that stands twice, for a value that was put off and is taken now, and for a careful machine.
func (s *Scanner) routeAgain(m *machine, repeated bool) (sink, container) {
	direct := m.ctx == m.home
	into := nowhere
	if m.kind == kindArray {
		into = containers[m.cur&15]
	}
	switch m.cur {
	case keyModel:
		s.model.clear()
		s.model.present = m.kind == kindString
		return sinkModel, nowhere
	case keySalt:
		s.salt.clear()
		return sinkSalt, nowhere
	case keyStream:
		s.stream = false
	case keyMaxTokens:
		s.maxTokens = count{}
	case keyMaxCompletion:
		s.maxCompletion = count{}
	case keyTools, keyPrompt:
		s.again = s.again || repeated
	case keyMessages:
		s.again = s.again || (repeated && m.kind == kindArray)
	case keyType:
		s.again = s.again || (repeated && !m.careful)
		m.text = false
		return sinkSmall, nowhere
	default:
		s.again = s.again || (repeated && !m.careful)
	}
	if direct {
		return sinkPrompt, into
	}
	return sinkNone, nowhere
}

// routeElem routes an element: it enters an object and forgets the members of the one before. The elements of a prompt are
// all strings or all token ids, as the first one is.
func (s *Scanner) routeElem(m *machine) (sink, container) {
	if m.ctx == inPrompt {
		s.elems++
		if s.elems == 1 {
			m.tokens = m.kind == kindNumber
		}
		want := kindString
		if m.tokens {
			want = kindNumber
		}
		if m.kind != want {
			s.unsupported = true
		}
		return sinkPrompt, nowhere
	}
	if m.ctx == inMessages {
		s.elems++
	}
	m.text = false
	if m.kind != kindObject {
		s.unsupported = true
		return sinkNone, nowhere
	}
	m.val[keyType].kind, m.val[keyText].kind = kindNone, kindNone
	return sinkNone, inPart
}

// endValue takes the end of a value; end is the offset behind it.
func (s *Scanner) endValue(m *machine, end int) {
	switch {
	case m.ctx == m.home:
		m.state = done
	case m.ctx >= inMessages:
		m.state = wantNext
		if m.ctx == inPrompt {
			s.endPrompt(m)
		}
	default:
		m.state = wantComma
		m.val[m.cur&15].end = end // that of keyOther is never looked at
		if m.cur >= keyStream {
			s.endMember(m)
		}
	}
}

// endPrompt takes the end of an element of a prompt list.
func (s *Scanner) endPrompt(m *machine) {
	if m.tokens {
		s.token(m)
		return
	}
	s.hash.EndPrompt()
}

// endMember takes the end of the value of a key from keyStream on.
func (s *Scanner) endMember(m *machine) {
	c := &s.maxTokens
	switch m.cur {
	case keyMaxTokens:
	case keyMaxCompletion:
		c = &s.maxCompletion
	case keyStream:
		s.stream = m.kind == kindTrue
		return
	default:
		s.endOther(m)
		return
	}
	c.n, c.present = 0, m.kind == kindNumber && m.integer
	if c.present {
		c.n = int(m.num)
	}
}

// endOther is endMember for the keys from keyTools on.
func (s *Scanner) endOther(m *machine) {
	switch m.cur {
	case keyTools:
		s.endTools(m)
	case keyType:
		m.text = m.kind == kindString && string(m.smallBytes()) == "text"
	case keyName:
		s.endKey(m)
	}
}

// endTools hashes the tools if they stand before the messages, and else notes that there is more to do.
func (s *Scanner) endTools(m *machine) {
	v := m.val[keyTools]
	if v.kind == kindNull || (v.kind == kindArray && v.end == v.start+len("[]")) {
		return
	}
	if m.val[keyMessages].kind != kindNone {
		s.lateTools = true
		return
	}
	s.hashTools(v)
}

// leave takes the end of the container; end is the offset behind it.
func (s *Scanner) leave(m *machine, end int) {
	switch m.ctx {
	case inBody:
		m.state = done
		return
	case inMessages:
		m.ctx, m.cur = inBody, keyMessages
	case inMessage:
		if m.val[keyRole].kind != kindString || m.val[keyContent].kind != kindString || m.careful ||
			m.val[keyContent].start < m.val[keyRole].start {
			s.endMessage(m)
		}
		m.ctx = inMessages
	case inContent:
		m.ctx, m.cur = inMessage, keyContent
	case inPart:
		s.endPart(m)
		m.ctx = inContent
	case inPrompt:
		m.ctx, m.cur = inBody, keyPrompt
	}
	s.endValue(m, end)
}

// endMessage takes what was put off in a message.
func (s *Scanner) endMessage(m *machine) {
	role, content := m.val[keyRole], m.val[keyContent]
	switch role.kind {
	case kindString:
		if m.careful {
			s.readAgain(m, inMessage, keyRole, role)
		}
	case kindNone, kindNull:
	default:
		s.unsupported = true
	}
	switch content.kind {
	case kindString, kindArray:
		if m.careful || content.start < role.start || role.kind == kindNone {
			s.readAgain(m, inMessage, keyContent, content)
		}
	case kindNone, kindNull:
	default:
		s.unsupported = true
	}
}

// endPart takes the text that was put off in a content part.
func (s *Scanner) endPart(m *machine) {
	typ, text := m.val[keyType], m.val[keyText]
	if !stringOrNull(typ.kind) || !stringOrNull(text.kind) {
		s.unsupported = true
		return
	}
	if m.text && text.kind == kindString && (m.careful || text.start < typ.start) {
		s.readAgain(m, inPart, keyText, text)
	}
}

// stringOrNull reports whether a value of this type, or its absence, does for a string.
func stringOrNull(k kind) bool { return k == kindString || k == kindNull || k == kindNone }
