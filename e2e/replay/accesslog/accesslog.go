// Package accesslog reads what Envoy's access log says about picks (docs/access-log.md), and turns it back into requests that
// share prefixes as the logged ones did: from the sample of a prompt's chain hashes it makes a chain that agrees with another
// one for at least half as long as the prompts did.
package accesslog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// maxLine bounds one line of a log.
const maxLine = 1 << 20

// maxBlocks bounds the blocks of one prompt. No configuration hashes so many.
const maxBlocks = 1 << 20

// Entry is what one line says about one request.
type Entry struct {
	Time   time.Time // start of the request
	Path   string
	Status int
	Pick   Pick // the zero value if there was no decision

	// Chain is the sample of the first prompt: the hashes after the blocks Positions(Blocks()). It is nil if the prompt is not
	// known.
	Chain []uint64
}

// Read returns the entries of a log. Lines that are no JSON objects, such as Envoy's own messages, are left out.
func Read(r io.Reader) ([]Entry, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	var entries []Entry
	for line := 1; sc.Scan(); line++ {
		if b := bytes.TrimSpace(sc.Bytes()); len(b) == 0 || b[0] != '{' {
			continue
		}
		e, err := parse(sc.Bytes())
		if err != nil {
			return nil, fmt.Errorf("read access log: line %d: %w", line, err)
		}
		entries = append(entries, e)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read access log: %w", err)
	}
	return entries, nil
}

func parse(line []byte) (Entry, error) {
	var raw struct {
		Time   time.Time `json:"time"`
		Path   string    `json:"path"`
		Status int       `json:"status"`
		Pick   *string   `json:"pick"`
		Chain  *string   `json:"chain"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return Entry{}, err
	}
	e := Entry{Time: raw.Time, Path: raw.Path, Status: raw.Status}
	var err error
	if raw.Pick != nil {
		if e.Pick, err = ParsePick(*raw.Pick); err != nil {
			return Entry{}, err
		}
	}
	if raw.Chain == nil {
		return e, nil
	}
	for word := range strings.SplitSeq(*raw.Chain, ",") {
		hash, err := strconv.ParseUint(word, 16, 64)
		if err != nil || len(word) != 16 {
			return Entry{}, fmt.Errorf("chain %q: %q is no hash of 16 hexadecimal digits", *raw.Chain, word)
		}
		e.Chain = append(e.Chain, hash)
	}
	if n := e.Pick.Total + e.Pick.Universal; n > maxBlocks || len(e.Chain) > len(Positions(n)) {
		return Entry{}, fmt.Errorf("chain %q has %d hashes, which do not fit to %d blocks", *raw.Chain, len(e.Chain), n)
	}
	return e, nil
}

// Blocks returns the number of blocks of the first prompt. Where a body had several, it is known but for a factor of two.
func (e *Entry) Blocks() int {
	n := e.Pick.Total + e.Pick.Universal
	if k := len(e.Chain); k > 0 && k < len(Positions(n)) {
		n = 1 << (k - 1)
	}
	return n
}

// Positions returns the numbers of the blocks, counted from 1, after which a prompt of n blocks is sampled.
func Positions(n int) []int {
	var at []int
	for p := 1; p < n && len(at) < maxSampled; p *= 2 {
		at = append(at, p)
	}
	if n > 0 {
		at = append(at, n)
	}
	return at
}

// maxSampled is the most powers of two in a sample.
const maxSampled = 12

// Prompt returns a chain of as many hashes as the prompt had blocks. The chains of two entries agree up to the last hash that
// their samples share, so for more than half of the blocks that the prompts share.
func (e *Entry) Prompt() []uint64 {
	if len(e.Chain) == 0 {
		return nil
	}
	chain := make([]uint64, 0, e.Blocks())
	for i, end := range Positions(e.Blocks()) {
		for len(chain) < end {
			var b [16]byte
			binary.LittleEndian.PutUint64(b[:], e.Chain[i])
			binary.LittleEndian.PutUint64(b[8:], uint64(len(chain)))
			chain = append(chain, xxhash.Sum64(b[:]))
		}
	}
	return chain
}
