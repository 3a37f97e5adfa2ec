package scan

import (
	"unsafe"

	"github.com/zerohop/zerohop/shared/word"
)

// key is a member name with a meaning in its container.
type key uint8

const (
	keyOther key = iota
	keyModel
	keySalt
	keyMessages
	keyPrompt
	keyRole
	keyContent
	keyText
	keyStream
	keyMaxTokens
	keyMaxCompletion
	// The end of these values means something, see endMember.
	keyTools
	keyType
	keyName // no key, but the value is the name of the next one
)

// Names as words, the first byte lowest. Up to seven bytes a name has its closing quote with it. TestWords spells them.
const (
	wordRole    = 0x22656c6f72       // role"
	wordContent = 0x22746e65746e6f63 // content"
	wordType    = 0x2265707974       // type"
	wordText    = 0x2274786574       // text"
	wordModel   = 0x226c65646f6d     // model"
	wordStream  = 0x226d6165727473   // stream"
	wordTools   = 0x22736c6f6f74     // tools"
	wordPrompt  = 0x2274706d6f7270   // prompt"
	wordMessage = 0x736567617373656d // messages
	wordMaxToke = 0x656b6f745f78616d // max_toke
	wordMaxComp = 0x706d6f635f78616d // max_comp
	wordLetionT = 0x745f6e6f6974656c // letion_t
	wordTokens  = 0x22736e656b6f745f // _tokens"
	wordCacheSa = 0x61735f6568636163 // cache_sa
	wordHeSalt  = 0x22746c61735f6568 // he_salt"
)

// keyOf returns the key in container c whose name is the n bytes at p, followed by a quote. There are at least eight bytes
// at p; w is these eight, or if the quote is among them, those up to the quote.
func keyOf(api API, c container, w uint64, p unsafe.Pointer, n int) key {
	switch c {
	case inMessage:
		switch w {
		case wordRole:
			return keyRole
		case wordContent:
			return keyContent
		}
		return keyOther
	case inPart:
		switch w {
		case wordType:
			return keyType
		case wordText:
			return keyText
		}
		return keyOther
	}
	k, dialect := keyOther, api
	switch w {
	case wordModel:
		k = keyModel
	case wordStream:
		k = keyStream
	case wordTools:
		k, dialect = keyTools, Chat
	case wordPrompt:
		k, dialect = keyPrompt, Completions
	case wordMessage:
		if n == len("messages") {
			k, dialect = keyMessages, Chat
		}
	case wordMaxToke:
		if n == len("max_tokens") && word.Load(p, n-7) == wordTokens {
			k = keyMaxTokens
		}
	case wordMaxComp:
		if n == len("max_completion_tokens") && word.Load(p, 8) == wordLetionT && word.Load(p, n-7) == wordTokens {
			k = keyMaxCompletion
		}
	case wordCacheSa:
		if n == len("cache_salt") && word.Load(p, n-7) == wordHeSalt {
			k = keySalt
		}
	}
	if dialect != api {
		return keyOther
	}
	return k
}
