package scan

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/zerohop/zerohop/shared/blockhash"
)

// oracle says by way of encoding/json what a scan of body yields. ok is false if encoding/json refuses the body, about
// which the scanner promises nothing.
func oracle(api API, text []byte) (o outcome, ok bool) {
	if !json.Valid(text) {
		return o, false
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil || top == nil {
		return outcome{Result: NotJSON}, true
	}
	model, hasModel := asString(top["model"])
	o.Model = model
	o.Salt, _ = asString(top["cache_salt"])
	tooBig := len(o.Model) > MaxField || len(o.Salt) > MaxField
	o.Model, o.Salt = fitting(o.Model), fitting(o.Salt)
	o.Stream = string(top["stream"]) == "true"
	o.MaxTokens, _ = asCount(top["max_tokens"])
	if n, given := asCount(top["max_completion_tokens"]); given && api == Chat {
		o.MaxTokens = n
	}
	prompts, verbatim := promptOf(api, top)
	switch {
	case tooBig:
		o.Result = FieldTooBig
	case prompts == nil:
		o.Result = NoPrompt
	case !hasModel:
		o.Result = NoModel
	default:
		o.addPrompts(prompts)
	}
	return o, !verbatim
}

// fitting returns s, or nothing if the scanner does not keep it.
func fitting(s string) string {
	if len(s) > MaxField {
		return ""
	}
	return s
}

// addPrompts hashes the prompts the obvious way.
func (o *outcome) addPrompts(prompts [][]byte) {
	for _, p := range prompts {
		if len(p) == 0 {
			continue
		}
		o.Starts = append(o.Starts, int32(len(o.IDs)))
		for len(p)%blockhash.BytesPerToken != 0 {
			p = append(p, 0)
		}
		o.Tokens += len(p) / blockhash.BytesPerToken
		for len(p) > 0 {
			n := min(len(p), testBlock*blockhash.BytesPerToken)
			o.IDs = append(o.IDs, hex16(blockhash.ID(p[:n])))
			p = p[n:]
		}
	}
}

// asString returns the string that raw is.
func asString(raw json.RawMessage) (string, bool) {
	var s *string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// asCount returns the non-negative integer that raw is.
func asCount(raw json.RawMessage) (int, bool) {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if len(raw) == 0 {
		return 0, false
	}
	if err != nil || n > maxNum {
		return maxNum, true
	}
	return int(n), true
}

// promptOf returns the bytes of each prompt, nil if there is none, and whether tools are beyond what is sorted.
func promptOf(api API, top map[string]json.RawMessage) (prompts [][]byte, verbatim bool) {
	if api == Completions {
		return completionPrompts(top["prompt"]), false
	}
	var messages []json.RawMessage
	if json.Unmarshal(top["messages"], &messages) != nil || len(messages) == 0 {
		return nil, false
	}
	prompt, verbatim := toolsBytes(top["tools"])
	for _, raw := range messages {
		text, ok := messageBytes(raw)
		if !ok {
			return nil, false
		}
		prompt = append(prompt, text...)
	}
	return [][]byte{prompt}, verbatim
}

func completionPrompts(raw json.RawMessage) [][]byte {
	if s, ok := asString(raw); ok {
		if s == "" {
			return nil
		}
		return [][]byte{[]byte(s)}
	}
	var elems []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &elems) != nil || len(elems) == 0 {
		return nil
	}
	var texts [][]byte
	var tokens []byte
	for _, e := range elems {
		if s, ok := asString(e); ok {
			texts = append(texts, []byte(s))
		} else if n, ok := asCount(e); ok && n <= math.MaxUint32 {
			tokens = append(tokens, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		} else {
			return nil
		}
	}
	switch {
	case tokens == nil:
		return texts
	case texts == nil:
		return [][]byte{tokens}
	}
	return nil
}

// toolsBytes returns what encoding/json makes of tools.
func toolsBytes(raw json.RawMessage) (out []byte, verbatim bool) {
	if len(raw) == 0 {
		return nil, false
	}
	depth, deepest := 0, 0
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if err != nil {
			break
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	if deepest > maxToolsDepth {
		return nil, true
	}
	var v any
	d = json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, true
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, true
	}
	switch string(out) {
	case "null", "[]", "{}", `""`:
		return nil, false
	}
	return out, false
}

func messageBytes(raw json.RawMessage) (text []byte, ok bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, false
	}
	text, ok = optional(m["role"])
	if !ok {
		return nil, false
	}
	if content, ok := optional(m["content"]); ok {
		return append(text, content...), true
	}
	var parts []json.RawMessage
	if json.Unmarshal(m["content"], &parts) != nil {
		return nil, false
	}
	for _, p := range parts {
		var part map[string]json.RawMessage
		if json.Unmarshal(p, &part) != nil || part == nil {
			return nil, false
		}
		typ, ok1 := optional(part["type"])
		content, ok2 := optional(part["text"])
		if !ok1 || !ok2 {
			return nil, false
		}
		if string(typ) == "text" {
			text = append(text, content...)
		}
	}
	return text, true
}

// optional returns the string that raw is, nothing if raw is null or absent.
func optional(raw json.RawMessage) (b []byte, ok bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, true
	}
	s, ok := asString(raw)
	return []byte(s), ok
}
