package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/blockhash"
)

// seedOf returns the start of the chain of o.
func seedOf(o outcome) uint64 { return blockhash.Seed([]byte(o.Model), []byte(o.Salt)) }

func TestSameChain(t *testing.T) {
	const (
		usual = `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"messages":[{"role":"system","content":"be"},{"role":"user","content":"hello"}]}`
		plain = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
	)
	for _, tt := range []struct{ name, a, b string }{
		{"tools after messages", usual, `{"messages":[{"role":"system","content":"be"},{"role":"user","content":"hello"}],"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}`},
		{"tools in another order and layout", usual, `{"model":"m","tools":[ { "function" : {"parameters":{ },"n\u0061me":"f"}, "type":"function"}],"messages":[{"role":"system","content":"be"},{"role":"user","content":"hello"}]}`},
		{"content before role", usual, `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"messages":[{"content":"be","role":"system"},{"content":"hello","role":"user"}]}`},
		{"all of it", usual, `{"messages":[{"content":[{"text":"be","type":"text"}],"role":"system"},{"content":[{"text":"hel","type":"text"},{"text":"lo","type":"text"}],"role":"user"}],"tools":[{"function":{"parameters":{},"name":"f"},"type":"function"}],"model":"m"}`},
		{"one text part", plain, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}`},
		{"escapes", plain, `{"model":"\u006d","messages":[{"role":"us\u0065r","content":"h\u0065llo"}]}`},
		{"empty tools", plain, `{"model":"m","messages":[{"role":"user","content":"hello"}],"tools":[]}`},
		{"no tools", plain, `{"model":"m","tools":null,"messages":[{"role":"user","content":"hello"}]}`},
		{"part of no text", plain, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"hello"}]}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(scanSplits(t, Chat, tt.a), scanSplits(t, Chat, tt.b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOtherChain(t *testing.T) {
	const usual = `{"model":"m","tools":[{"a":1}],"messages":[{"role":"user","content":"hello"}]}`
	for _, tt := range []struct{ name, body string }{
		{"model", `{"model":"n","tools":[{"a":1}],"messages":[{"role":"user","content":"hello"}]}`},
		{"salt", `{"model":"m","cache_salt":"s","tools":[{"a":1}],"messages":[{"role":"user","content":"hello"}]}`},
		{"tools", `{"model":"m","tools":[{"a":2}],"messages":[{"role":"user","content":"hello"}]}`},
		{"number written differently", `{"model":"m","tools":[{"a":1.0}],"messages":[{"role":"user","content":"hello"}]}`},
		{"no tools", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`},
		{"role", `{"model":"m","tools":[{"a":1}],"messages":[{"role":"system","content":"hello"}]}`},
		{"NUL", `{"model":"m","tools":[{"a":1}],"messages":[{"role":"user","content":"hel\u0000o"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := scanSplits(t, Chat, usual), scanSplits(t, Chat, tt.body)
			if a.Result != OK || b.Result != OK {
				t.Fatalf("results %d and %d, want OK", a.Result, b.Result)
			}
			if seedOf(a) == seedOf(b) && slices.Equal(a.IDs, b.IDs) && a.Tokens == b.Tokens {
				t.Errorf("same chain as %s", usual)
			}
		})
	}
}

func TestDepth(t *testing.T) {
	nest := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	request := func(x string) string { return `{"x":` + x + `,"model":"m","messages":[{"role":"u"}]}` }
	for _, tt := range []struct {
		name string
		body string
		want Result
	}{
		{"deepest arrays", request(nest("[", "]", MaxDepth-1)), OK},
		{"arrays too deep", request(nest("[", "]", MaxDepth)), TooDeep},
		{"objects too deep", request(nest(`{"a":`, "}", MaxDepth)), TooDeep},
		{"brackets in a string", request(`"` + nest("[", "]", MaxDepth) + `"`), OK},
		{"deepest in a message", `{"model":"m","messages":[{"role":"u","x":` + nest("[", "]", MaxDepth-3) + `}]}`, OK},
		{"too deep in a message", `{"model":"m","messages":[{"role":"u","x":` + nest("[", "]", MaxDepth-2) + `}]}`, TooDeep},
		{"too deep in an element", `{"model":"m","messages":[` + nest("[", "]", MaxDepth-1) + `]}`, TooDeep},
		{"too deep and cut off", `{"x":` + strings.Repeat("[", 2*MaxDepth), TooDeep},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := scanSplits(t, Chat, tt.body); got.Result != tt.want {
				t.Errorf("Result = %d, want %d", got.Result, tt.want)
			}
		})
	}
}

// TestTokenLists gives lists of token ids with something else in or behind them.
func TestTokenLists(t *testing.T) {
	many := strings.Repeat(",7", 3000)
	for _, tt := range []struct {
		name, fields string
		want         Result
	}{
		{"text in between", `"prompt":[1,"abc"` + many + `]`, NoPrompt},
		{"escape in between", `"prompt":[1,"\n"` + many + `]`, NoPrompt},
		{"text first", `"prompt":["abc"` + many + `]`, NoPrompt},
		{"object in between", `"prompt":[1,{"a":"abc"}` + many + `]`, NoPrompt},
		{"text behind another list", `"prompt":[1],"prompt":[2,"abc"` + many + `]`, NoPrompt},
		{"number behind", `"prompt":[1,2],"max_tokens":3`, OK},
		{"second number behind", `"prompt":[1,2],"max_tokens":3,4`, NotJSON},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := scanSplits(t, Completions, `{"model":"m",`+tt.fields+`}`); got.Result != tt.want {
				t.Errorf("Result = %d, want %d", got.Result, tt.want)
			}
		})
	}
}

func TestFieldLimits(t *testing.T) {
	long := strings.Repeat("x", MaxField)
	for _, tt := range []struct {
		name, fields string
		want         Result
	}{
		{"longest model", `"model":"` + long + `"`, OK},
		{"model too long", `"model":"` + long + `x"`, FieldTooBig},
		{"salt too long", `"model":"m","cache_salt":"` + long + `x"`, FieldTooBig},
		{"salt too long is replaced", `"model":"m","cache_salt":"` + long + `x","cache_salt":"s"`, OK},
		{"long key", `"model":"m","` + long + `":1`, OK},
		{"key that begins like one of ours", `"model":"m","model":"m","modelx":"n"`, OK},
		{"long number", `"model":"m","max_tokens":` + strings.Repeat("9", 5000), OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := scanSplits(t, Completions, `{`+tt.fields+`,"prompt":"x"}`); got.Result != tt.want {
				t.Errorf("Result = %d, want %d", got.Result, tt.want)
			}
		})
	}
}

func TestTools(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	request := func(tools string) string {
		return `{"model":"m","tools":` + tools + `,"messages":[{"role":"u","content":"x"}]}`
	}
	many := func(n int) string { // members in falling order
		var b strings.Builder
		for i := n; i > 0; i-- {
			b.WriteString(`,"k` + hex16(uint64(i))[8:] + `":0`)
		}
		return "[{" + b.String()[1:] + "}]"
	}
	for _, tt := range []struct {
		name, tools string
		verbatim    bool
	}{
		{"small", `[{"b":1,"a":2}]`, false},
		{"deepest", nest(maxToolsDepth), false},
		{"too deep", nest(maxToolsDepth + 1), true},
		{"across windows", `[{"z":"` + strings.Repeat(`<\n`, 50_000) + `","a":0}]`, false},
		{"largest", `["` + strings.Repeat("x", maxToolsBytes-4) + `"]`, false},
		{"too large", `["` + strings.Repeat("x", maxToolsBytes-3) + `"]`, true},
		{"most members", many(maxToolsMembers - 1), false},
		{"too many members", many(maxToolsMembers + 1), true},
		{"too long once escaped", `["` + strings.Repeat("<", maxToolsBytes/2) + `",[1]]`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := request(tt.tools)
			var s Scanner
			want := outcome{Model: "m"}
			prompt, _ := toolsBytes([]byte(tt.tools))
			if tt.verbatim {
				prompt = []byte(tt.tools)
			}
			want.addPrompts([][]byte{append(prompt, "ux"...)})
			for _, n := range []int{len(text), chunk} {
				got := scanIn(&s, Chat, text, func() int { return n })
				if !equal(got, want) {
					t.Errorf("chunks of %d: result %d, %d tokens, want 0, %d; ids equal: %v", n, got.Result, got.Tokens, want.Tokens, slices.Equal(got.IDs, want.IDs))
				}
				if s.ToolsVerbatim() != tt.verbatim {
					t.Errorf("ToolsVerbatim = %v", s.ToolsVerbatim())
				}
			}
		})
	}
}

func TestInvalidUTF8PassesThrough(t *testing.T) {
	got := scanSplits(t, Completions, "{\"model\":\"m\",\"prompt\":\"a\xff\xc3\"}")
	want := outcome{Model: "m"}
	want.addPrompts([][]byte{[]byte("a\xff\xc3")})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// forgetful is a Source that has nothing.
type forgetful struct{}

func (forgetful) Body(int, int) []byte { return nil }

func TestUnreadable(t *testing.T) {
	const late = `{"model":"m","messages":[{"role":"u","content":"x"}],"tools":[1]}`
	for name, src := range map[string]Source{"no source": nil, "source without bytes": forgetful{}} {
		t.Run(name, func(t *testing.T) {
			var s Scanner
			s.Reset(Chat, testBlock, noCap)
			s.Write([]byte(late), src)
			if got := s.Finish(src); got != Unreadable {
				t.Errorf("Finish = %d, want Unreadable", got)
			}
			if len(s.IDs()) != 0 || string(s.Model()) != "m" {
				t.Errorf("ids %v, model %q; want none and m", s.IDs(), s.Model())
			}
		})
	}
}

func TestCap(t *testing.T) {
	src := &body{b: []byte(`{"model":"m","prompt":"` + strings.Repeat("x", 1000) + `"}`)}
	var s Scanner
	s.Reset(Completions, testBlock, 2)
	src.write(&s, len(src.b))
	if r := s.Finish(src); r != OK || len(s.IDs()) != 2 || !s.Capped() || s.Tokens() != 250 {
		t.Errorf("result %d, %d ids, capped %v, %d tokens; want OK, 2, true, 250", r, len(s.IDs()), s.Capped(), s.Tokens())
	}
}

// TestSourceCalls bounds what reading again costs: nothing for a body in the usual order, and at most one window more than
// the body has for one whose tools come last.
func TestSourceCalls(t *testing.T) {
	for _, tt := range []struct {
		name      string
		toolsLast bool
		want      int
	}{
		{"usual order", false, 0},
		{"tools last", true, 400_000/maxWindow + 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := &body{b: benchBody(400_000, true, tt.toolsLast)}
			var s Scanner
			s.Reset(Chat, testBlock, noCap)
			for src.given < len(src.b) {
				src.write(&s, min(chunk, len(src.b)-src.given))
			}
			if r := s.Finish(src); r != OK || src.calls > tt.want {
				t.Errorf("result %d after %d calls, want OK after at most %d", r, src.calls, tt.want)
			}
		})
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	sources := map[string]benchSource{
		"usual order": benchBody(60_000, true, false),
		"tools last":  benchBody(200_000, true, true),
		"content before role, equal keys": benchSource(`{"tools":[{"b":1,"a":{"d":1,"c":2}}],"model":"m","messages":[` +
			`{"content":[{"text":"x","type":"text"}],"role":"u"},{"role":"u","role":"v","content":"y"}],"tools":[{"z":1,"y":{"d":1,"c":2}}]}`),
		"broken": benchSource(`{"model":"m","messages":[`),
	}
	var s Scanner
	for name, src := range sources {
		if n := testing.AllocsPerRun(50, func() { scanBench(&s, &src) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}
