package loadgen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrNoDone is the error of a stream that ended without "data: [DONE]".
var ErrNoDone = errors.New("stream ended without [DONE]")

var (
	dataPrefix = []byte("data:")
	doneMark   = []byte("[DONE]")
	usageKey   = []byte(`"usage":`)
	usageNull  = []byte(`"usage":null`) // most chunks of some servers: not worth decoding
	errorKey   = []byte(`{"error"`)
)

// readStream reads server-sent events to the end, and times the content chunks: all data lines except [DONE] and one
// that carries only the usage.
func readStream(body io.Reader, res *Result) error {
	r := bufio.NewReaderSize(body, 16<<10)
	var last time.Time
	done := false
	for {
		line, err := r.ReadSlice('\n')
		if data, ok := bytes.CutPrefix(line, dataPrefix); ok {
			switch data = bytes.TrimSpace(data); {
			case bytes.Equal(data, doneMark):
				done = true
			case bytes.HasPrefix(data, errorKey):
				return fmt.Errorf("error in stream: %.200s", data)
			case bytes.Contains(data, usageKey) && !bytes.Contains(data, usageNull) && readUsage(data, res):
			default:
				last = res.chunk(last)
			}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil // a longer line is content all the same; its tail has no prefix and is skipped
		}
		if err != nil {
			res.E2E = time.Since(res.Sent)
			if res.OutputTokens == 0 {
				res.OutputTokens = res.Chunks
			}
			return endOfStream(err, done)
		}
	}
}

func endOfStream(err error, done bool) error {
	switch {
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read stream: %w", err)
	case !done:
		return ErrNoDone
	default:
		return nil
	}
}

// chunk records a content chunk that came after one at last, and returns its time.
func (r *Result) chunk(last time.Time) time.Time {
	now := time.Now()
	r.Chunks++
	if r.Chunks == 1 {
		r.TTFT = now.Sub(r.Sent)
	} else if len(r.Gaps) < maxGaps {
		r.Gaps = append(r.Gaps, now.Sub(last))
	}
	return now
}

// readUsage takes the token counts from a response object, and reports whether it carries only them (no choices).
func readUsage(b []byte, res *Result) bool {
	var doc struct {
		Choices []json.RawMessage `json:"choices"`
		Usage   *struct {
			PromptTokens     int `json:"prompt_tokens"`
			CompletionTokens int `json:"completion_tokens"`
			Details          *struct {
				CachedTokens int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if json.Unmarshal(b, &doc) != nil || doc.Usage == nil {
		return false
	}
	res.PromptTokens, res.OutputTokens = doc.Usage.PromptTokens, doc.Usage.CompletionTokens
	if doc.Usage.Details != nil {
		res.CachedTokens = doc.Usage.Details.CachedTokens
	}
	return len(doc.Choices) == 0
}
