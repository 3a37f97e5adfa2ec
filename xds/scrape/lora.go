package scrape

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// LoRA are the adapters of one endpoint as XXH64 of their names, in the order of the page. An adapter may be in use and
// waited for at the same time.
type LoRA struct {
	Max             uint16 // adapters that fit into the engine at once; 0 if it does not tell
	Active, Waiting []uint64
}

// maxAdapters bounds each list: the page is another's.
const maxAdapters = 256

// loraTexts are the labels that hold the lists of names and the limit, as read takes them.
var loraTexts = []string{"running_lora_adapters", "waiting_lora_adapters", "max_lora"}

// adapterReader reads lists of adapters and reuses its memory.
type adapterReader struct{ active, waiting []uint64 }

// read returns what the texts say. That is old itself if they say the same, as nearly always.
func (r *adapterReader) read(old *LoRA, texts [][]byte) *LoRA {
	r.active, r.waiting = hashes(r.active[:0], texts[0]), hashes(r.waiting[:0], texts[1])
	limit, err := strconv.ParseUint(string(bytes.TrimSpace(texts[2])), 10, 16)
	if err != nil {
		limit = 0
	}
	if old != nil && uint64(old.Max) == limit && slices.Equal(old.Active, r.active) && slices.Equal(old.Waiting, r.waiting) {
		return old
	}
	return &LoRA{Max: uint16(limit), Active: slices.Clone(r.active), Waiting: slices.Clone(r.waiting)}
}

// hashes appends the XXH64 of each name of a list that has commas between them, each once.
func hashes(dst []uint64, list []byte) []uint64 {
	for name := range bytes.SplitSeq(list, []byte(",")) {
		if name = bytes.TrimSpace(name); len(name) == 0 || len(dst) == maxAdapters {
			continue
		}
		if h := xxhash.Sum64(name); !slices.Contains(dst, h) {
			dst = append(dst, h)
		}
	}
	return dst
}
