// Package scan reads the body of an OpenAI chat completions or completions request as it streams by, in any split, and
// hashes the prompt into block ids without keeping it. It allocates nothing in steady state.
package scan

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
)

// Source reads bytes of the body that the scanner has already been given. The returned slice starts at off, has at most
// limit bytes, and is valid until the next call. Empty means that the bytes are not available.
type Source interface {
	Body(off, limit int) []byte
}

// Scanner scans one body. It is reused by Reset; its buffers grow to the largest body seen and stay.
type Scanner struct{}

// Reset prepares for a new body: blocks of blockTokens tokens, at most maxBlocks of them.
func (s *Scanner) Reset(api API, blockTokens, maxBlocks int) { panic("skeleton") }

// Write scans the next bytes of the body. src gives access to everything from offset 0 up to and including b, in case
// values stand in an order that has to be read again. It keeps no reference to b.
func (s *Scanner) Write(b []byte, src Source) { panic("skeleton") }

// Finish ends the body and returns the result. On anything but OK no prompt is reported, while Model, Stream and MaxTokens
// hold what was found.
func (s *Scanner) Finish(src Source) Result { panic("skeleton") }

// Model returns the model name; the slice is valid until Reset.
func (s *Scanner) Model() []byte { panic("skeleton") }

// Salt returns cache_salt; the slice is valid until Reset.
func (s *Scanner) Salt() []byte { panic("skeleton") }

// Stream reports whether "stream": true was given.
func (s *Scanner) Stream() bool { panic("skeleton") }

// MaxTokens returns max_completion_tokens or max_tokens; 0 if absent.
func (s *Scanner) MaxTokens() int { panic("skeleton") }

// Tokens returns the estimated number of prompt tokens, beyond maxBlocks included.
func (s *Scanner) Tokens() int { panic("skeleton") }

// IDs returns the block ids of all prompts, and Starts the index at which each prompt begins. Valid until Reset; the
// caller may overwrite IDs.
func (s *Scanner) IDs() []uint64 { panic("skeleton") }

// Starts returns the index into IDs at which each prompt begins.
func (s *Scanner) Starts() []int32 { panic("skeleton") }

// Capped reports that the prompt was longer than maxBlocks blocks.
func (s *Scanner) Capped() bool { panic("skeleton") }
