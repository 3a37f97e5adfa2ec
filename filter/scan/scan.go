// Package scan reads the body of an OpenAI chat completions or completions request as it streams by, in any split, and
// hashes the prompt into block ids without keeping it. It allocates nothing in steady state.
//
// The prompt is what llm-d's EPP estimates tokens from, in its order whatever the order in the body:
//
//	completions  the string; each string of a list as a prompt of its own; or a list of token ids
//	chat         tools as JSON with sorted keys, then per message the role and the text of its content
//
// Values that stand in another order are noted by their position and read again from the body (reread.go). As in
// encoding/json the last one of several equal keys counts and a lone surrogate reads as U+FFFD; unlike there, invalid
// UTF-8 is passed on as it is, and of the syntax only what the scan needs is checked: a valid body is never refused, a
// broken one may be accepted.
package scan

import "github.com/zerohop/zerohop/shared/blockhash"

const (
	// MaxDepth is the deepest nesting of objects and arrays, the outermost object included. encoding/json has the same.
	MaxDepth = 10000
	// MaxField is the longest model name and cache salt, in bytes.
	MaxField = 1024
)

// API is the dialect of a body, known from the request path.
type API uint8

// The dialects.
const (
	Chat        API = iota // messages, tools
	Completions            // prompt
)

// Result says how well a body was understood.
type Result uint8

// The results of a scan.
const (
	OK          Result = iota
	NotJSON            // not a JSON object, or broken syntax
	Truncated          // the body ended inside the object
	TooDeep            // nested deeper than MaxDepth
	NoPrompt           // no messages or prompt, or not of a supported form
	NoModel            // model missing or not a string
	FieldTooBig        // model or cache_salt longer than MaxField
	Unreadable         // the source did not give again what had to be read twice
)

// Source reads bytes of the body that the scanner has already been given. The returned slice starts at off, has at most
// limit bytes, and is valid until the next call. Empty means that the bytes are not available. It may use the memory of
// the slice that was passed to the Write in progress.
type Source interface {
	Body(off, limit int) []byte
}

// Scratch is what scanners share that never work at the same time: the working memory for tools, and what was learned
// from bodies before. It holds at most about 5 MB, more only for tools that consist of characters to escape. The zero
// value is ready.
type Scratch struct {
	canon      canon
	expectLate bool // the last body had its tools behind the messages
}

// Scanner scans one body. It is reused by Reset; its buffers grow to the largest body seen and stay: eight bytes a block,
// and 7 KB, plus a Scratch of its own unless it was given one to share.
type Scanner struct {
	result        Result
	finished      bool
	api           API
	unsupported   bool // a prompt value of a form that is not supported
	again         bool // a key of the prompt stands twice: only careful reading is right
	lateTools     bool // tools stand behind messages
	putOff        bool // messages were skipped, see startMessages
	toolsVerbatim bool
	elems         int // messages, or elements of a prompt list
	scratch       *Scratch

	// The bytes at hand: the body from winOff on. gen counts replacements, so that whoever runs over a window notices
	// that it is gone.
	src    Source
	win    []byte
	winOff int
	gen    int
	size   int // bytes of the body so far

	hash        blockhash.Builder
	model, salt field
	// One machine per level of reading again: the body, the messages, one content, one text. More cannot be put off.
	level [4]machine
}

// field is a string value that is kept.
type field struct {
	_ [0]func() // not comparable, for the size of the module

	n int // MaxField+1 if it is longer than MaxField
	b [MaxField]byte
}

// Share makes s use sc, together with other scanners on the same thread. Without it s makes its own at the first Reset.
func (s *Scanner) Share(sc *Scratch) { s.scratch = sc }

// Reset prepares for a new body: blocks of blockTokens tokens, at most maxBlocks of them over all prompts of the body
// (0 means no limit).
func (s *Scanner) Reset(api API, blockTokens, maxBlocks int) {
	if s.scratch == nil {
		s.ownScratch()
	}
	s.hash.Configure(blockTokens, maxBlocks)
	s.hash.Clear()
	s.api = api
	s.size = 0
	s.level[0] = machine{state: wantObject, ctx: inBody, open: openBody, openMessage: 1 << keyRole}
	if s.scratch.expectLate {
		s.level[0].open = openBody &^ (1 << keyMessages)
	}
	s.result, s.finished = OK, false
	s.model.n, s.salt.n = 0, 0
	s.elems, s.unsupported, s.again = 0, false, false
	s.lateTools, s.toolsVerbatim, s.putOff = false, false, false
}

