package conformance

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/e2e/schedbed"
	"github.com/zerohop/zerohop/filter/scan"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/blockhash"
)

// chain returns the chain hashes of prompts of token ids, one after the other.
func chain(model, salt string, block, maxBlocks int, prompts ...[]uint32) []uint64 {
	var b blockhash.Builder
	b.Reset(block, maxBlocks)
	for _, tokens := range prompts {
		for _, id := range tokens {
			b.WriteToken(id)
		}
		b.EndPrompt()
	}
	return chained(model, salt, b.IDs(), b.Starts())
}

func chained(model, salt string, ids []uint64, starts []int32) []uint64 {
	out := make([]uint64, len(ids))
	var h uint64
	for i, id := range ids {
		if slices.Contains(starts, int32(i)) {
			h = blockhash.Seed([]byte(model), []byte(salt))
		}
		h = blockhash.Chain(h, id)
		out[i] = h
	}
	return out
}

// tokens returns the ids 1 to n.
func tokens(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i + 1)
	}
	return out
}

// sameHashes returns an error if the hashes are not want, written in hexadecimal.
func sameHashes(got []uint64, want ...string) error {
	text := make([]string, len(got))
	for i, h := range got {
		text[i] = fmt.Sprintf("%016x", h)
	}
	if !slices.Equal(text, want) {
		return fmt.Errorf("hashes %v, want %v", text, want)
	}
	return nil
}

// source is a body that can be read again.
type source []byte

// Body implements scan.Source.
func (s source) Body(off, limit int) []byte {
	if off >= len(s) {
		return nil
	}
	return s[off:min(len(s), off+limit)]
}

// hashed returns a row of a body, whose prompts have so many tokens and these chain hashes.
func hashed(id, what string, api scan.API, body string, tokens int, want ...string) row {
	return row{id: id, what: what, check: func() error {
		var s scan.Scanner
		s.Reset(api, blockhash.MinBlockTokens, 0)
		s.Write([]byte(body), source(body))
		if r := s.Finish(source(body)); r != scan.OK {
			return fmt.Errorf("result %d", r)
		}
		return errors.Join(
			differ("tokens", s.Tokens(), tokens),
			sameHashes(chained(string(s.Model()), string(s.Salt()), s.IDs(), s.Starts()), want...),
		)
	}}
}

