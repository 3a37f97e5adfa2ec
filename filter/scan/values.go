package scan

// route notes that a value of type m.kind starts at offset at, and decides what becomes of it: the sink if it is a
// string, the container to enter if it is an object or array (m.ctx means skip it).
func (s *Scanner) route(m *machine, at int) (sink, container) {
	repeated := false
	if !isArray[m.ctx] && m.cur != keyOther {
		repeated = m.val[m.cur].kind != kindNone
		m.val[m.cur] = value{start: at, kind: m.kind}
	}
	direct := m.single && m.ctx == m.home
	switch m.ctx {
	case inBody:
		return s.routeBody(m, repeated, direct)
	case inMessages:
		s.elems++
		return s.routeElem(m, inMessage, keyRole, keyContent)
	case inContent:
		m.text = false
		return s.routeElem(m, inPart, keyType, keyText)
	case inMessage:
		return s.routeMessage(m, repeated, direct)
	case inPart:
		return s.routePart(m, repeated, direct)
	}
	return s.routePrompt(m)
}

// routeBody routes a member of the outermost object.
func (s *Scanner) routeBody(m *machine, repeated, direct bool) (sink, container) {
	str := m.kind == kindString
	switch m.cur {
	case keyModel:
		s.model.clear()
		s.model.present = str
		return sinkModel, inBody
	case keySalt:
		s.salt.clear()
		return sinkSalt, inBody
	case keyStream:
		s.stream = false
	case keyMaxTokens:
		s.maxTokens = count{}
	case keyMaxCompletion:
		s.maxCompletion = count{}
	case keyTools:
		s.again = s.again || repeated
	case keyMessages:
		if m.kind == kindArray && s.startMessages(m, repeated, direct) {
			return sinkNone, inMessages
		}
	case keyPrompt:
		s.again = s.again || repeated
		if (repeated && !direct) || (m.kind != kindArray && !str) {
			return sinkNone, inBody
		}
		m.tokens = false
		return sinkPrompt, inPrompt
	}
	return sinkNone, inBody
}

// startMessages decides whether the messages are hashed as they pass. They are not if they are bound to be read again: if
// they stand twice, or if tools will follow. The latter is guessed from the body before this one, since a client writes
// all its bodies in one order; a wrong guess costs one more reading.
func (s *Scanner) startMessages(m *machine, repeated, direct bool) bool {
	if direct {
		return true
	}
	if repeated {
		s.again = true
		return false
	}
	s.putOff = s.scratch.expectLate && m.val[keyTools].kind == kindNone
	return !s.putOff
}

// routeElem routes an element of a list of objects: it enters the object and forgets the members of the one before.
func (s *Scanner) routeElem(m *machine, into container, a, b key) (sink, container) {
	if m.kind != kindObject {
		s.unsupported = true
		return sinkNone, m.ctx
	}
	m.val[a], m.val[b] = value{}, value{}
	return sinkNone, into
}

// routeMessage routes a member of a message. Role comes before content; content that comes first waits.
func (s *Scanner) routeMessage(m *machine, repeated, direct bool) (sink, container) {
	s.again = s.again || (repeated && !m.careful)
	switch {
	case m.cur == keyOther:
	case direct:
		return sinkPrompt, s.contentInto(m)
	case m.careful || repeated:
	case m.cur == keyRole:
		return sinkPrompt, inMessage
	case m.val[keyRole].kind != kindNone:
		return sinkPrompt, s.contentInto(m)
	}
	return sinkNone, inMessage
}

// contentInto returns the container to enter for a message member that is an object or array.
func (s *Scanner) contentInto(m *machine) container {
	if m.cur == keyContent && m.kind == kindArray {
		return inContent
	}
	return inMessage
}

// routePart routes a member of a content part. Text waits until the type is known.
func (s *Scanner) routePart(m *machine, repeated, direct bool) (sink, container) {
	s.again = s.again || (repeated && !m.careful)
	switch {
	case m.cur == keyType:
		m.text = false
		return sinkSmall, inPart
	case m.cur == keyText && (direct || (m.text && !m.careful && !repeated)):
		return sinkPrompt, inPart
	}
	return sinkNone, inPart
}

// routePrompt routes an element of a prompt list. All are strings or all are token ids, as the first one is.
func (s *Scanner) routePrompt(m *machine) (sink, container) {
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
	return sinkPrompt, inPrompt
}

// endElem takes the end of an element.
func (s *Scanner) endElem(m *machine) {
	if m.ctx != inPrompt {
		return
	}
	if m.tokens {
		s.token(m)
		return
	}
	s.hash.EndPrompt()
}

// endMember takes the end of the value of a key with a meaning.
func (s *Scanner) endMember(m *machine) {
	switch m.cur {
	case keyStream:
		s.stream = m.kind == kindTrue
	case keyMaxTokens:
		s.maxTokens = m.count()
	case keyMaxCompletion:
		s.maxCompletion = m.count()
	case keyTools:
		s.endTools(m)
	case keyType:
		m.text = m.kind == kindString && string(m.smallBytes()) == "text"
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
		s.endMessage(m)
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
