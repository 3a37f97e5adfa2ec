package simserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
)

// answer writes the response to one request.
type answer struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	req    *request
	jobs   []*job
	fault  RequestFault
	leave  func() // takes the request out of those in flight
	id     string // of the response

	requestID string // in the query of the request; may be empty

	chunks int // with text, so far
}

// usage is the OpenAI usage object with vLLM's details.
type usage struct {
	PromptTokens     int            `json:"prompt_tokens"`
	TotalTokens      int            `json:"total_tokens"`
	CompletionTokens int            `json:"completion_tokens"`
	Details          *promptDetails `json:"prompt_tokens_details"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// completion is the response that is not streamed, of both dialects.
type completion struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"`
	Model             string   `json:"model"`
	Choices           []choice `json:"choices"`
	ServiceTier       *string  `json:"service_tier"`
	SystemFingerprint string   `json:"system_fingerprint"`
	Usage             usage    `json:"usage"`
}

type choice struct {
	Index        int      `json:"index"`
	Message      *message `json:"message,omitempty"`
	Text         *string  `json:"text,omitempty"`
	Logprobs     *string  `json:"logprobs"`
	FinishReason string   `json:"finish_reason"`
	StopReason   *string  `json:"stop_reason"`
}

type message struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Refusal   *string  `json:"refusal"`
	ToolCalls []string `json:"tool_calls"` // always empty
}

// fingerprint says in each response that no model is behind it.
const fingerprint = "vllm-0.32.0-sim"

// whole waits for all jobs and answers in one piece.
func (a *answer) whole() {
	c := completion{
		ID: a.id, Object: "text_completion", Created: time.Now().Unix(), Model: a.req.model, SystemFingerprint: fingerprint,
	}
	for i, j := range a.jobs {
		for int(j.generated.Load()) < j.max {
			if !a.await(j) {
				return
			}
		}
		text := string(engine.AppendOutput(nil, j.seed, 0, j.max))
		ch := choice{Index: i, FinishReason: j.finishReason()}
		if a.req.chat {
			c.Object = "chat.completion"
			ch.Message = &message{Role: "assistant", Content: text, ToolCalls: []string{}}
		} else {
			ch.Text = &text
		}
		c.Choices = append(c.Choices, ch)
	}
	c.Usage = a.usage()
	body, err := json.Marshal(c)
	if err != nil {
		panic(err) // no value of c can fail
	}
	a.write(body)
}

// write sends a whole body, or half of it under a fault.
func (a *answer) write(body []byte) {
	h := a.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	a.server.journal(JournalBegan, a.requestID)
	if a.fault.Mode == RequestResetMid {
		_, _ = a.w.Write(body[:len(body)/2])
		_ = http.NewResponseController(a.w).Flush()
		a.leave()
		a.server.reset(a.w)
		return
	}
	a.leave()
	a.server.journal(JournalEnded, a.requestID)
	_, _ = a.w.Write(body)
}

// stream sends server-sent events. The headers go out before the first token is there, as with vLLM.
func (a *answer) stream() {
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	a.server.journal(JournalBegan, a.requestID)
	a.w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(a.w).Flush
	if flush() != nil {
		return
	}
	var buf []byte
	for i, j := range a.jobs {
		head := a.chunkHead(i)
		for sent := 0; sent < j.max; {
			if !a.await(j) {
				return
			}
			done := int(j.generated.Load())
			if done == sent {
				continue // already sent with the chunk before
			}
			buf = buf[:0]
			if sent == 0 && a.req.chat {
				buf = append(append(buf, head...), `{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
			}
			buf = a.appendChunk(append(buf, head...), j, sent, done)
			if !a.send(buf, flush) {
				return
			}
			sent = done
		}
	}
	buf = buf[:0]
	if a.req.includeUsage {
		buf = a.appendUsage(buf)
	}
	a.leave()
	a.server.journal(JournalEnded, a.requestID)
	_, _ = a.w.Write(append(buf, "data: [DONE]\n\n"...))
}

// send writes one chunk with text; it returns false if the stream is over.
func (a *answer) send(chunk []byte, flush func() error) bool {
	if _, err := a.w.Write(chunk); err != nil || flush() != nil {
		a.server.counters.aborted.Add(1)
		return false
	}
	a.chunks++
	if a.fault.Mode == RequestResetMid && a.chunks >= a.fault.AfterChunks {
		a.leave()
		a.server.reset(a.w)
		return false
	}
	return true
}

// await waits until the job has made progress; it returns false if nobody waits for the answer any more.
func (a *answer) await(j *job) bool {
	select {
	case <-j.notify:
		return true
	case <-a.r.Context().Done():
		a.server.counters.aborted.Add(1)
	case <-a.server.closing.Done():
	}
	return false
}

// chunkHead returns the part that all chunks of a choice begin with.
func (a *answer) chunkHead(index int) []byte {
	object, open := "text_completion", ""
	if a.req.chat {
		object, open = "chat.completion.chunk", `"delta":`
	}
	head := append([]byte(`data: {"id":`), quoted(a.id)...)
	head = append(head, `,"object":"`+object+`","created":`...)
	head = strconv.AppendInt(head, time.Now().Unix(), 10)
	head = append(append(head, `,"model":`...), quoted(a.req.model)...)
	head = append(head, `,"choices":[{"index":`...)
	head = strconv.AppendInt(head, int64(index), 10)
	return append(head, ","+open...)
}

// appendChunk appends tokens [from,to) and the end of an event that begins with the chunk head. Output text needs no
// escapes.
func (a *answer) appendChunk(dst []byte, j *job, from, to int) []byte {
	if a.req.chat {
		dst = append(dst, `{"content":"`...)
	} else {
		dst = append(dst, `"text":"`...)
	}
	dst = append(engine.AppendOutput(dst, j.seed, from, to), '"')
	if a.req.chat {
		dst = append(dst, '}')
	}
	dst = append(dst, `,"logprobs":null,"finish_reason":`...)
	if to < j.max {
		return append(dst, "null}]}\n\n"...)
	}
	return append(dst, `"`+j.finishReason()+`","stop_reason":null}]}`+"\n\n"...)
}

// appendUsage appends the event that stream_options.include_usage asks for.
func (a *answer) appendUsage(dst []byte) []byte {
	object := "text_completion"
	if a.req.chat {
		object = "chat.completion.chunk"
	}
	event, err := json.Marshal(struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
		Usage   usage    `json:"usage"`
	}{a.id, object, time.Now().Unix(), a.req.model, []choice{}, a.usage()})
	if err != nil {
		panic(err) // no value can fail
	}
	return append(append(append(dst, "data: "...), event...), "\n\n"...)
}

// usage sums over the finished jobs.
func (a *answer) usage() usage {
	u := usage{Details: &promptDetails{}}
	for _, j := range a.jobs {
		u.PromptTokens += j.prompt
		u.CompletionTokens += j.max
		u.Details.CachedTokens += int(j.cached.Load())
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

func (j *job) finishReason() string {
	if j.natural {
		return "stop"
	}
	return "length"
}

// quoted returns a string in JSON.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return b
}
