package scrape

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// adapters returns the hashes of names.
func adapters(names ...string) []uint64 {
	var out []uint64
	for _, n := range names {
		out = append(out, xxhash.Sum64String(n))
	}
	return out
}

func TestLoRA(t *testing.T) {
	const gauge = "vllm:num_requests_waiting 0\n"
	series := func(limit, running, waiting, value string) string {
		return `vllm:lora_requests_info{max_lora="` + limit + `",running_lora_adapters="` + running + `",waiting_lora_adapters="` + waiting + `"} ` + value + "\n"
	}
	old := &LoRA{Max: 2, Active: adapters("old")}
	var crowd []string
	for i := range maxAdapters + 10 {
		crowd = append(crowd, "adapter-"+strconv.Itoa(i))
	}
	tests := []struct {
		name, page string
		old, want  *LoRA
	}{
		{name: "never told", page: ""},
		{name: "family is gone", old: old, want: old},
		{name: "none loaded", page: series("4", "", "", "1.7e9"), old: old, want: &LoRA{Max: 4}},
		{name: "lists", page: series("4", "sql,chat", "code", "1.7e9"), want: &LoRA{Max: 4, Active: adapters("sql", "chat"), Waiting: adapters("code")}},
		{name: "blanks, empties and doubles", page: series("4", " sql ,, chat,sql,", ",", "1.7e9"), want: &LoRA{Max: 4, Active: adapters("sql", "chat")}},
		{name: "in use and waited for", page: series("1", "sql", "sql,code", "1.7e9"), want: &LoRA{Max: 1, Active: adapters("sql"), Waiting: adapters("sql", "code")}},
		{
			name: "the youngest of several series", page: series("4", "a", "", "1.70000001e9") + series("4", "b", "c", "1.70000003e9") + series("4", "d", "", "1.70000002e9"),
			want: &LoRA{Max: 4, Active: adapters("b"), Waiting: adapters("c")},
		},
		{name: "limit that is no number", page: series("None", "a", "", "1"), want: &LoRA{Active: adapters("a")}},
		{name: "limit out of range", page: series("70000", "a", "", "1"), want: &LoRA{Active: adapters("a")}},
		{name: "labels are missing", page: "vllm:lora_requests_info 1\n", old: old, want: &LoRA{}},
		{name: "escapes", page: series("4", `a\"b,c\\d`, "", "1"), want: &LoRA{Max: 4, Active: adapters(`a"b`, `c\d`)}},
		{name: "a crowd", page: series("4", strings.Join(crowd, ","), "", "1"), want: &LoRA{Max: 4, Active: adapters(crowd[:maxAdapters]...)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reading("vllm", Metrics{LoRA: tt.old})
			if err := l.update([]byte(gauge + tt.page)); err != nil {
				t.Fatal(err)
			}
			got := l.sample.LoRA
			if d := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
			if err := l.update([]byte(gauge + tt.page)); err != nil || l.sample.LoRA != got {
				t.Errorf("the same page gives another list, error %v", err)
			}
		})
	}
	if d := cmp.Diff(&LoRA{Max: 2, Active: adapters("old")}, old); d != "" {
		t.Errorf("a list that was given away has changed: %s", d)
	}
}

// TestLoRAAllocatesNothing reads a real page with adapters again and again.
func TestLoRAAllocatesNothing(t *testing.T) {
	page, err := os.ReadFile("testdata/vllm_lora.txt")
	if err != nil {
		t.Fatal(err)
	}
	l := reading("vllm", Metrics{})
	if n := testing.AllocsPerRun(20, func() {
		if err := l.update(page); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	want := Metrics{
		Waiting: 1, Running: 2, KVUsage: 0.0625, BlockSize: 16, NumBlocks: 2048,
		LoRA: &LoRA{Max: 2, Active: adapters("sql-lora", "chat-lora"), Waiting: adapters("code-lora")},
	}
	if d := cmp.Diff(want, l.sample.Metrics); d != "" {
		t.Error(d)
	}
}
