package scan

import (
	"encoding/binary"
	"testing"
)

// TestWords spells the constants that stand for parts of names.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		text string
		word uint64
	}{
		{`role"`, wordRole},
		{`content"`, wordContent},
		{`type"`, wordType},
		{`text"`, wordText},
		{`model"`, wordModel},
		{`stream"`, wordStream},
		{`tools"`, wordTools},
		{`prompt"`, wordPrompt},
		{`messages`, wordMessage},
		{`max_toke`, wordMaxToke},
		{`max_comp`, wordMaxComp},
		{`letion_t`, wordLetionT},
		{`_tokens"`, wordTokens},
		{`cache_sa`, wordCacheSa},
		{`he_salt"`, wordHeSalt},
		{`eurt`, literals[kindTrue]},
		{`eslaf`, literals[kindFalse]},
		{`llun`, literals[kindNull]},
	} {
		var b [8]byte
		copy(b[:], c.text)
		if want := binary.LittleEndian.Uint64(b[:]); c.word != want {
			t.Errorf("%s is %#x, want %#x", c.text, c.word, want)
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
