package lifecycletest

import (
	"math/rand/v2"
	"strings"

	"github.com/zerohop/zerohop/filter/hosttest"
)

// Mix returns a fixed set of 64 different requests for endurance runs, made from seed: chats and completions of 0.2 to
// 30 KB that share prefixes, garbage, requests without body, in chunks of several sizes, with trailers, retries, resets at
// every stage and streamed responses.
func Mix(seed uint64) []hosttest.Request {
	rnd := rand.New(rand.NewPCG(seed, 0))
	prefixes := []string{Text("alpha", 8000), Text("beta", 3000), Text("gamma", 600)}
	mix := make([]hosttest.Request, 64)
	for i := range mix {
		prompt := prefixes[rnd.IntN(len(prefixes))] + Text(string(rune('a'+i%26)), rnd.IntN(20_000)/(1+rnd.IntN(20)))
		mix[i] = mixed(i, prompt)
		decorate(rnd, i, &mix[i])
	}
	return mix
}

// mixed returns request i of the mix as it comes.
func mixed(i int, prompt string) hosttest.Request {
	switch i % 16 {
	case 0:
		return Models()
	case 1:
		return Chat(prompt) // not JSON
	case 2:
		body := ChatBody(prompt)
		return Chat(body[:len(body)/2]) // truncated
	case 3:
		return Chat(`{"model":"m","x":` + strings.Repeat("[", 2000))
	case 4:
		return Chat("")
	case 5, 6, 7:
		return Completions(CompletionsBody(prompt))
	case 8: // out of order, so that it is read again
		return Chat(`{"messages":[{"content":"` + prompt + `","role":"user"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"b":1,"a":[true,null]}}}],"model":"m"}`)
	case 9:
		return Chat(ChatBody(strings.ReplaceAll(prompt, ".", `.\n\u00e9\ud83d\ude00`)))
	case 10:
		return post("/v1/embeddings", ChatBody(prompt))
	case 11:
		return Forged(ForgedTrailers(Chat(ChatBody(prompt))))
	}
	return Chat(ChatBody(prompt))
}

// decorate decides how request i arrives and what happens to it.
func decorate(rnd *rand.Rand, i int, r *hosttest.Request) {
	r.Chunk = []int{0, 16 << 10, 4 << 10, 700}[rnd.IntN(4)]
	switch i % 7 {
	case 1:
		r.EmptyEnd = true
	case 2:
		r.Trailers = hosttest.Pairs("x-checksum", "1")
	case 3:
		r.DownstreamFirst = true
	}
	if i%5 == 1 {
		r.Reset = hosttest.Stage(1 + rnd.IntN(int(hosttest.Responded)))
	}
	fails, chunks := 0, 1+rnd.IntN(6)
	if i%9 == 4 {
		fails = 1 + rnd.IntN(2)
	}
	status, cut := 200, 0
	switch i % 11 {
	case 6:
		status = 500
	case 7:
		cut = 1
	case 8:
		chunks = 0
	}
	r.Reply = func(_ string, attempt int) hosttest.Reply {
		if attempt < fails {
			return hosttest.Reply{Fail: true}
		}
		return hosttest.Reply{Status: status, Chunks: chunks, Cut: cut}
	}
}
