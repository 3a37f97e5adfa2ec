package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// answer is what a client makes of a response with status 200.
type answer struct {
	text   []byte
	done   int  // [DONE] marks
	after  bool // something came after the first
	chunks int

	prompt, cached int

	midst int // chunk at which the client leaves; -1 for never
	left  func()
}

// wireAnswer is a whole response or one event of a stream.
type wireAnswer struct {
	Choices []struct {
		Message *struct {
			Content string `json:"content"`
		} `json:"message"`
		Delta *struct {
			Content string `json:"content"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens int `json:"prompt_tokens"`
		Details      *struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// read reads a body to its end. An error is one of the transport: what is wrong with the content says wrong.
func (a *answer) read(body io.Reader, stream bool) error {
	if !stream {
		if a.midst >= 0 {
			_, _ = body.Read(make([]byte, 1)) // one byte is in its midst
			a.left()
			return errLeft
		}
		b, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		return a.take(b)
	}
	r := bufio.NewReaderSize(body, 16<<10)
	for {
		line, err := r.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && err == nil {
			if err := a.event(bytes.TrimSpace(data)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// event takes one event of a stream.
func (a *answer) event(data []byte) error {
	a.after = a.after || a.done > 0
	if string(data) == "[DONE]" {
		a.done++
		return nil
	}
	if a.chunks++; a.midst >= 0 && a.chunks > a.midst {
		a.left()
		return errLeft
	}
	return a.take(data)
}

// take takes the text and the usage of a JSON object. One that cannot be read is no text, which wrong finds out.
func (a *answer) take(b []byte) error {
	var w wireAnswer
	if json.Unmarshal(b, &w) != nil {
		return nil
	}
	for _, c := range w.Choices {
		if c.Message != nil {
			a.text = append(a.text, c.Message.Content...)
		}
		if c.Delta != nil {
			a.text = append(a.text, c.Delta.Content...)
		}
	}
	if w.Usage != nil {
		a.prompt = w.Usage.PromptTokens
		if w.Usage.Details != nil {
			a.cached = w.Usage.Details.CachedTokens
		}
	}
	return nil
}

// wrong says what of a response is missing, doubled or not to this request; empty if it is whole.
func (a *answer) wrong(s *spec) string {
	switch {
	case s.stream && a.done != 1:
		return fmt.Sprintf("the stream has %d ends", a.done)
	case a.after:
		return "the stream goes on after its end"
	case string(a.text) != s.want:
		return fmt.Sprintf("%d bytes of text, want %d others", len(a.text), len(s.want))
	}
	return ""
}
