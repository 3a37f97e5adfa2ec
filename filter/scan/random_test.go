package scan

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// generator writes bodies that are valid JSON with the keys of a request in any order, number and nesting.
type generator struct {
	rng *rand.Rand
	b   strings.Builder
}

func (g *generator) pick(from ...string) string { return from[g.rng.IntN(len(from))] }

func (g *generator) space() {
	if g.rng.IntN(4) == 0 {
		g.b.WriteString(g.pick(" ", "\n", "\t ", "\r\n"))
	}
}

// list writes up to most elements between two brackets.
func (g *generator) list(open, end string, most int, elem func()) {
	g.b.WriteString(open)
	for i := range g.rng.IntN(most + 1) {
		if i > 0 {
			g.b.WriteString(",")
		}
		g.space()
		elem()
		g.space()
	}
	g.b.WriteString(end)
}

// members writes an object with keys of these, some of them several times.
func (g *generator) members(keys []string, val func(key string)) {
	g.list("{", "}", len(keys)+1, func() {
		k := keys[g.rng.IntN(len(keys))]
		g.b.WriteByte('"')
		if g.rng.IntN(10) == 0 {
			g.b.WriteString(`\u00` + string("0123456789abcdef"[k[0]>>4]) + string("0123456789abcdef"[k[0]&15]) + k[1:])
		} else {
			g.b.WriteString(k)
		}
		g.b.WriteByte('"')
		g.space()
		g.b.WriteByte(':')
		g.space()
		val(k)
	})
}

func (g *generator) text() {
	g.b.WriteByte('"')
	for range g.rng.IntN(12) {
		g.b.WriteString(g.pick("", "a", "plain words here ", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d`, `\ude00`, `\ud83d\ude00`, "ü€😀",
			"\u2028", "<&>", `\u0000`, `{\"role\":`, strings.Repeat("long run of text ", 1+g.rng.IntN(40))))
	}
	g.b.WriteByte('"')
}

func (g *generator) number() {
	g.b.WriteString(g.pick("0", "7", "-1", "1.50", "2e3", "4294967295", "4294967296", "12345678901234567890123"))
}

// any writes a value of any type.
func (g *generator) any(depth int) {
	switch n := g.rng.IntN(8); {
	case n < 2 && depth > 0:
		g.members([]string{"role", "b", "text", "model"}, func(string) { g.any(depth - 1) })
	case n < 4 && depth > 0:
		g.list("[", "]", 3, func() { g.any(depth - 1) })
	case n < 6:
		g.text()
	case n == 6:
		g.number()
	default:
		g.b.WriteString(g.pick("true", "false", "null"))
	}
}

// usually writes by f, but a value of another type now and then.
func (g *generator) usually(f func()) {
	if g.rng.IntN(40) == 0 {
		g.any(2)
		return
	}
	f()
}

func (g *generator) messages() {
	g.list("[", "]", 4, func() {
		g.usually(func() {
			g.members([]string{"role", "content", "name"}, func(k string) {
				if k == "content" && g.rng.IntN(2) == 0 {
					g.usually(g.parts)
					return
				}
				g.usually(g.text)
			})
		})
	})
}

func (g *generator) parts() {
	g.list("[", "]", 3, func() {
		g.usually(func() {
			g.members([]string{"type", "text", "x"}, func(k string) {
				if k == "type" {
					g.b.WriteString(g.pick(`"text"`, `"\u0074ext"`, `"image_url"`, `"text"`))
					return
				}
				g.usually(g.text)
			})
		})
	})
}

func (g *generator) prompt() {
	switch g.rng.IntN(3) {
	case 0:
		g.text()
	case 1:
		g.list("[", "]", 4, func() { g.usually(g.text) })
	default:
		g.list("[", "]", 200, func() { g.b.WriteString(g.pick("0", "17", "4294967295", "31999", "128000")) })
	}
}

func (g *generator) body() string {
	g.b.Reset()
	g.members([]string{"model", "messages", "tools", "prompt", "stream", "max_tokens", "max_completion_tokens", "cache_salt", "x"},
		func(k string) {
			switch k {
			case "messages":
				g.usually(g.messages)
			case "prompt":
				g.usually(g.prompt)
			case "model", "cache_salt":
				g.usually(g.text)
			default:
				g.any(4)
			}
		})
	return g.b.String()
}

// TestRandomBodies compares the scanner with encoding/json on bodies that the fuzzer would take long to come upon.
func TestRandomBodies(t *testing.T) {
	g := generator{rng: rand.New(rand.NewPCG(7, 7))}
	var s Scanner
	results := map[Result]int{}
	for i := range 8_000 {
		text, limit := g.body(), 1+g.rng.IntN(3000)
		api := API(i % 2)
		got := scanIn(&s, api, text, func() int { return g.rng.IntN(limit) })
		results[got.Result]++
		if checkOracle(t, api, text, got); t.Failed() {
			return
		}
	}
	if results[OK] < 1000 || results[NoPrompt] == 0 || results[NoModel] == 0 || results[FieldTooBig] == 0 {
		t.Errorf("bodies too much alike: %v", results)
	}
}
