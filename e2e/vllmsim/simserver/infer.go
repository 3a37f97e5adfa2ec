package simserver

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/zerohop/zerohop/e2e/engine"
)

// infer serves a chat completions or completions request.
func (s *Server) infer(w http.ResponseWriter, r *http.Request) {
	s.counters.requests.Add(1)
	id := r.URL.Query().Get("id")
	if id != "" {
		w.Header().Set(HeaderRequest, id)
	}
	s.journal(JournalArrived, id)
	s.counters.inFlight.Add(1)
	// Called before the last byte goes out: a client that has its answer finds itself no longer in flight.
	leave := sync.OnceFunc(func() { s.counters.inFlight.Add(-1) })
	defer leave()
	body := bodies.take()
	defer bodies.put(body)
	err := s.readBody(w, r, body)
	s.records.add(r, body.Bytes(), err == nil)
	if err != nil {
		s.failBody(w, err)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		s.fail(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "use POST")
		return
	}
	v := s.faults.next()
	if v.draining {
		s.fail(w, http.StatusServiceUnavailable, "ServiceUnavailable", "the server is shutting down")
		return
	}
	if s.applyBefore(w, r, v, leave) {
		return
	}
	if s.cfg.Instant {
		s.answerInstantly(&answer{server: s, w: w, r: r, fault: v.fault, leave: leave, requestID: id}, body.Bytes())
		return
	}
	req, err := parseRequest(body.Bytes(), r.URL.Path == pathChat)
	if err != nil {
		s.fail(w, http.StatusBadRequest, "BadRequestError", err.Error())
		return
	}
	s.generate(&answer{server: s, w: w, r: r, req: req, fault: v.fault, leave: leave, requestID: id})
}

// generate runs the prompts through the engine and answers.
func (s *Server) generate(a *answer) {
	w, req := a.w, a.req
	if req.model == "" {
		req.model = s.cfg.Models[0]
	}
	adapter := slices.Contains(s.cfg.Adapters, req.model)
	if !adapter && !slices.Contains(s.cfg.Models, req.model) {
		s.fail(w, http.StatusNotFound, "NotFoundError", "The model `"+req.model+"` does not exist.")
		return
	}
	if adapter {
		defer s.lora.enter(req.model)()
	}
	jobs, err := s.submit(req)
	defer func() { // whatever way the request ends
		for _, j := range jobs {
			s.driver.cancel(j)
		}
	}()
	switch {
	case errors.Is(err, engine.ErrTooLong), errors.Is(err, engine.ErrInvalid):
		s.fail(w, http.StatusBadRequest, "BadRequestError", err.Error())
		return
	case err != nil:
		s.fail(w, http.StatusInternalServerError, "InternalServerError", err.Error())
		return
	}
	a.jobs, a.id = jobs, s.responseID(a.r, req.chat)
	if req.stream {
		a.stream()
	} else {
		a.whole()
	}
}

// submit queues all prompts of a request. On an error the jobs queued so far are returned with it.
func (s *Server) submit(req *request) (jobs []*job, err error) {
	e := s.cfg.Engine
	for _, text := range req.prompts {
		p := engine.NewPrompt(text, req.salt, e.BlockTokens)
		room := e.MaxModelLen - p.Tokens()
		if room < 1 || req.maxTokens > room {
			return jobs, fmt.Errorf("%w: the maximum context length is %d tokens; the prompt has %d and %d are requested",
				engine.ErrTooLong, e.MaxModelLen, p.Tokens(), req.maxTokens)
		}
		j := &job{max: req.maxTokens, interval: s.cfg.StreamInterval}
		if j.max == 0 {
			j.max = defaultCompletionTokens
			if req.chat {
				j.max, j.natural = defaultChatTokens, true
			}
			j.max = min(j.max, room)
		}
		if !req.stream {
			j.interval = math.MaxInt
		}
		if err := s.driver.submit(j, p); err != nil {
			return jobs, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// responseID names a response as vLLM does: after the request's x-request-id, or a number of our own.
func (s *Server) responseID(r *http.Request, chat bool) string {
	prefix := "cmpl-"
	if chat {
		prefix = "chatcmpl-"
	}
	if id := r.Header.Get("X-Request-Id"); id != "" {
		return prefix + id
	}
	return prefix + strconv.FormatUint(1<<63+s.ids.Add(1), 16)
}

// apiError is vLLM's error body.
type apiError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	} `json:"error"`
}

// fail answers with an error and counts it.
func (s *Server) fail(w http.ResponseWriter, status int, kind, message string) {
	s.counters.errors.Add(1)
	var e apiError
	e.Error.Message, e.Error.Type, e.Error.Code = message, kind, status
	writeJSON(w, status, e)
}
