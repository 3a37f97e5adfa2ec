package scan

import (
	"strings"
	"testing"
)

// chunk is what the filter reads from the host at once.
const chunk = 64 << 10

// benchSource hands out the body without copying it.
type benchSource []byte

func (b benchSource) Body(off, limit int) []byte { return b[off:min(len(b), off+limit)] }

// benchBody returns a chat body of about size bytes.
func benchBody(size int, escaped, toolsLast bool) []byte {
	line := "The quick brown fox jumps over the lazy dog, then rests a bit"
	if escaped {
		line = line[:60] + `\n`
	}
	var b strings.Builder
	tools := `"tools":[{"type":"function","function":{"name":"lookup","description":"Look it up","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}]`
	b.WriteString(`{"model":"meta-llama/Llama-3.1-8B-Instruct",`)
	if !toolsLast {
		b.WriteString(tools + ",")
	}
	b.WriteString(`"messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"`)
	for b.Len() < size-200 {
		b.WriteString(line)
	}
	b.WriteString(`"}],"stream":true,"max_tokens":256`)
	if toolsLast {
		b.WriteString("," + tools)
	}
	b.WriteString("}")
	return []byte(b.String())
}

// scanBench scans a body in the chunks that the filter reads.
func scanBench(s *Scanner, src *benchSource) Result {
	s.Reset(Chat, 64, 2048)
	for rest := []byte(*src); len(rest) > 0; {
		n := min(len(rest), chunk)
		s.Write(rest[:n], src)
		rest = rest[n:]
	}
	return s.Finish(src)
}

func BenchmarkScan(b *testing.B) {
	for _, text := range []string{"plain", "escaped"} {
		for _, order := range []string{"canonical", "tools_last"} {
			for _, size := range []string{"0.6KB", "6KB", "60KB", "400KB"} {
				n := map[string]int{"0.6KB": 600, "6KB": 6000, "60KB": 60_000, "400KB": 400_000}[size]
				b.Run(text+"/"+order+"/"+size, func(b *testing.B) {
					src := benchSource(benchBody(n, text == "escaped", order == "tools_last"))
					var s Scanner
					b.SetBytes(int64(len(src)))
					b.ReportAllocs()
					for b.Loop() {
						if r := scanBench(&s, &src); r != OK {
							b.Fatal(r)
						}
					}
				})
			}
		}
	}
}

func BenchmarkPlainLen(b *testing.B) {
	text := []byte(strings.Repeat("abcdefghij klmnop qrstuv", stretch/24))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if plainLen(text) != len(text) {
			b.Fatal("found a quote")
		}
	}
}

func BenchmarkUnescape(b *testing.B) {
	text := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog, then rests a bi\\n", stretch/62))
	dst := make([]byte, stretch+64)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if read, _ := unescape(dst, text); read < len(text)-8 {
			b.Fatal("stopped early")
		}
	}
}
