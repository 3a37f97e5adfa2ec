package simserver

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestInstant(t *testing.T) {
	s := start(t, Config{Instant: true})
	_, body := post(t, s.URL()+pathChat, "not even JSON, 30 bytes of it..")
	if u := decode(t, body)["usage"].(map[string]any); u["prompt_tokens"] != 8.0 || u["completion_tokens"] != 16.0 {
		t.Errorf("usage = %v", u)
	}
	_, stream := post(t, s.URL()+pathChat, `{"stream" : true}`)
	data := events(t, stream)
	if len(data) != instantTokens+1 || data[instantTokens] != "[DONE]" {
		t.Errorf("%d events, want a chunk a token and [DONE]", len(data))
	}
	for _, d := range data[:instantTokens] {
		decode(t, d)
	}
	if got := len(s.Records()); got != 0 {
		t.Errorf("%d records in instant mode, want none", got)
	}
}

func TestAsksForStream(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       bool
	}{
		{"set", `{"stream":true}`, true},
		{"white space", "{\"stream\"\t: \n true}", true},
		{"not set", `{"stream":false}`, false},
		{"options only", `{"stream_options":{}}`, false},
		{"inside a string", `{"content":"{\"stream\":true}"}`, false},
		{"as a value first", `{"a":"stream","stream":true}`, true},
		{"absent", `{}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := asksForStream([]byte(c.body)); got != c.want {
				t.Errorf("asksForStream(%s) = %v", c.body, got)
			}
		})
	}
}

// discard is a response that goes nowhere.
type discard http.Header

func (d discard) Header() http.Header         { return http.Header(d) }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkInstant measures a request in instant mode without the network.
func BenchmarkInstant(b *testing.B) {
	s, err := Start(Config{Instant: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	body := strings.Repeat("x", 600)
	b.ReportAllocs()
	for b.Loop() {
		r := &http.Request{
			Method: http.MethodPost, URL: &url.URL{Path: pathChat}, ContentLength: int64(len(body)),
			Body: io.NopCloser(strings.NewReader(body)),
		}
		s.serve(discard{}, r)
	}
}
