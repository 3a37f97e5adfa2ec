package simserver

import "bytes"

// instantTokens is the length of every answer in instant mode.
const instantTokens = 16

// answerInstantly answers at once and alike. Whether to stream is read off the bytes: inside a JSON string a quote is
// escaped, so that the key cannot be mistaken for text; white space around the colon is allowed for.
func (s *Server) answerInstantly(a *answer, body []byte) {
	s.counters.instantBytes.Add(uint64(len(body)))
	s.counters.instantTokens.Add(instantTokens)
	a.req = &request{chat: a.r.URL.Path == pathChat, model: s.cfg.Models[0], stream: asksForStream(body)}
	j := &job{prompt: (len(body) + 3) / 4, max: instantTokens, notify: make(chan struct{}, 1)}
	j.generated.Store(instantTokens)
	a.jobs, a.id = []*job{j}, s.responseID(a.r, a.req.chat)
	if !a.req.stream {
		a.whole()
		return
	}
	if a.fault.Mode == RequestResetMid {
		j.notify <- struct{}{}
		a.stream()
		return
	}
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	a.server.journal(JournalBegan, a.requestID)
	a.leave()
	a.server.journal(JournalEnded, a.requestID)
	_, _ = a.w.Write(instantStream(a, j))
}

// instantStream returns a whole stream of one chunk a token.
func instantStream(a *answer, j *job) []byte {
	head := a.chunkHead(0)
	buf := make([]byte, 0, (instantTokens+2)*(len(head)+80))
	for i := range instantTokens {
		buf = a.appendChunk(append(buf, head...), j, i, i+1)
	}
	return append(buf, "data: [DONE]\n\n"...)
}

// asksForStream reports whether the body has the member "stream": true, at whatever depth.
func asksForStream(body []byte) bool {
	for {
		_, rest, found := bytes.Cut(body, []byte(`"stream"`))
		if !found {
			return false
		}
		body = rest
		if value, colon := bytes.CutPrefix(bytes.TrimLeft(rest, space), []byte(":")); colon {
			if bytes.HasPrefix(bytes.TrimLeft(value, space), []byte("true")) {
				return true
			}
		}
	}
}

// space is JSON's white space.
const space = " \t\r\n"
