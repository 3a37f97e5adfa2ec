package scan

import (
	"encoding/binary"
	"testing"
)

// TestWords spells the numbers that stand for names and literals.
func TestWords(t *testing.T) {
	wordOf := func(text string) uint64 {
		var b [8]byte
		copy(b[:], text)
		return binary.LittleEndian.Uint64(b[:])
	}
	for k, name := range map[key]string{
		keyRole: "role", keyContent: "content", keyModel: "model", keyMessages: "messages", keyText: "text", keyStream: "stream",
		keyMaxTokens: "max_tokens", keyMaxCompletion: "max_completion_tokens", keyPrompt: "prompt", keySalt: "cache_salt",
		keyTools: "tools", keyType: "type",
	} {
		quoted, tail, length := name+`"`, uint64(0), 0
		if len(name) > 7 {
			tail, length = wordOf(quoted[len(quoted)-8:]), len(name)
			quoted = quoted[:8]
		}
		if words[k] != wordOf(quoted) || tails[k] != tail || int(lengths[k]) != length {
			t.Errorf("%s: %#x, %#x and %d", name, words[k], tails[k], lengths[k])
		}
	}
	if want := wordOf("letion_t"); midMaxCompletion != want {
		t.Errorf("letion_t: %#x, want %#x", uint64(midMaxCompletion), want)
	}
	for k, text := range map[kind]string{kindTrue: "eurt", kindFalse: "eslaf", kindNull: "llun"} {
		if literals[k] != wordOf(text) {
			t.Errorf("%s: %#x", text, literals[k])
		}
	}
}

// TestKeys checks that names which only begin, end or are spelled like a key with a meaning are none.
func TestKeys(t *testing.T) {
	names := map[string]key{
		"model": keyModel, "stream": keyStream, "max_tokens": keyMaxTokens, "max_completion_tokens": keyMaxCompletion,
		"cache_salt": keySalt, "messages": keyMessages, "tools": keyTools, "prompt": keyOther,
		"": keyOther, "mode": keyOther, "models": keyOther, "xodel": keyOther, "messages_": keyOther, "messagesmessages": keyOther,
		"max_token": keyOther, "max_tokenz": keyOther, "max_tokens_": keyOther, "mix_tokens": keyOther,
		"max_completion_tokenz": keyOther, "max_completiom_tokens": keyOther, "max_compxxxxxx_tokens": keyOther,
		"max_completions_tokens": keyOther, "max_completion_token": keyOther, "cache_sal": keyOther, "cache_xalt": keyOther,
		"role": keyOther, "content": keyOther, "model\x00": keyOther, "a name that is much longer than any key": keyOther,
		`content\"x`: keyOther, `stream\"\u0000`: keyOther, `stream\"x`: keyOther, `model\"`: keyOther,
		`mode\u006c`: keyModel, `m\u0061x_tokens`: keyMaxTokens, `message\u0073`: keyMessages, `max_completion_token\u0073`: keyMaxCompletion,
	}
	for name, want := range names {
		text := `{"` + name + `" : 1, "padding": 1}`
		for split := 1; split < len(text); split++ {
			var s Scanner
			s.Reset(Chat, testBlock, noCap)
			src := &body{b: []byte(text)}
			src.write(&s, split)
			src.write(&s, len(text)-split)
			for k := keyModel; k < keyName; k++ {
				if got := s.level[0].val[k].kind != kindNone; got != (k == want) {
					t.Errorf("%s split at %d: key %d found: %v, want key %d", text, split, k, got, want)
				}
			}
		}
	}
}
