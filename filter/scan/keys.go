package scan

// key is a member name with a meaning in its container, the frequent ones first.
type key uint8

const (
	keyOther key = iota
	keyRole
	keyContent
	keyModel
	keyMessages
	keyText
	keyStream
	keyMaxTokens
	keyMaxCompletion
	keyPrompt
	keySalt
	// The end of these values means something, see endMember.
	keyTools
	keyType
	keyName // no key, but the value is the name of the next one
)

// Names as words, the first byte lowest: all up to the closing quote of a name of at most seven bytes; of a longer one the first
// eight bytes, the last seven with the quote, and the length. TestWords spells them.
var (
	words = [16]uint64{
		keyRole:          0x22656c6f72,       // role"
		keyContent:       0x22746e65746e6f63, // content"
		keyModel:         0x226c65646f6d,     // model"
		keyMessages:      0x736567617373656d, // messages
		keyText:          0x2274786574,       // text"
		keyStream:        0x226d6165727473,   // stream"
		keyMaxTokens:     0x656b6f745f78616d, // max_toke
		keyMaxCompletion: 0x706d6f635f78616d, // max_comp
		keyPrompt:        0x2274706d6f7270,   // prompt"
		keySalt:          0x61735f6568636163, // cache_sa
		keyTools:         0x22736c6f6f74,     // tools"
		keyType:          0x2265707974,       // type"
	}
	tails = [16]uint64{
		keyMessages:      0x2273656761737365, // essages"
		keyMaxTokens:     0x22736e656b6f745f, // _tokens"
		keyMaxCompletion: 0x22736e656b6f745f, // _tokens"
		keySalt:          0x22746c61735f6568, // he_salt"
	}
	lengths = [16]uint8{keyMessages: 8, keyMaxTokens: 10, keyMaxCompletion: 21, keySalt: 10}
)

// midMaxCompletion is the middle of max_completion_tokens, letion_t.
const midMaxCompletion = 0x745f6e6f6974656c

// homes says by dialect where each key has its meaning.
var homes = [2][16]container{
	Chat: {
		keyModel: inBody, keyMessages: inBody, keyStream: inBody, keyMaxTokens: inBody, keyMaxCompletion: inBody, keySalt: inBody,
		keyTools: inBody, keyRole: inMessage, keyContent: inMessage, keyType: inPart, keyText: inPart,
	},
	Completions: {
		keyModel: inBody, keyPrompt: inBody, keyStream: inBody, keyMaxTokens: inBody, keyMaxCompletion: inBody, keySalt: inBody,
	},
}
