package simserver

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// defaultMaxLoRA is more than vLLM's 1, with which no two adapters are ever in use at once.
const defaultMaxLoRA = 4

// maxStates bounds the series of the page. vLLM's client library keeps one for every combination of labels that there was.
const maxStates = 16

// loraState knows which adapters have requests in flight. The engine itself treats adapters as models of their own.
type loraState struct {
	limit int

	mu     sync.Mutex
	using  []adapter   // in the order in which they came into use
	states []loraTimed // every combination that there was, each at its newest time; the newest last
}

type adapter struct {
	name     string
	requests int
}

type loraTimed struct {
	labels string
	at     time.Time
}

// enter notes a request for an adapter, and returns what notes its end.
func (l *loraState) enter(name string) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.using, func(a adapter) bool { return a.name == name })
	if i < 0 {
		i = len(l.using)
		l.using = append(l.using, adapter{name: name})
	}
	l.using[i].requests++
	l.note()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		i := slices.IndexFunc(l.using, func(a adapter) bool { return a.name == name })
		if l.using[i].requests--; l.using[i].requests == 0 {
			l.using = slices.Delete(l.using, i, i+1)
		}
		l.note()
	}
}

// note makes the present combination the newest. Adapters beyond the limit wait.
func (l *loraState) note() {
	var lists [2][]string
	for i, a := range l.using {
		waits := 0
		if i >= l.limit {
			waits = 1
		}
		lists[waits] = append(lists[waits], a.name)
	}
	labels := `{max_lora="` + strconv.Itoa(l.limit) + `",running_lora_adapters=` + strconv.Quote(strings.Join(lists[0], ",")) +
		`,waiting_lora_adapters=` + strconv.Quote(strings.Join(lists[1], ",")) + `}`
	l.states = slices.DeleteFunc(l.states, func(s loraTimed) bool { return s.labels == labels })
	if l.states = append(l.states, loraTimed{labels, time.Now()}); len(l.states) > maxStates {
		l.states = slices.Delete(l.states, 0, 1)
	}
}

// render appends the family to dst, oldest combinations last, so that a reader has to look at the values.
func (l *loraState) render(dst []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	dst = append(dst, "# HELP vllm:lora_requests_info Running stats on lora requests.\n# TYPE vllm:lora_requests_info gauge\n"...)
	for _, s := range slices.Backward(l.states) {
		dst = append(append(append(dst, "vllm:lora_requests_info"...), s.labels...), ' ')
		dst = strconv.AppendFloat(dst, float64(s.at.UnixMicro())/1e6, 'e', -1, 64)
		dst = append(dst, '\n')
	}
	return dst
}
