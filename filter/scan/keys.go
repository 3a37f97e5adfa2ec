package scan

// key is a member name with a meaning in its container.
type key uint8

const (
	keyOther key = iota
	keyModel
	keyStream
	keyMaxTokens
	keyMaxCompletion
	keySalt
	keyMessages
	keyTools
	keyPrompt
	keyRole
	keyContent
	keyType
	keyText
	keyCount
)

// lookup returns the key that name is in container c.
func (s *Scanner) lookup(c container, name []byte) key {
	switch c {
	case inBody:
		return s.lookupBody(name)
	case inMessage:
		switch string(name) {
		case "role":
			return keyRole
		case "content":
			return keyContent
		}
	case inPart:
		switch string(name) {
		case "type":
			return keyType
		case "text":
			return keyText
		}
	}
	return keyOther
}

// lookupBody returns the key that name is in the outermost object, keyOther for keys of the other dialect.
func (s *Scanner) lookupBody(name []byte) key {
	chat := s.api == Chat
	switch string(name) {
	case "model":
		return keyModel
	case "stream":
		return keyStream
	case "max_tokens":
		return keyMaxTokens
	case "max_completion_tokens":
		return keyMaxCompletion
	case "cache_salt":
		return keySalt
	case "messages":
		if chat {
			return keyMessages
		}
	case "tools":
		if chat {
			return keyTools
		}
	case "prompt":
		if !chat {
			return keyPrompt
		}
	}
	return keyOther
}
