package lifecycletest

import (
	"strings"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
)

// Text returns n bytes of prompt text that needs no escapes.
func Text(seed string, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(seed)
		b.WriteString(" the quick brown fox jumps over the lazy dog. ")
	}
	return b.String()[:n]
}

// ChatBody returns a chat completions body with one user message.
func ChatBody(prompt string) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + prompt + `"}],"max_tokens":16}`
}

// CompletionsBody returns a completions body.
func CompletionsBody(prompt string) string {
	return `{"model":"m","prompt":"` + prompt + `","max_tokens":16,"stream":true}`
}

// Chat returns a chat completions request.
func Chat(body string) hosttest.Request { return post("/v1/chat/completions", body) }

// Completions returns a completions request.
func Completions(body string) hosttest.Request { return post("/v1/completions", body) }

func post(path, body string) hosttest.Request {
	return hosttest.Request{
		Headers: hosttest.Pairs(":method", "POST", ":path", path, ":authority", "model.example", "content-type", "application/json", "x-request-id", "1"),
		Body:    []byte(body),
	}
}

// Models returns a GET request.
func Models() hosttest.Request {
	return hosttest.Request{Headers: hosttest.Pairs(":method", "GET", ":path", "/v1/models", ":authority", "model.example")}
}

// Forged adds the headers that only the filter may set, each twice, as a client might that wants a host of its choice.
func Forged(r hosttest.Request) hosttest.Request {
	r.Headers = append(hosttest.Fields{}, r.Headers...)
	for _, n := range names.Stripped {
		r.Headers = append(r.Headers, hosttest.Field{Name: n, Value: "6.6.6.6:1"}, hosttest.Field{Name: n, Value: "6.6.6.7:1"})
	}
	return r
}

// ForgedTrailers adds such trailers.
func ForgedTrailers(r hosttest.Request) hosttest.Request {
	for _, n := range names.Stripped {
		r.Trailers = append(r.Trailers, hosttest.Field{Name: n, Value: "6.6.6.6:1"})
	}
	r.Trailers = append(r.Trailers, hosttest.Field{Name: "x-checksum", Value: "1"})
	return r
}

func chunked(r hosttest.Request, n int) hosttest.Request { r.Chunk = n; return r }
func emptyEnd(r hosttest.Request) hosttest.Request       { r.EmptyEnd = true; return r }
func repeated(r hosttest.Request) hosttest.Request       { r.Repeat = true; return r }
func trailers(r hosttest.Request) hosttest.Request {
	r.Trailers = hosttest.Pairs("x-checksum", "1")
	return r
}

// dead makes the first n endpoints that are tried refuse the connection.
func dead(r hosttest.Request, n int) hosttest.Request {
	r.Reply = func(_ string, attempt int) hosttest.Reply {
		if attempt < n {
			return hosttest.Reply{Fail: true}
		}
		return hosttest.Reply{Chunks: 3}
	}
	return r
}

// unavailable makes the first n endpoints that are tried answer 503, which the route retries.
func unavailable(r hosttest.Request, n int) hosttest.Request {
	r.Reply = func(_ string, attempt int) hosttest.Reply {
		if attempt < n {
			return hosttest.Reply{Status: 503, Retry: true, Chunks: 1}
		}
		return hosttest.Reply{Chunks: 3}
	}
	return r
}
