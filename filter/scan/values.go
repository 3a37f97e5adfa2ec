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

// openBody holds the keys of a body that are open at first, those of both dialects.
const openBody = 1<<keyModel | 1<<keySalt | 1<<keyMessages | 1<<keyPrompt | 1<<keyStream | 1<<keyMaxTokens | 1<<keyMaxCompletion | 1<<keyTools

// startValue begins the value whose first byte, at offset at, is c. It decides what becomes of it: the sink if it is a string,
// the container to enter if it is an object or array.
func (s *Scanner) startValue(m *machine, c byte, at int) {
	k := kindOf[c]
	m.kind = k
	to, into := sinkNone, nowhere
	switch bit := uint16(1) << (m.cur & 15); {
	case m.ctx == inMessages && k == kindObject: // as all of them are
		s.elems++
		m.val[keyRole].kind, m.val[keyContent].kind = kindNone, kindNone
		m.open = m.open&^(1<<keyRole|1<<keyContent) | m.openMessage
		into = inMessage
	case m.ctx >= inMessages:
		to, into = s.routeElem(m)
	case m.open&bit != 0:
		m.open &^= bit
		if m.cur == keyRole {
			m.open |= 1 << keyContent
		}
		v := &m.val[m.cur&15]
		v.start, v.kind = at, k
		to = sinks[m.cur&15]
		if k == kindArray {
			into = containers[m.cur&15]
		}
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

// routeElem routes an element other than a message: it enters a part and forgets the members of the one before.
func (s *Scanner) routeElem(m *machine) (sink, container) {
	switch {
	case m.ctx == inPrompt:
		return s.routePrompt(m), nowhere
	case m.ctx == inMessages:
		s.elems++
	case m.kind == kindObject:
		m.text = false
		m.val[keyType].kind, m.val[keyText].kind = kindNone, kindNone
		m.open &^= 1<<keyType | 1<<keyText
		if !m.careful {
			m.open |= 1 << keyType
		}
		return sinkNone, inPart
	}
	s.unsupported = true
	return sinkNone, nowhere
}

// routePrompt routes an element of a prompt list. All are strings or all are token ids, as the first one is.
func (s *Scanner) routePrompt(m *machine) sink {
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
		return sinkNone // bytes between token ids would leave the hasher with parts of one
	}
	return sinkPrompt
}

// route routes the value of a key with a meaning that is not open: one that stands twice, was put off and is taken now, or has
// to wait.
func (s *Scanner) route(m *machine, at int) (to sink, into container) {
	v := &m.val[m.cur&15]
	repeated, take := v.kind != kindNone, m.ctx == m.home
	*v = value{start: at, kind: m.kind}
	switch m.cur {
	case keyModel:
		s.model.n = 0
		return sinkModel, nowhere
	case keySalt:
		s.salt.n = 0
		return sinkSalt, nowhere
	case keyTools, keyPrompt:
		s.again = s.again || repeated
	case keyMessages:
		s.again = s.again || (repeated && m.kind == kindArray)
		take = take || (!repeated && s.startMessages(m))
	case keyType:
		s.again = s.again || (repeated && !m.careful)
		m.text = false
		m.open &^= 1 << keyText
		return sinkSmall, nowhere
	case keyRole, keyContent, keyText:
		s.again = s.again || (repeated && !m.careful)
		take = take || (!repeated && !m.careful && m.ready())
		if m.cur == keyContent {
			m.open &^= 1 << keyRole // else that would open content, which stands here
		}
	}
	if !take {
		return sinkNone, nowhere
	}
	if m.kind == kindArray {
		into = containers[m.cur&15]
	}
	return sinks[m.cur&15], into
}

// startMessages decides whether the messages are hashed as they pass. They are not if they are bound to be read again because
// tools will follow. That is guessed from the body before this one, since a client writes all its bodies in one order; a wrong
// guess costs one more reading.
func (s *Scanner) startMessages(m *machine) bool {
	s.putOff = m.kind == kindArray && s.scratch.expectLate && m.val[keyTools].kind == kindNone
	return !s.putOff
}

// ready reports whether what has to stand before the value of cur did: the role before content, the type before text.
func (m *machine) ready() bool {
	switch m.cur {
	case keyContent:
		return m.val[keyRole].kind != kindNone
	case keyText:
		return m.text
	}
	return true
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
		if m.cur >= keyTools {
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

// endMember takes the end of the value of a key from keyTools on.
func (s *Scanner) endMember(m *machine) {
	switch m.cur {
	case keyTools:
		s.endTools(m)
	case keyType:
		m.text = m.kind == kindString && string(m.smallBytes()) == "text"
		if m.text && !m.careful && m.val[keyText].kind == kindNone {
			m.open |= 1 << keyText
		}
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
		m.ctx, m.cur, m.tokens = inBody, keyPrompt, false // the next number is none
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