func hashRows() []row {
	chat := func(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
	prompt := func(p string) string { return `{"model":"m","prompt":` + p + `}` }
	const c, p = scan.Chat, scan.Completions
	return []row{
		{id: "H1", what: "XXH64", check: func() error {
			return sameHashes([]uint64{xxhash.Sum64String(""), blockhash.ID([]byte("a")), blockhash.ID([]byte("abc"))},
				"ef46db3751d8e999", "d24ec4f1a98c6e5b", "44bc2cf5ad770999")
		}},
		{id: "H2", what: "chain of three blocks, the last one short", check: func() error {
			return errors.Join(
				sameHashes([]uint64{blockhash.Seed([]byte("m"), nil)}, "ba2e567083a2b2e8"),
				sameHashes(chain("m", "", 4, 0, tokens(10)), "ff375b446cd15b25", "d0e13dbe79e3cd40", "6c0f38e4493e1b53"),
			)
		}},
		{id: "H3", what: "chain with a salt", check: func() error {
			return errors.Join(
				sameHashes([]uint64{blockhash.Seed([]byte("m"), []byte("salt"))}, "d91548f60ba19b9b"),
				sameHashes(chain("m", "salt", 2, 0, tokens(4)), "6b0e68c54f9ceac3", "f1433d4ff41f4429"),
			)
		}},
		{id: "H4", what: "chain of a text", check: func() error {
			var b blockhash.Builder
			b.Reset(64, 0)
			b.Write([]byte("hello"))
			b.EndPrompt()
			return errors.Join(
				sameHashes([]uint64{blockhash.Seed([]byte("model"), nil)}, "e1eeca7af8e0b529"), differ("tokens", b.Tokens(), 2),
				sameHashes(chained("model", "", b.IDs(), b.Starts()), "8ed89fdafca71579"),
			)
		}},
		hashed("H5", "completions, a string", p, prompt(`"hello world"`), 3, "f6615699d17cb474"),
		hashed("H6", "completions, two strings", p, prompt(`["hello world","foo bar"]`), 5, "f6615699d17cb474", "d4bdd50606596164"),
		hashed("H7", "completions, token ids", p, prompt(`[1,2,3]`), 3, "b08219709bfa65f7"),
		{id: "H8", what: "completions, lists of token ids, empty: 400, another text", status: deviation, ref: "N1", check: func() error {
			return errors.Join(
				badRequest(`{"model":"m","prompt":[[1,2],[3,4]]}`, "missing_prompt"), badRequest(`{"model":"m","prompt":""}`, "missing_prompt"),
			)
		}},
		hashed("H9", "completions, less than a token", p, prompt(`"hi"`), 1, "5bee1f62236b0fad"),
		hashed("H10", "chat", c, chat(`{"role":"user","content":"hello world"}`), 4, "513e3ca7339696fb"),
		hashed("H11", "chat, two messages", c, chat(`{"role":"system","content":"S"},{"role":"user","content":"U"}`), 3, "8a751eb7a23e861b"),
		hashed("H12", "chat, tools with sorted keys", c,
			`{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"hi"}]}`, 13, "5d5472e4019c91ae"),
		hashed("H13", "chat, text blocks", c, chat(`{"role":"user","content":[{"type":"text","text":"ab"},{"type":"text","text":"cd"}]}`), 2, "e905962b3c09409f"),
		hashed("H15", "chat, tool calls are left out", c, chat(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",`+
			`"function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"}`), 4, "633fd2f6278ef079"),
		hashed("H16", "chat, padded", c, chat(`{"role":"user","content":"hello"}`), 3, "7a45a29696c8f832"),
	}
}

// producer is a document whose index has these parameters.
func producer(params string) string {
	return header + "plugins:\n- {type: approx-prefix-cache-producer, parameters: {" + params + "}}\n- {type: prefix-cache-scorer}\n" +
		"schedulingProfiles: [{name: default, plugins: [{pluginRef: prefix-cache-scorer}]}]\n"
}

// blockSize returns an error if the scheduler does not cut prompts into blocks of want tokens.
func blockSize(params string, reported uint32, want int) error {
	b, err := schedbed.New([]byte(producer(params)), 1)
	if err == nil {
		err = b.Publish([]schedbed.Server{{Name: "ns/a", Address: "10.0.0.1:80", BlockSize: reported}})
	}
	if err != nil {
		return err
	}
	return differ("block size", b.BlockTokens(), want)
}

// caps returns an error if a prompt of four smallest blocks is not looked up for want of them.
func caps(params string, want int32) error {
	b, err := schedbed.New([]byte(producer("autoTune: false, blockSizeTokens: 64, "+params)), 1)
	if err == nil {
		err = b.Publish([]schedbed.Server{{Name: "ns/a", Address: "10.0.0.1:80"}})
	}
	if err != nil {
		return err
	}
	var d sched.Decision
	b.Decide(b.Now, promptOf(tokens64(1, 2, 3, 4)), &d)
	return named(params, differ("blocks", d.Total, want))
}

func blockRows() []row {
	count := func(id, what string, block, want int, prompts ...[]uint32) row {
		return row{id: id, what: what, check: func() error { return differ("blocks", len(chain("m", "", block, 0, prompts...)), want) }}
	}
	size := func(id, what, params string, reported uint32, want int) row {
		return row{id: id, what: what, check: func() error { return blockSize(params, reported, want) }}
	}
	return []row{
		count("HB1", "8 tokens in blocks of 4", 4, 2, tokens(8)),
		count("HB2", "10 tokens in blocks of 4", 4, 3, tokens(10)),
		count("HB3", "prompts of 3, 2, 1 tokens in blocks of 2", 2, 4, tokens(3), tokens(2), tokens(1)),
		{id: "HB4", what: "an empty prompt is skipped", check: func() error {
			return errors.Join(
				sameHashes(chain("m", "", 2, 0, tokens(2), nil, tokens(2)), hex(chain("m", "", 2, 0, tokens(2), tokens(2)))...),
				differ("blocks", len(chain("m", "", 2, 0, tokens(2), nil, tokens(2))), 2),
			)
		}},
		size("HB5", "engines report blocks of 16", "", 16, 64),
		size("HB6", "engines report blocks of 128", "", 128, 128),
		size("HB7", "configured blocks of 32", "autoTune: false, blockSizeTokens: 32", 128, 64),
		size("HB8", "nobody says a block size", "", 0, 64),
		count("HB9", "192 tokens in blocks of 128", 128, 2, tokens(192)),
		{id: "HB10", what: "caps in tokens, in blocks, none; in our smallest blocks", check: func() error {
			return errors.Join(
				caps("maxPrefixTokensToMatch: 128", 2), caps("maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 3", 3),
				caps("maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 0", 4),
			)
		}},
		{id: "HB11", what: "blockSize is an older name, and a block size of 0 is an error", check: func() error {
			c, err := load(producer("autoTune: false, blockSize: 24"))
			if err != nil {
				return err
			}
			return errors.Join(
				differ("block size", c.Prefix.BlockSizeTokens, 24),
				rejects(producer("autoTune: false, blockSizeTokens: 0"), "blockSizeTokens"),
			)
		}},
		{
			id: "HB12", what: "block counts of the precise index", status: notYet, ref: "precise-prefix-cache-producer",
			needs: []string{"precise-prefix-cache-producer"},
		},
	}
}

func hex(hashes []uint64) []string {
	out := make([]string, len(hashes))
	for i, h := range hashes {
		out[i] = fmt.Sprintf("%016x", h)
	}
	return out
}
