// Package mooncake reads request traces in the format that the Mooncake project publishes, and turns them back into
// requests: each hash id stands for one block of 512 tokens, equal ids for equal blocks after equal blocks. The text of
// a block is made from its id alone, so a trace without any text still has the same shared prefixes as the original.
package mooncake

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

const (
	// BlockTokens is how many tokens one hash id stands for.
	BlockTokens = 512
	// TokenBytes is how many bytes of text make a token, everywhere in zerohop.
	TokenBytes = 4
	// BlockBytes is the length of one block's text.
	BlockBytes = BlockTokens * TokenBytes
	// binWidth is the resolution of the published arrival times.
	binWidth = 3 * time.Second
	// maxTimestampMs is ten years: far beyond any trace, far below an overflow of time.Duration.
	maxTimestampMs = 10 * 366 * 24 * 3600 * 1000
	// maxLine bounds one line of a trace file.
	maxLine = 1 << 20
)

// Request is one line of a trace.
type Request struct {
	At           time.Duration // arrival, after the start of the trace; see Spread
	InputTokens  int
	OutputTokens int
	Blocks       []uint32 // hash ids; ceil(InputTokens / BlockTokens) of them
}

// Read returns at most limit requests of a trace (0 means all), and checks each.
func Read(r io.Reader, limit int) ([]Request, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	var reqs []Request
	for line := 1; sc.Scan(); line++ {
		if limit > 0 && len(reqs) == limit {
			break
		}
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		req, err := parse(sc.Bytes())
		if err != nil {
			return nil, fmt.Errorf("read trace: line %d: %w", line, err)
		}
		if n := len(reqs); n > 0 && req.At < reqs[n-1].At {
			return nil, fmt.Errorf("read trace: line %d: timestamp is before that of the line above; sort the trace", line)
		}
		reqs = append(reqs, req)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return reqs, nil
}

func parse(line []byte) (Request, error) {
	var row struct {
		Timestamp    *int64   `json:"timestamp"` // ms
		InputLength  int      `json:"input_length"`
		OutputLength int      `json:"output_length"`
		HashIDs      []uint32 `json:"hash_ids"`
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&row); err != nil {
		return Request{}, err
	}
	blocks := (row.InputLength + BlockTokens - 1) / BlockTokens
	switch {
	case row.Timestamp == nil || *row.Timestamp < 0 || *row.Timestamp > maxTimestampMs:
		return Request{}, fmt.Errorf("timestamp is missing, or not between 0 and %d ms", int64(maxTimestampMs))
	case row.InputLength < 1:
		return Request{}, fmt.Errorf("input_length is %d, want at least 1", row.InputLength)
	case row.OutputLength < 0:
		return Request{}, fmt.Errorf("output_length is %d, want at least 0", row.OutputLength)
	case len(row.HashIDs) != blocks:
		return Request{}, fmt.Errorf("hash_ids has %d entries, want %d for input_length %d", len(row.HashIDs), blocks, row.InputLength)
	}
	return Request{
		At:          time.Duration(*row.Timestamp) * time.Millisecond,
		InputTokens: row.InputLength, OutputTokens: row.OutputLength, Blocks: row.HashIDs,
	}, nil
}

// Spread moves the requests of each three-second bin evenly over the bin, in order. The published times are quantised
// to bins; sent as they stand, dozens of requests would arrive in one instant every three seconds.
func Spread(reqs []Request) {
	for i := 0; i < len(reqs); {
		bin := reqs[i].At / binWidth
		end := i
		for end < len(reqs) && reqs[end].At/binWidth == bin {
			end++
		}
		step := binWidth / time.Duration(end-i)
		for k := i; k < end; k++ {
			reqs[k].At = bin*binWidth + time.Duration(k-i)*step
		}
		i = end
	}
}
