package mooncake

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const twoLines = `{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}

{"timestamp": 3000, "input_length": 512, "output_length": 0, "hash_ids": [0]}
`

func TestRead(t *testing.T) {
	tests := []struct {
		name    string
		in      string
		limit   int
		want    []Request
		wantErr string
	}{
		{"two, with a blank line", twoLines, 0, []Request{{0, 600, 5, []uint32{0, 1}}, {3 * time.Second, 512, 0, []uint32{0}}}, ""},
		{"limit", twoLines, 1, []Request{{0, 600, 5, []uint32{0, 1}}}, ""},
		{"empty", "", 0, nil, ""},
		{"not JSON", "x\n", 0, nil, "line 1"},
		{"unknown field", `{"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[0],"x":1}`, 0, nil, "unknown field"},
		{"no timestamp", `{"input_length":1,"output_length":1,"hash_ids":[0]}`, 0, nil, "timestamp"},
		{"no input", `{"timestamp":0,"input_length":0,"output_length":1,"hash_ids":[]}`, 0, nil, "input_length"},
		{"negative output", `{"timestamp":0,"input_length":1,"output_length":-1,"hash_ids":[0]}`, 0, nil, "output_length"},
		{"too few ids", `{"timestamp":0,"input_length":513,"output_length":1,"hash_ids":[0]}`, 0, nil, "want 2"},
		{"id out of range", `{"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[-1]}`, 0, nil, "hash_ids"},
		{"unsorted", `{"timestamp":9,"input_length":1,"output_length":1,"hash_ids":[0]}` + "\n" +
			`{"timestamp":8,"input_length":1,"output_length":1,"hash_ids":[0]}`, 0, nil, "line 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(tt.in), tt.limit)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want it to contain %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("requests (-want +got):\n%s", d)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	at := func(ms ...int) []Request {
		r := make([]Request, len(ms))
		for i, m := range ms {
			r[i].At = time.Duration(m) * time.Millisecond
		}
		return r
	}
	for _, tt := range []struct {
		name     string
		in, want []Request
	}{
		{"none", nil, nil},
		{"one stays", at(3000), at(3000)},
		{"three in a bin", at(0, 0, 0), at(0, 1000, 2000)},
		{"two bins with a gap", at(0, 0, 9000, 9000, 9000, 9000), at(0, 1500, 9000, 9750, 10500, 11250)},
		{"times within a bin", at(100, 2900), at(0, 1500)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			Spread(tt.in)
			if d := cmp.Diff(tt.want, tt.in); d != "" {
				t.Errorf("times (-want +got):\n%s", d)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	first := map[string]uint32{}
	for _, id := range append(ids(5000), 1<<24, 1<<24+1, 1<<32-1) {
		b := AppendBlock(nil, id)
		if len(b) != BlockBytes {
			t.Fatalf("block %d has %d bytes, want %d", id, len(b), BlockBytes)
		}
		if string(b) != string(AppendBlock(nil, id)) {
			t.Fatalf("block %d is not always the same", id)
		}
		if id < 1<<24 {
			if other, ok := first[string(b[:TokenBytes])]; ok {
				t.Fatalf("blocks %d and %d have the first token in common", id, other)
			}
			first[string(b[:TokenBytes])] = id
		}
	}
}

func ids(n uint32) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = uint32(i)
	}
	return v
}

// Blocks must share no aligned token by position, or two different blocks could look alike to a coarser cache.
func TestBlocksShareLittle(t *testing.T) {
	a, b := AppendBlock(nil, 0), AppendBlock(nil, 1)
	same := 0
	for i := 0; i < BlockBytes; i += TokenBytes {
		if string(a[i:i+TokenBytes]) == string(b[i:i+TokenBytes]) {
			same++
		}
	}
	if same > 1 {
		t.Errorf("%d of %d tokens are equal", same, BlockTokens)
	}
}

func TestAppendChat(t *testing.T) {
	r := Request{InputTokens: 700, OutputTokens: 9, Blocks: []uint32{0, 3}}
	var doc struct {
		Model     string
		Messages  []struct{ Role, Content string }
		MaxTokens int `json:"max_tokens"`
		Stream    bool
		Options   struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(r.AppendChat(nil, "m"), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Messages) != 1 || doc.Messages[0].Content != string(r.AppendPrompt(nil)) {
		t.Fatal("the message is not the prompt")
	}
	if n := len(doc.Messages[0].Content); n != 700*TokenBytes {
		t.Errorf("prompt has %d bytes, want %d", n, 700*TokenBytes)
	}
	if doc.Model != "m" || doc.MaxTokens != 9 || !doc.Stream || !doc.Options.Usage || doc.Messages[0].Role != "user" {
		t.Errorf("body is wrong: model %q, max_tokens %d, stream %v", doc.Model, doc.MaxTokens, doc.Stream)
	}
	same := Request{InputTokens: 600, OutputTokens: 0, Blocks: []uint32{0, 4}}
	a, b := string(r.AppendPrompt(nil)), string(same.AppendPrompt(nil))
	if a[:BlockBytes] != b[:BlockBytes] || a[BlockBytes:BlockBytes+4] == b[BlockBytes:BlockBytes+4] {
		t.Error("prompts must be equal in block 0 and differ from the first token after it")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(twoLines)
	f.Add("{}\n[]\n")
	f.Fuzz(func(t *testing.T, in string) {
		reqs, err := Read(strings.NewReader(in), 100)
		if err != nil {
			return
		}
		Spread(reqs)
		for i, r := range reqs {
			if i > 0 && r.At < reqs[i-1].At {
				t.Errorf("request %d is out of order after Spread", i)
			}
			if len(r.Blocks) != (r.InputTokens+BlockTokens-1)/BlockTokens {
				t.Errorf("request %d has %d blocks for %d tokens", i, len(r.Blocks), r.InputTokens)
			}
		}
	})
}
