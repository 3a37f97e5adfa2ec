package scan

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/blockhash"
)

// cases are bodies of every form; oracle_test.go says what they yield, and some are pinned in TestVectors too.
var cases = []struct {
	name string
	api  API
	body string
	want Result
}{
	{"chat", Chat, `{"model":"m","messages":[{"role":"user","content":"hello world"}]}`, OK},
	{"all fields", Chat, `{"model":"m","stream":true,"max_tokens":5,"max_completion_tokens":7,"cache_salt":"s","messages":[{"role":"user","content":"x"}]}`, OK},
	{"white space", Chat, " {\t\"model\" : \"m\" ,\r\n\"messages\" : [ { \"role\" : \"user\" , \"content\" : [ { \"type\" : \"text\" , \"text\" : \"x\" } ] } ] } \n", OK},
	{"parts of all types", Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"ab"},{"type":"image_url","image_url":{"url":"u","text":"no"}},{"type":"input_text","text":"no"},{"text":"no"},{"type":"text"},{"type":null,"text":null},{"type":"text","text":"cd"},{}]}]}`, OK},
	{"null content, calls, name ignored", Chat, `{"model":"m","messages":[{"role":"assistant","name":"n","content":null,"tool_calls":[{"function":{"arguments":"{\"role\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`, OK},
	{"content before role", Chat, `{"model":"m","messages":[{"content":"hello","role":"user"},{"content":[{"text":"a","type":"text"}],"role":"user"},{"content":"c"}]}`, OK},
	{"text before type", Chat, `{"model":"m","messages":[{"role":"user","content":[{"text":"ab","type":"text"},{"text":"no","type":"x"}]}]}`, OK},
	{"tools", Chat, `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"b":[1.0,1e5,-0,true,null],"a":"<&>\u2028é\ud800\u0000\n\/\"\\","\u0061a":{}}}}],"messages":[{"role":"user","content":"hi"}]}`, OK},
	{"tools after messages", Chat, `{"messages":[{"role":"user","content":"hi"}],"model":"m","tools":[{"type":"function","function":{"name":"f"}}]}`, OK},
	{"empty tools", Chat, `{"model":"m","tools":[ ],"messages":[{"role":"user","content":"hi"}],"tools":null}`, OK},
	{"tools that are no array", Chat, `{"model":"m","tools":{"b":1,"a":2},"messages":[{"role":"user","content":"hi"}]}`, OK},
	{"equal keys in tools", Chat, `{"tools":[{"b":1,"a":2,"b":{"d":0,"c":0},"a":3}],"model":"m","messages":[{"role":"u"}]}`, OK},
	{"equal keys at the top", Chat, `{"model":1,"model":"m","stream":true,"stream":1,"max_tokens":4,"max_tokens":null,"cache_salt":"a","cache_salt":{},"messages":[{"role":"no"}],"messages":[{"role":"u","content":"x"}]}`, OK},
	{"equal keys, last messages of no use", Chat, `{"model":"m","messages":[{"role":"u","content":"x"}],"messages":0}`, NoPrompt},
	{"equal tools keys", Chat, `{"model":"m","tools":[1],"messages":[{"role":"u","content":"x"}],"tools":[2]}`, OK},
	{"equal keys in a message", Chat, `{"model":"m","messages":[{"role":"a","content":"no","role":"b","content":["no"],"content":[{"type":"no","text":"x","type":"text"}]}]}`, OK},
	{"equal keys in a part", Chat, `{"model":"m","messages":[{"role":"a","content":[{"type":"text","text":"x","text":"y"},{"text":1,"type":"text","text":"z","type":"image"}]}]}`, OK},
	{"escaped keys", Chat, `{"\u006dodel":"m","mess\u0061ges":[{"r\u006fle":"user","c\u006Fntent":"x"}]}`, OK},
	{"text that looks like fields", Chat, `{"model":"m","messages":[{"role":"user","content":"\",\"model\":\"evil\",\"messages\":[{\"role\":\"x\\"}]}`, OK},
	{"fields in other objects", Chat, `{"metadata":{"model":"no","messages":[{"role":"no"}],"cache_salt":"no"},"model":"m","messages":[{"role":"u","x":{"role":"no","content":"no"},"content":"c"}]}`, OK},
	{"escapes", Chat, `{"model":"\u006d\n","messages":[{"role":"user","content":"a\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00\u0000 end of it"}]}`, OK},
	{"lone surrogates", Chat, `{"model":"m","messages":[{"role":"user","content":"\ud800 \udc00 \ud800\ud800\udc00 \ud800\n\udfff\ud83d"},{"content":"\ud83d\u0041","role":"\ud83dx"}]}`, OK},
	{"no messages", Chat, `{"model":"m"}`, NoPrompt},
	{"empty messages", Chat, `{"model":"m","messages":[]}`, NoPrompt},
	{"messages of no use", Chat, `{"model":"m","messages":{"role":"user"}}`, NoPrompt},
	{"message of no use", Chat, `{"model":"m","messages":["hi"]}`, NoPrompt},
	{"role of no use", Chat, `{"model":"m","messages":[{"role":1,"content":"x"}]}`, NoPrompt},
	{"content of no use", Chat, `{"model":"m","messages":[{"role":"u","content":{"type":"text","text":"x"}}]}`, NoPrompt},
	{"part of no use", Chat, `{"model":"m","messages":[{"role":"u","content":["x"]}]}`, NoPrompt},
	{"prompt in a chat", Chat, `{"model":"m","prompt":"x"}`, NoPrompt},
	{"messages without text", Chat, `{"model":"m","messages":[{}]}`, OK},
	{"no model", Chat, `{"messages":[{"role":"user","content":"x"}]}`, NoModel},
	{"model of no use", Chat, `{"model":["m"],"messages":[{"role":"user","content":"x"}]}`, NoModel},
	{"model null", Completions, `{"model":null,"prompt":"x"}`, NoModel},
	{"counts of no use", Chat, `{"model":"m","max_tokens":12,"max_completion_tokens":1.5,"messages":[{"role":"u"}]}`, OK},
	{"large count", Chat, `{"model":"m","max_tokens":99999999999999999999999999999,"messages":[{"role":"u"}]}`, OK},
	{"negative count", Completions, `{"model":"m","max_tokens":-1,"max_completion_tokens":3,"prompt":"x"}`, OK},
	{"prompt", Completions, `{"model":"m","prompt":"hello world"}`, OK},
	{"prompts", Completions, `{"model":"m","prompt":["hello world","", "foo bar"]}`, OK},
	{"tokens", Completions, `{"model":"m","prompt":[1,2, 3 ,4294967295,0,12345678,  7]}`, OK},
	{"prompts of both kinds", Completions, `{"model":"m","prompt":[1,"a"]}`, NoPrompt},
	{"prompts of both kinds, text first", Completions, `{"model":"m","prompt":["a",1]}`, NoPrompt},
	{"nested tokens", Completions, `{"model":"m","prompt":[[1,2],[3,4]]}`, NoPrompt},
	{"fraction as token", Completions, `{"model":"m","prompt":[1,2.5]}`, NoPrompt},
	{"negative token", Completions, `{"model":"m","prompt":[1,-2,3]}`, NoPrompt},
	{"large token", Completions, `{"model":"m","prompt":[4294967296]}`, NoPrompt},
	{"null in prompts", Completions, `{"model":"m","prompt":[null]}`, NoPrompt},
	{"empty prompt", Completions, `{"model":"m","prompt":""}`, NoPrompt},
	{"no prompts", Completions, `{"model":"m","prompt":[]}`, NoPrompt},
	{"prompt of no use", Completions, `{"model":"m","prompt":7}`, NoPrompt},
	{"equal prompt keys", Completions, `{"prompt":["no","no"],"model":"m","prompt":"x"}`, OK},
	{"equal prompt keys, last one empty", Completions, `{"prompt":"no","model":"m","prompt":null}`, NoPrompt},
	{"empty object", Chat, `{}`, NoPrompt},
	{"empty", Chat, ``, NotJSON},
	{"array", Chat, `[{"model":"m"}]`, NotJSON},
	{"text", Chat, `no healthy upstream`, NotJSON},
	{"form data", Chat, "model=m&prompt=hello+world", NotJSON},
	{"multipart", Chat, "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b--\r\n", NotJSON},
	{"byte order mark", Chat, "\ufeff{}", NotJSON},
	{"second value", Chat, `{"model":"m"}{}`, NotJSON},
	{"misspelt literal", Chat, `{"stream":tru}`, NotJSON},
	{"missing comma", Chat, `{"model":"m" "stream":true}`, NotJSON},
	{"trailing comma", Completions, `{"model":"m","prompt":[1,]}`, NotJSON},
	{"bad escape", Chat, `{"model":"\x"}`, NotJSON},
	{"bad hex digit", Completions, `{"model":"m","prompt":"some text \u12g4 and more"}`, NotJSON},
	{"bad tools", Chat, `{"model":"m","tools":[{"a" 1}],"messages":[{"role":"u"}]}`, NotJSON},
	{"cut in a string", Chat, `{"model":"m","messages":[{"role":"user","content":"hel`, Truncated},
	{"cut in an escape", Completions, `{"model":"m","prompt":"\ud83d\u`, Truncated},
	{"cut before the end", Chat, `{"model":"m","messages":[{"role":"user","content":"x"}]`, Truncated},
	{"cut in tools", Chat, `{"model":"m","tools":[{"a":"`, Truncated},
}

func TestScan(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			got := scanSplits(t, tt.api, tt.body)
			if got.Result != tt.want {
				t.Errorf("Result = %d, want %d", got.Result, tt.want)
			}
			if want, ok := oracle(tt.api, []byte(tt.body)); ok {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("differs from encoding/json: %s", diff)
				}
			}
		})
	}
}

// chains returns the chain hashes that follow from the ids, without the salt.
func chains(t *testing.T, o outcome) []string {
	t.Helper()
	var out []string
	h := uint64(0)
	for i, hex := range o.IDs {
		if slices.Contains(o.Starts, int32(i)) {
			h = blockhash.Seed([]byte(o.Model), nil)
		}
		id, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		h = blockhash.Chain(h, id)
		out = append(out, hex16(h))
	}
	return out
}

// TestVectors pins chain hashes that the EPP itself computed, and the plain fields of a few bodies. The names are those of
// its conformance vectors.
func TestVectors(t *testing.T) {
	one := func(tokens int, ids ...string) outcome {
		return outcome{Model: "m", Tokens: tokens, IDs: ids, Starts: []int32{0}}
	}
	chat := func(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
	for _, tt := range []struct {
		name string
		api  API
		body string
		want outcome
	}{
		{"H5", Completions, `{"model":"m","prompt":"hello world"}`, one(3, "f6615699d17cb474")},
		{
			"H6", Completions, `{"model":"m","prompt":["hello world","foo bar"]}`,
			outcome{Model: "m", Tokens: 5, IDs: []string{"f6615699d17cb474", "d4bdd50606596164"}, Starts: []int32{0, 1}},
		},
		{"H7", Completions, `{"model":"m","prompt":[1,2,3]}`, one(3, "b08219709bfa65f7")},
		{"H8 nested", Completions, `{"model":"m","prompt":[[1,2],[3,4]]}`, outcome{Result: NoPrompt, Model: "m"}},
		{"H8 empty", Completions, `{"model":"m","prompt":""}`, outcome{Result: NoPrompt, Model: "m"}},
		{"H9", Completions, `{"model":"m","prompt":"hi"}`, one(1, "5bee1f62236b0fad")},
		{"H10", Chat, chat(`{"role":"user","content":"hello world"}`), one(4, "513e3ca7339696fb")},
		{"H11", Chat, chat(`{"role":"system","content":"S"},{"role":"user","content":"U"}`), one(3, "8a751eb7a23e861b")},
		{"H12", Chat, `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"hi"}]}`, one(13, "5d5472e4019c91ae")},
		{"H13", Chat, chat(`{"role":"user","content":[{"type":"text","text":"ab"},{"type":"text","text":"cd"}]}`), one(2, "e905962b3c09409f")},
		{"H15", Chat, chat(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"}`), one(4, "633fd2f6278ef079")},
		{"H16", Chat, chat(`{"role":"user","content":"hello"}`), one(3, "7a45a29696c8f832")},
		{
			"fields", Chat, `{"model":"\u006d","stream":true,"max_tokens":5,"max_completion_tokens":7,"cache_salt":"s\"","messages":[{"role":"user","content":"hello"}]}`,
			outcome{Model: "m", Salt: `s"`, Stream: true, MaxTokens: 7, Tokens: 3, IDs: []string{"7a45a29696c8f832"}, Starts: []int32{0}},
		},
		{
			"fields without a model", Chat, `{"stream":true,"max_tokens":5,"messages":[{"role":"user","content":"hello"}]}`,
			outcome{Result: NoModel, Stream: true, MaxTokens: 5},
		},
		{"fields of a broken body", Chat, `{"model":"m","stream":true,"messages":[{]`, outcome{Result: NotJSON, Model: "m", Stream: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := scanSplits(t, tt.api, tt.body)
			got.IDs = chains(t, got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
