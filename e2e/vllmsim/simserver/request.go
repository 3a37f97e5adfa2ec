package simserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

const (
	pathChat        = "/v1/chat/completions"
	pathCompletions = "/v1/completions"
)

// Tokens of an answer if the client sets no limit. vLLM's limit for completions is 16 too; a chat ends by itself.
const (
	defaultChatTokens       = 128
	defaultCompletionTokens = 16
)

// request is an inference request as the simulator understands it.
type request struct {
	chat         bool
	model        string
	prompts      [][]byte // rendered to the text that is cut into tokens
	salt         string   // model and cache_salt
	maxTokens    int      // 0: not set
	stream       bool
	includeUsage bool
}

// wireRequest is the part of both dialects that matters here. Everything else is ignored, as sampling has no effect.
type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	Tools               json.RawMessage `json:"tools"`
	Prompt              json.RawMessage `json:"prompt"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	CacheSalt           string          `json:"cache_salt"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// parseRequest decodes a body. It copies what it keeps.
func parseRequest(body []byte, chat bool) (*request, error) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, fmt.Errorf("body is not a request: %w", err)
	}
	r := &request{
		chat: chat, model: w.Model, salt: w.Model + w.CacheSalt, stream: w.Stream,
		includeUsage: w.StreamOptions.IncludeUsage,
	}
	limit := w.MaxTokens
	if w.MaxCompletionTokens != nil && chat {
		limit = w.MaxCompletionTokens
	}
	if limit != nil {
		if *limit < 1 {
			return nil, fmt.Errorf("max_tokens must be at least 1, got %d", *limit)
		}
		r.maxTokens = *limit
	}
	if w.N != nil && *w.N != 1 {
		return nil, fmt.Errorf("n must be 1 here, got %d", *w.N)
	}
	var err error
	if chat {
		r.prompts = make([][]byte, 1)
		r.prompts[0], err = renderChat(&w)
	} else {
		r.prompts, err = renderPrompts(w.Prompt)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range r.prompts {
		if len(p) == 0 {
			return nil, errors.New("the prompt is empty")
		}
	}
	return r, nil
}

// renderChat concatenates tools, roles and contents without a separator, in the order in which the endpoint picker's
// estimate reads them. So tokens of four bytes, and with them cache blocks, agree with what a router expects.
func renderChat(w *wireRequest) ([]byte, error) {
	if len(w.Messages) == 0 {
		return nil, errors.New("messages must have at least one entry")
	}
	text, err := canonicalTools(w.Tools)
	if err != nil {
		return nil, err
	}
	for i, m := range w.Messages {
		text = append(text, m.Role...)
		if text, err = appendContent(text, m.Content); err != nil {
			return nil, fmt.Errorf("messages[%d].content: %w", i, err)
		}
	}
	return text, nil
}

// canonicalTools renders the list of tools with sorted keys and numbers verbatim; an empty list is nothing.
func canonicalTools(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var tools []any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&tools); err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	if len(tools) == 0 {
		return nil, nil
	}
	return json.Marshal(tools)
}

// appendContent appends a message's text: a string, or the text parts of a list. Images and sounds have no tokens here.
func appendContent(dst []byte, raw json.RawMessage) ([]byte, error) {
	switch {
	case len(raw) == 0 || raw[0] == 'n': // absent or null
		return dst, nil
	case raw[0] == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return append(dst, text...), err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return dst, err
	}
	for _, p := range parts {
		if p.Type == "text" {
			dst = append(dst, p.Text...)
		}
	}
	return dst, nil
}

// renderPrompts returns the prompts of a completions request: a string, a list of strings, a list of token ids, or a list
// of such lists.
func renderPrompts(raw json.RawMessage) ([][]byte, error) {
	var text string
	var texts []string
	var ids []uint32
	var lists [][]uint32
	switch {
	case len(raw) == 0:
		return nil, errors.New("prompt is missing")
	case json.Unmarshal(raw, &text) == nil:
		return [][]byte{[]byte(text)}, nil
	case json.Unmarshal(raw, &texts) == nil && len(texts) > 0:
		var prompts [][]byte
		for _, t := range texts {
			prompts = append(prompts, []byte(t))
		}
		return prompts, nil
	case json.Unmarshal(raw, &ids) == nil && len(ids) > 0:
		lists = [][]uint32{ids}
	case json.Unmarshal(raw, &lists) == nil && len(lists) > 0:
	default:
		return nil, errors.New("prompt must be a string, a list of strings, or token ids")
	}
	var prompts [][]byte
	for _, list := range lists {
		var packed []byte
		for _, id := range list {
			packed = binary.LittleEndian.AppendUint32(packed, id)
		}
		prompts = append(prompts, packed)
	}
	return prompts, nil
}

// bufferPool reuses body buffers up to a size that is not worth keeping.
type bufferPool struct{ pool sync.Pool }

const keepBuffer = 2 << 20

var bodies bufferPool

func (p *bufferPool) take() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		b.Reset()
		return b
	}
	return new(bytes.Buffer)
}

func (p *bufferPool) put(b *bytes.Buffer) {
	if b.Cap() <= keepBuffer {
		p.pool.Put(b)
	}
}

// readBody reads the whole body into dst.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, dst *bytes.Buffer) error {
	if n := r.ContentLength; n > 0 && n <= s.cfg.MaxBodyBytes {
		dst.Grow(int(n) + bytes.MinRead) // ReadFrom wants room to see the end
	}
	_, err := dst.ReadFrom(http.MaxBytesReader(w, r.Body, s.cfg.MaxBodyBytes))
	return err
}

// failBody answers for a body that could not be read.
func (s *Server) failBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if !errors.As(err, &tooLarge) {
		s.counters.aborted.Add(1)
		panic(http.ErrAbortHandler) // nobody is there to read an answer
	}
	s.fail(w, http.StatusRequestEntityTooLarge, "BadRequestError", fmt.Sprintf("body exceeds %d bytes", tooLarge.Limit))
}
