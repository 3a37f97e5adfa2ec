package sessionaffinity

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/agentidentity"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/scorers/sessionidproducer"
	"github.com/zerohop/zerohop/shared/plan"
)

const second = 1e9

// spec is a plugin type that does nothing but choose.
var spec = scorers.Spec{
	Type: "choose", Params: Params, Consumes: Consumes,
	New: func(u *scorers.Setup) (any, error) {
		if ByID(u) {
			b, err := NewBindings(u)
			return &byID{b}, err
		}
		t, err := NewToken(u)
		return &byToken{t}, err
	},
}

type (
	byToken struct{ *Token }
	byID    struct{ *Bindings }
)

func text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

func number(name string, value float64) plan.Param { return plan.Param{Name: name, Num: value} }

// ids are parameters of the strategy session_id.
func ids(more ...plan.Param) plan.Params {
	return append(plan.Params{text(paramStrategy, strategyID)}, more...)
}

func bedWith(t testing.TB, conf plugintest.Config, params plan.Params, names ...string) *plugintest.Bed {
	t.Helper()
	b, err := plugintest.NewWith(conf, &spec, params, endpoints(names...), plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bed(t testing.TB, params plan.Params, names ...string) *plugintest.Bed {
	t.Helper()
	return bedWith(t, plugintest.Config{}, params, names...)
}

func endpoints(names ...string) []plugintest.EP {
	eps := make([]plugintest.EP, len(names))
	for i := range eps {
		eps[i].Name = "ns/" + names[i]
	}
	return eps
}

// choose begins a request with the given headers and returns the index of what is chosen among the endpoints.
func choose(b *plugintest.Bed, header, value string) int {
	b.Cycle.Now++
	b.Request(plugintest.Req{Headers: map[string]string{header: value}})
	return b.Plugin.(interface {
		Choose(c *scorers.Cycle, cand []int32) int
	}).Choose(&b.Cycle, b.Candidates())
}

func token(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }

func TestToken(t *testing.T) {
	long := strings.Repeat("n", maxName-3)
	b := bed(t, nil, "a", "b", long, long+"x")
	tests := []struct {
		name, value string
		want        int
	}{
		{"first", token("ns/a"), 0},
		{"second", token("ns/b"), 1},
		{"blanks around it", " " + token("ns/b") + "\t", 1},
		{"longest name", token("ns/" + long), 2},
		{"too long", token("ns/" + long + "x"), -1},
		{"endpoint that has gone", token("ns/c"), -1},
		{"no namespace", token("a"), -1},
		{"garbage", "%%%%", -1},
		{"not encoded", "ns/a", -1},
		{"cut", token("ns/a")[:5], -1},
		{"alphabet of URLs", strings.NewReplacer("+", "-", "/", "_").Replace(token("ns/\xff\xfe")), -1},
		{"no padding", strings.TrimRight(token("ns/a"), "="), -1},
		{"padding only", "====", -1},
		{"padding amid", "bn==L2E=", -1},
		{"empty", "", -1},
	}
	for _, tt := range tests {
		if got := choose(b, "x-session-token", tt.value); got != tt.want {
			t.Errorf("%s: chose %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := choose(b, "x-other", token("ns/a")); got != -1 {
		t.Errorf("no header: chose %d", got)
	}
}

func TestTokenOfTheResponse(t *testing.T) {
	b := bed(t, plan.Params{text(paramHeader, " X-Sticky ")}, "a", "b")
	got := b.Served(1)
	if len(got) != 1 || got["x-sticky"] != token("ns/b") {
		t.Fatalf("headers %v", got)
	}
	if i := choose(b, "x-sticky", got["x-sticky"]); i != 1 {
		t.Errorf("the token of 1 chooses %d", i)
	}
	if got := bed(t, nil, "a").Served(0); got["x-session-token"] != token("ns/a") {
		t.Errorf("by default %v", got)
	}
}

func TestProfiles(t *testing.T) {
	conf := plugintest.Config{Profiles: []string{"prefill", "decode"}}
	for _, tt := range []struct {
		profile string
		runs    int
		want    bool
	}{{"", 0, true}, {"", 1, true}, {"decode", 0, false}, {"decode", 1, true}, {"no such", 0, false}, {"no such", 1, false}} {
		name := fmt.Sprintf("%q while %d runs", tt.profile, tt.runs)
		b := bedWith(t, conf, plan.Params{text(paramProfile, tt.profile)}, "a")
		b.Cycle.Profile = tt.runs
		if got := len(b.Served(0)) == 1; got != tt.want {
			t.Errorf("%s: gets a token: %v", name, got)
		}
		b = bedWith(t, conf, ids(text(paramProfile, tt.profile)), "a")
		b.Cycle.Profile = tt.runs
		choose(b, "x-session-id", "s")
		b.Pick(0)
		if got := choose(b, "x-session-id", "s") == 0; got != tt.want {
			t.Errorf("%s: is bound: %v", name, got)
		}
	}
}

func TestSources(t *testing.T) {
	peers := []plugintest.Peer{
		{Spec: &agentidentity.Spec, Name: "agent-identity"},
		{Spec: &sessionidproducer.Spec, Name: "cookies", Params: plan.Params{text("cookieName", "sid")}},
		{Spec: &sessionidproducer.Spec, Name: "second", Params: plan.Params{text("headerName", "x-second")}},
	}
	source := func(i int, field, value string) plan.Param {
		return text(plan.Element(paramSources, i)+"."+field, value)
	}
	tests := []struct {
		name          string
		params        plan.Params
		header, value string
		want          bool
	}{
		{"default", ids(), "x-session-id", "s", true},
		{"blanks", ids(), "x-session-id", "  ", false},
		{"header", ids(source(0, "header", "X-Chat")), "x-chat", "s", true},
		{"default is not beside others", ids(source(0, "header", "X-Chat")), "x-session-id", "s", false},
		{"second of two", ids(source(0, "header", "x-a"), source(1, "header", "x-b")), "x-b", "s", true},
		{"agent", ids(source(0, "attribute", "agent-identity")), "session_id", "s", true},
		{"cookie", ids(source(0, "attribute", "SessionIDDataKey"), source(0, "producer", "cookies")), "cookie", "a=b; sid=s", true},
		{"no such cookie", ids(source(0, "attribute", "SessionIDDataKey"), source(0, "producer", "cookies")), "cookie", "a=b", false},
		{"named producer", ids(source(0, "attribute", "SessionIDDataKey"), source(0, "producer", "second")), "x-second", "s", true},
		{"first producer of the type", ids(source(0, "attribute", "SessionIDDataKey")), "cookie", "sid=s", true},
		{"missing producer", ids(source(0, "attribute", "SessionIDDataKey"), source(0, "producer", "nope")), "cookie", "sid=s", false},
		{"after a missing producer", ids(source(0, "attribute", "a"), source(0, "producer", "nope"), source(1, "header", "x-b")), "x-b", "s", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bedWith(t, plugintest.Config{Peers: peers}, tt.params, "a", "b")
			choose(b, tt.header, tt.value)
			b.Pick(1)
			if got := choose(b, tt.header, tt.value) == 1; got != tt.want {
				t.Errorf("bound %v, want %v", got, tt.want)
			}
		})
	}
	for name, params := range map[string]plan.Params{
		"both":                      ids(source(0, "header", "x"), source(0, "attribute", "y")),
		"neither":                   ids(source(0, "producer", "x")),
		"blank":                     ids(source(0, "header", " ")),
		"producer beside a header":  ids(source(0, "header", "x"), source(0, "producer", "y")),
		"idle 0":                    ids(number(paramIdle, 0)),
		"sweep below 0":             ids(number(paramSweep, -1)),
		"unknown strategy":          {text(paramStrategy, "session_id_header")},
		"empty header of the token": {text(paramHeader, " ")},
	} {
		if _, err := plugintest.New(&spec, params, nil, plugintest.Req{}); err == nil {
			t.Errorf("%s: loads", name)
		}
	}
}

// TestSteps follows one session through picks elsewhere, endpoints that go and time that passes.
func TestSteps(t *testing.T) {
	const header = "x-session-id"
	b := bed(t, ids(), "a", "b", "c")
	want := func(step string, session string, i int) {
		t.Helper()
		if got := choose(b, header, session); got != i {
			t.Errorf("%s: chose %d, want %d", step, got, i)
		}
	}
	want("unbound", "s", -1)
	b.Pick(1)
	want("bound", "s", 1)
	want("another session", "t", -1)
	b.Pick(2)
	want("bound", "s", 1)
	b.Pick(0) // another scorer weighed more
	want("sent elsewhere although its endpoint was there", "s", 1)
	b.Request(plugintest.Req{Headers: map[string]string{header: "s"}})
	bs := b.Plugin.(*byID)
	if got := bs.Choose(&b.Cycle, []int32{plugintest.Slot(0), plugintest.Slot(2)}); got != -1 {
		t.Errorf("its endpoint is no candidate: chose %d", got)
	}
	b.Pick(2)
	want("sent elsewhere while its endpoint was no candidate", "s", 2)
	b.Pick(2)
	b.Endpoints(endpoints("a", "b", "d"))
	want("its endpoint has gone, another has the slot", "s", -1)
	b.Pick(2)
	want("bound to the endpoint in that slot", "s", 2)
	want("the other session that was bound there", "t", -1)
	b.Pick(1)
	want("bound", "t", 1)

	choose(b, header, "u")
	choose(b, header, "s") // the next request is decided before the first is sent
	b.Pick(0)
	want("a pick that follows another decision", "u", -1)
}

func TestExpiry(t *testing.T) {
	b := bed(t, ids(number(paramIdle, 2), number(paramSweep, 1)), "a")
	start := b.Cycle.Now
	at := func(s float64) { b.Sweep(start + uint64(s*second)) }
	bind := func(s string) {
		choose(b, "x-session-id", s)
		b.Pick(0)
	}
	want := func(step, session string, i int) {
		t.Helper()
		if got := choose(b, "x-session-id", session); got != i {
			t.Errorf("%s: session %s chose %d, want %d", step, session, got, i)
		}
	}
	at(0)
	bind("s")
	bind("t")
	at(1.9)
	bind("t")
	want("before", "s", 0)
	b.Cycle.Now = start + 10*second
	want("only a sweep forgets", "s", 0)
	at(3)
	want("idle for 3 s", "s", -1)
	want("used after 1.9 s", "t", 0)
	at(3.95)
	at(5)
	want("idle for 3 s", "t", -1)
	if n, replaced := b.Plugin.(*byID).Sessions(); n != 0 || replaced != 0 {
		t.Errorf("%d sessions, %d replaced", n, replaced)
	}
}

func TestReload(t *testing.T) {
	old := bed(t, ids(), "a", "b")
	choose(old, "x-session-id", "s")
	old.Pick(1)
	for _, sessions := range []int{1024, 5} {
		b := bedWith(t, plugintest.Config{MaxSessions: sessions}, ids(number(paramIdle, 9)), "a", "b")
		b.Plugin.(scorers.Keeper).Adopt(old.Plugin)
		if got := choose(b, "x-session-id", "s"); got != 1 {
			t.Errorf("bound %d: chose %d after the reload", sessions, got)
		}
		b.Endpoints(endpoints("a", "c"))
		if got := choose(b, "x-session-id", "s"); got != -1 {
			t.Errorf("bound %d: chose %d after its endpoint has gone", sessions, got)
		}
		old = bed(t, ids(), "a", "b")
		choose(old, "x-session-id", "s")
		old.Pick(1)
	}
	bed(t, ids(), "a").Plugin.(scorers.Keeper).Adopt(bed(t, nil, "a").Plugin) // another strategy
}

func TestBound(t *testing.T) {
	b := bedWith(t, plugintest.Config{MaxSessions: 10}, ids(), "a", "b")
	for i := range 100 {
		choose(b, "x-session-id", fmt.Sprint(i))
		b.Pick(i % 2)
		if got := choose(b, "x-session-id", fmt.Sprint(i)); got != i%2 {
			t.Fatalf("session %d chose %d", i, got)
		}
	}
	if n, replaced := b.Plugin.(*byID).Sessions(); n != 10 || replaced != 90 {
		t.Errorf("%d sessions, %d replaced", n, replaced)
	}
}

// TestDryRunsBindNothing has a dry run between a decision and its pick.
func TestDryRunsBindNothing(t *testing.T) {
	b := bed(t, ids(), "a", "b")
	headers := map[string]string{"x-session-id": "s"}
	b.Request(plugintest.Req{Dry: true, Headers: headers})
	b.Plugin.(*byID).Choose(&b.Cycle, b.Candidates())
	b.Pick(0)
	if got := choose(b, "x-session-id", "s"); got != -1 {
		t.Errorf("chose %d", got)
	}
}

func TestAllocations(t *testing.T) {
	headers := map[string]string{"x-session-id": "s", "x-session-token": "?" + strings.Repeat("x", 503)}
	for name, params := range map[string]plan.Params{"token": nil, "id": ids()} {
		b := bed(t, params, "a", "b")
		b.Request(plugintest.Req{Headers: headers})
		cand := b.Candidates()
		chooser := b.Plugin.(interface {
			Choose(c *scorers.Cycle, cand []int32) int
		})
		var sink scorers.HeaderSink
		served := []byte("ns/a")
		sink.Set("warm", make([]byte, 900))
		if n := testing.AllocsPerRun(100, func() {
			chooser.Choose(&b.Cycle, cand)
			b.Pick(1)
			if s, ok := b.Plugin.(scorers.Server); ok {
				sink.Reset()
				s.Served(b.Cycle.Endpoints, cand[0], served, &sink)
			}
			if s, ok := b.Plugin.(scorers.Sweeper); ok {
				s.Sweep(b.Cycle.Now)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestAgainstModel compares the bindings with the specification's words over maps.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const n, idle = 4, 100
		b := bed(t, ids(number(paramIdle, idle/second), number(paramSweep, 1/second)), "0", "1", "2", "3")
		bs := b.Plugin.(*byID)
		type binding struct {
			name string
			used uint64
		}
		model := map[string]binding{}
		names, next := []string{"0", "1", "2", "3"}, n
		r.Repeat(map[string]func(*rapid.T){
			"request": func(r *rapid.T) {
				session := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(r, "session")
				at := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID).Draw(r, "candidates")
				picked := rapid.SampledFrom(at).Draw(r, "picked")
				b.Cycle.Now++
				b.Request(plugintest.Req{Headers: map[string]string{"x-session-id": session}})
				var cand []int32
				want, old := -1, model[session]
				for i, k := range at {
					cand = append(cand, plugintest.Slot(k))
					if session != "" && old.name == names[k] {
						want = i
					}
				}
				if got := bs.Choose(&b.Cycle, cand); got != want {
					r.Fatalf("session %q bound to %v chose %d of %v", session, old, got, at)
				}
				if rapid.IntRange(0, 4).Draw(r, "sent") == 0 || session == "" {
					return
				}
				b.Pick(picked)
				if old.name == "" || want < 0 || at[want] == picked {
					model[session] = binding{names[picked], b.Cycle.Now}
				}
			},
			"endpoint goes": func(r *rapid.T) {
				names = slices.Clone(names)
				names[rapid.IntRange(0, n-1).Draw(r, "endpoint")] = fmt.Sprint(next)
				next++
				b.Endpoints(endpoints(names...))
			},
			"time passes": func(r *rapid.T) {
				b.Sweep(b.Cycle.Now + uint64(rapid.IntRange(1, idle).Draw(r, "ns")))
				for s, x := range model {
					if b.Cycle.Now-x.used > idle {
						delete(model, s)
					}
				}
			},
		})
	})
}

func TestBase64(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, maxName).Draw(r, "name")
		var buf [maxToken]byte
		got := string(buf[:encode(buf[:], b)])
		if want := base64.StdEncoding.EncodeToString(b); got != want {
			r.Fatalf("%q, want %q", got, want)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "bnMvYQ==", "bnMvYWI=", "bnMvYWJj", "=", "====", "A===", "AB=C", "bn==L2E=", "\xff\xff\xff\xff", "AAA\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if slices.Contains(src, '\r') || slices.Contains(src, '\n') {
			return // which the library skips, and no header has
		}
		dst := make([]byte, len(src))
		n, ok := decode(dst, src)
		want, err := base64.StdEncoding.DecodeString(string(src))
		if ok != (err == nil) || ok && string(dst[:n]) != string(want) {
			t.Errorf("%q: %q, %v; want %q, %v", src, dst[:n], ok, want, err)
		}
	})
}
