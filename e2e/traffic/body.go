package traffic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// Model is the model that the bodies ask for.
const Model = simserver.DefaultModel

// Text returns n bytes of text without characters that JSON escapes. Equal seeds give equal text, others share no block.
func Text(seed uint64, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789"
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// ChatBody returns a chat of one user message. The text is put into JSON as it is.
func ChatBody(text string) []byte {
	return []byte(chatHead + text + chatTail)
}

const (
	chatHead = `{"model":"` + Model + `","messages":[{"role":"user","content":"`
	chatTail = `"}]}`
)

// SizedBody returns a chat of exactly size bytes.
func SizedBody(seed uint64, size int) []byte {
	// Repeating keeps the making of tens of megabytes short; the text is still different in every place where it matters.
	unit := Text(seed, 64<<10)
	n := size - len(chatHead) - len(chatTail)
	return ChatBody(strings.Repeat(unit, n/len(unit)+1)[:n])
}

// Sum returns the SHA-256 of a body as the records of simulated endpoints have it.
func Sum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Chunked returns body in the chunked coding of HTTP/1.1 in chunks of size bytes, without what ends it.
func Chunked(body []byte, size int) []string {
	var chunks []string
	for len(body) > 0 {
		n := min(size, len(body))
		chunks = append(chunks, fmt.Sprintf("%x\r\n%s\r\n", n, body[:n]))
		body = body[n:]
	}
	return chunks
}