// Write scans the next bytes of the body. src gives access to everything from offset 0 up to and including b, in case
// values stand in an order that has to be read again. It keeps no reference to b.
func (s *Scanner) Write(b []byte, src Source) {
	if s.result != OK || len(b) == 0 {
		return
	}
	s.src, s.win, s.winOff = src, b, s.size
	s.size += len(b)
	m := &s.level[0]
	s.run(m, b)
	if m.off < s.size && s.result == OK {
		s.feed(m, s.size) // the window was replaced
	}
	s.win = nil
}

// Finish ends the body and returns the result. On anything but OK no prompt is reported, while Model, Stream and MaxTokens
// hold what was found.
func (s *Scanner) Finish(src Source) Result {
	if s.finished {
		return s.result
	}
	s.finished = true
	m := &s.level[0]
	if s.result == OK && m.state == done {
		k := keyPrompt
		if s.api == Chat {
			k = keyMessages
			s.scratch.expectLate = s.lateTools
		}
		if s.again || s.lateTools || s.putOff {
			s.complete(src, k)
		}
		s.hash.EndPrompt()
		if s.result == OK && s.model.n <= MaxField && s.salt.n <= MaxField && !s.unsupported &&
			m.val[k&15].kind == kindArray && s.elems > 0 && m.val[keyModel].kind == kindString {
			return OK
		}
	}
	s.conclude()
	return s.result
}

// conclude is the end of a body that is not an array of messages or prompts and a model name. It says what is missing, and
// leaves no prompt behind then.
//
//go:noinline
func (s *Scanner) conclude() {
	m := &s.level[0]
	switch {
	case s.result != OK:
	case m.state == wantObject:
		s.result = NotJSON
	case m.state != done:
		s.result = Truncated
	case s.model.n > MaxField || s.salt.n > MaxField:
		s.result = FieldTooBig
	case s.unsupported || !s.hasPrompt():
		s.result = NoPrompt
	case m.val[keyModel].kind != kindString:
		s.result = NoModel
	}
	if s.result != OK {
		s.hash.Clear()
	}
}

// complete reads again what stood in the wrong place; k is the key of the prompt.
func (s *Scanner) complete(src Source, k key) {
	s.src = src
	prompt, careful := s.level[0].val[k&15], s.again
	s.reread(prompt)
	if s.again && !careful { // messages that were put off turn out to have equal keys
		s.reread(prompt)
	}
	s.win = nil
}

// hasPrompt reports whether the messages or prompt amount to a prompt.
func (s *Scanner) hasPrompt() bool {
	k := s.level[0].val[keyMessages].kind
	if s.api == Completions {
		if k = s.level[0].val[keyPrompt].kind; k == kindString {
			return s.hash.Tokens() > 0
		}
	}
	return k == kindArray && s.elems > 0
}

// Model returns the model name; the slice is valid until Reset.
func (s *Scanner) Model() []byte { return s.model.bytes() }

// Salt returns cache_salt; the slice is valid until Reset.
func (s *Scanner) Salt() []byte { return s.salt.bytes() }

// Stream reports whether "stream": true was given.
func (s *Scanner) Stream() bool {
	v := &s.level[0].val[keyStream]
	return v.kind == kindTrue && v.end != 0
}

// MaxTokens returns max_completion_tokens (chat only) or else max_tokens; 0 if absent. It is at most 1<<32.
func (s *Scanner) MaxTokens() int {
	n := s.level[0].val[keyMaxCompletion].count
	if n == 0 || s.api != Chat {
		n = s.level[0].val[keyMaxTokens].count
	}
	return int(max(n, 1) - 1)
}

// Tokens returns the estimated number of prompt tokens, beyond maxBlocks included.
func (s *Scanner) Tokens() int { return s.hash.Tokens() }

// IDs returns the block ids of all prompts. The slice is valid until Reset; the caller may overwrite its elements.
func (s *Scanner) IDs() []uint64 { return s.hash.IDs() }

// Starts returns the index into IDs at which each prompt begins; prompts without text are left out. The slice is valid
// until Reset.
func (s *Scanner) Starts() []int32 { return s.hash.Starts() }

// Capped reports that the prompt was longer than maxBlocks blocks.
func (s *Scanner) Capped() bool { return s.hash.Capped() }

// ToolsVerbatim reports that tools were hashed as they stand in the body, since they are larger or deeper than the
// scanner sorts (see tools.go). The chain is then that of equally written tools only.
func (s *Scanner) ToolsVerbatim() bool { return s.toolsVerbatim }

// fail ends the scan.
func (s *Scanner) fail(r Result) {
	if s.result == OK {
		s.result = r
	}
}

// bytes returns the value, nothing if it did not fit.
func (f *field) bytes() []byte {
	if f.n > MaxField {
		return nil
	}
	return f.b[:f.n]
}

// ownScratch makes the working memory of a scanner that shares none.
//
//go:noinline
func (s *Scanner) ownScratch() { s.scratch = new(Scratch) }
