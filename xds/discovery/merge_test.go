package discovery

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

var discardLog = slog.New(slog.DiscardHandler)

// endpoint returns the endpoint default/NAME at an address, with labels given as "key=value".
func endpoint(name, address string, labels ...string) Endpoint {
	e := Endpoint{Namespace: "default", Name: name, Address: netip.MustParseAddrPort(address)}
	for _, l := range labels {
		if e.Labels == nil {
			e.Labels = make(map[string]string)
		}
		k, v, _ := strings.Cut(l, "=")
		e.Labels[k] = v
	}
	return e
}

// script is a source that sends what the test tells it to.
type script chan Update

func (s script) Run(ctx context.Context, update func(Update)) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-s:
			update(u)
		}
	}
}

// named is a source with a name.
type named struct {
	Source
	name string
}

func (n named) String() string { return n.name }

// running is a source under test in a synctest bubble.
type running struct {
	t       *testing.T
	mu      sync.Mutex
	updates []Update
	stop    func()
}

// take returns the updates since the last call.
func (r *running) take() []Update {
	r.mu.Lock()
	defer r.mu.Unlock()
	updates := r.updates
	r.updates = nil
	return updates
}

// runSource starts s; the test takes the updates and calls stop.
func runSource(t *testing.T, s Source) *running {
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t}
	var wait sync.WaitGroup
	wait.Go(func() {
		s.Run(ctx, func(u Update) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.updates = append(r.updates, u)
		})
	})
	r.stop = func() {
		cancel()
		before := time.Now()
		wait.Wait()
		if took := time.Since(before); took > 0 {
			t.Errorf("the source took %v to stop", took)
		}
	}
	return r
}

// text writes an update in a form that is easy to compare: "a@10.0.0.1:80 b@10.0.0.2:80 !warning", or "err: ...".
func (u Update) text() string {
	if u.Err != nil {
		if u.Endpoints != nil || u.Warnings != nil {
			return "an update with Err and a list"
		}
		return "err: " + u.Err.Error()
	}
	words := []string{}
	for _, e := range u.Endpoints {
		words = append(words, e.Name+"@"+e.Address.String())
	}
	for _, w := range u.Warnings {
		words = append(words, "!"+w)
	}
	if u.Endpoints == nil {
		words = append(words, "nil")
	}
	return strings.Join(words, " ")
}

// want takes the updates since the last call.
func (r *running) want(texts ...string) {
	r.t.Helper()
	synctest.Wait()
	got := []string{}
	for _, u := range r.take() {
		got = append(got, u.text())
	}
	if d := cmp.Diff(append([]string{}, texts...), got); d != "" {
		r.t.Fatalf("updates (-want +got):\n%s", d)
	}
}

func TestMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		static := Static([]Endpoint{endpoint("a", "10.0.0.1:80")})
		file, dns := make(script), make(script)
		r := runSource(t, Merge(log, static, named{file, "the file"}, dns))
		defer r.stop()
		r.want() // waits for all
		dns <- Update{Endpoints: []Endpoint{endpoint("d", "10.0.0.4:80")}}
		r.want()
		file <- Update{Err: errors.New("line 1")}
		r.want("err: line 1")
		time.Sleep(startPatience)
		r.want("a@10.0.0.1:80 d@10.0.0.4:80", "err: line 1")

		// A list arrives while another source is unhealthy.
		dns <- Update{Endpoints: []Endpoint{endpoint("e", "10.0.0.5:80"), endpoint("d", "10.0.0.4:80")}}
		r.want("a@10.0.0.1:80 e@10.0.0.5:80 d@10.0.0.4:80", "err: line 1")
		dns <- Update{Endpoints: []Endpoint{endpoint("e", "10.0.0.5:80"), endpoint("d", "10.0.0.4:80")}}
		r.want()
		file <- Update{Err: errors.New("line 2")}
		r.want("err: line 2")
		dns <- Update{Err: errors.New("timeout")}
		r.want("err: line 2\ntimeout")

		// The file recovers, in front of what DNS knows; DNS's list stays.
		file <- Update{Endpoints: []Endpoint{endpoint("b", "10.0.0.2:80")}}
		r.want("a@10.0.0.1:80 b@10.0.0.2:80 e@10.0.0.5:80 d@10.0.0.4:80", "err: timeout")
		dns <- Update{Endpoints: []Endpoint{endpoint("e", "10.0.0.5:80"), endpoint("d", "10.0.0.4:80")}}
		r.want("a@10.0.0.1:80 b@10.0.0.2:80 e@10.0.0.5:80 d@10.0.0.4:80") // the same list: it ends the error
		file <- Update{Err: errors.New("line 3")}
		r.want("err: line 3")
		file <- Update{Endpoints: []Endpoint{}}
		r.want("a@10.0.0.1:80 e@10.0.0.5:80 d@10.0.0.4:80")

		want := `level=WARN msg="source of endpoints is unhealthy; its last list stays" source="the file" error="line 1"
level=WARN msg="source of endpoints is unhealthy; its last list stays" source="the file" error="line 2"
level=WARN msg="source of endpoints is unhealthy; its last list stays" source="source 3" error=timeout
level=INFO msg="source of endpoints is healthy again" source="the file" endpoints=1
level=INFO msg="source of endpoints is healthy again" source="source 3" endpoints=2
level=WARN msg="source of endpoints is unhealthy; its last list stays" source="the file" error="line 3"
level=INFO msg="source of endpoints is healthy again" source="the file" endpoints=0
`
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Errorf("log (-want +got):\n%s", d)
		}
	})
}

func TestMergeConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := make(script), make(script)
		r := runSource(t, Merge(discardLog, named{first, "A"}, named{second, "B"}))
		defer r.stop()
		second <- Update{Endpoints: []Endpoint{
			endpoint("a", "10.0.0.9:80"), endpoint("y", "10.0.0.1:80"), endpoint("c", "10.0.0.3:80"), endpoint("c", "10.0.0.4:80"),
			endpoint("z", "[::ffff:10.0.0.1]:80"),
		}, Warnings: []string{"B is odd"}}
		first <- Update{Endpoints: []Endpoint{endpoint("a", "10.0.0.1:80"), endpoint("b", "10.0.0.2:80")}}
		z := `!B: "default/z" at [::ffff:10.0.0.1]:80 is left out: address ::ffff:10.0.0.1 is an IPv4 address written as IPv6`
		c := `!B: "default/c" at 10.0.0.4:80 is left out: B has an endpoint of that name at 10.0.0.3:80`
		r.want(`a@10.0.0.1:80 b@10.0.0.2:80 c@10.0.0.3:80 !B is odd` +
			` !B: "default/a" at 10.0.0.9:80 is left out: A has an endpoint of that name at 10.0.0.1:80` +
			` !B: "default/y" at 10.0.0.1:80 is left out: A has that address as default/a ` + c + " " + z)

		// Without the winner, the others take its place, one as a name, one as an address.
		first <- Update{Endpoints: []Endpoint{endpoint("b", "10.0.0.2:80")}}
		r.want("b@10.0.0.2:80 a@10.0.0.9:80 y@10.0.0.1:80 c@10.0.0.3:80 !B is odd " + c + " " + z)
	})
}

func TestMergeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runSource(t, Merge(discardLog))
		r.want("") // a list without endpoints
		r.stop()

		// A source that says nothing holds the others up for a while only.
		silent := make(script)
		r = runSource(t, Merge(discardLog, silent, Static([]Endpoint{endpoint("a", "10.0.0.1:80")})))
		time.Sleep(startPatience - time.Nanosecond)
		r.want()
		time.Sleep(time.Nanosecond)
		r.want("a@10.0.0.1:80")
		silent <- Update{Endpoints: []Endpoint{endpoint("s", "10.0.0.2:80")}}
		r.want("s@10.0.0.2:80 a@10.0.0.1:80")
		r.stop()

		// Nor does one that fails at once: the others' list would be half of what there is.
		failing := make(script)
		r = runSource(t, Merge(discardLog, failing, Static([]Endpoint{endpoint("a", "10.0.0.1:80")})))
		failing <- Update{Err: errors.New("not yet")}
		r.want("err: not yet")
		failing <- Update{Endpoints: []Endpoint{endpoint("f", "10.0.0.2:80")}}
		r.want("f@10.0.0.2:80 a@10.0.0.1:80")
		r.stop()

		// Errors alone make no list.
		broken := make(script)
		r = runSource(t, Merge(discardLog, broken))
		broken <- Update{Err: errors.New("broken")}
		r.want("err: broken")
		time.Sleep(2 * startPatience)
		r.want()
		broken <- Update{Endpoints: []Endpoint{}}
		r.want("")
		r.stop()
	})
}

func TestManyWarningsAreCut(t *testing.T) {
	u := newUnion(discardLog, []Source{Static(nil)}, func(Update) {})
	list := make([]Endpoint, 1000)
	u.take(0, Update{Endpoints: list})
	got := u.combine()
	if len(got.Warnings) != maxWarnings+1 || got.Warnings[maxWarnings] != "and 980 more" {
		t.Errorf("%d warnings, the last is %q", len(got.Warnings), got.Warnings[len(got.Warnings)-1])
	}
}

// TestMergedListsAreSound sends random sequences of updates, with everything in them that a source should not send, and
// checks each list that comes out: valid, no name and no address twice, first source wins, the same whichever order the
// sources spoke in, and told only when it is new.
func TestMergedListsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "sources")
		sources := make([]Source, n)
		for i := range sources {
			sources[i] = Static(nil)
		}
		var state Update // the receiver's
		var told []Update
		u := newUnion(discardLog, sources, func(up Update) {
			told = append(told, up)
			if up.Err == nil {
				state = up
				checkSound(t, up.Endpoints)
			}
		})
		last := make([]*Update, n)
		lists := make([]Update, n)
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		for range steps {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			up := Update{Err: errors.New("down")}
			if rapid.IntRange(0, 3).Draw(t, "kind") > 0 {
				up = Update{Endpoints: drawList(t, "list")}
				lists[from] = up
			}
			last[from] = &up
			u.take(from, up)
			u.tell()
			told = nil
			u.tell()
			if len(told) > 0 {
				t.Fatalf("%v is told twice", told)
			}
		}
		if slices.Contains(last, nil) {
			return // not every source spoke
		}
		u.silent = 0 // patience ends
		u.tell()
		replay := newUnion(discardLog, sources, func(Update) {})
		for i := n - 1; i >= 0; i-- {
			replay.take(i, lists[i])
		}
		if want := replay.combine(); want.text() != (Update{Endpoints: append([]Endpoint{}, state.Endpoints...), Warnings: state.Warnings}).text() {
			t.Fatalf("the order of updates shows:\n%s\n%s", want.text(), state.text())
		}
		for _, e := range lists[0].Endpoints {
			if e.Validate() == nil && !slices.ContainsFunc(state.Endpoints, func(o Endpoint) bool {
				return o.ID() == e.ID() || o.Address == e.Address
			}) {
				t.Fatalf("%v of the first source is lost", e)
			}
		}
	})
}

// checkSound checks the rules for a single list.
func checkSound(t interface{ Fatalf(string, ...any) }, list []Endpoint) {
	ids, addresses := make(map[string]bool), make(map[netip.AddrPort]bool)
	for i := range list {
		e := &list[i]
		if err := e.Validate(); err != nil {
			t.Fatalf("%v: %v", *e, err)
		}
		if ids[e.ID()] || addresses[e.Address] {
			t.Fatalf("%s at %s is there twice", e.ID(), e.Address)
		}
		ids[e.ID()], addresses[e.Address] = true, true
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name    string
		address string
		change  func(*Endpoint)
		want    string
	}{
		{name: "ipv4", address: "10.0.0.1:1"},
		{name: "ipv6", address: "[2001:db8::1]:65535"},
		{name: "loopback", address: "127.0.0.1:80"},
		{name: "port 0", address: "10.0.0.1:0", want: "port is 0"},
		{name: "unspecified", address: "0.0.0.0:80", want: "address 0.0.0.0 is no address of a single host"},
		{name: "unspecified v6", address: "[::]:80", want: "address :: is no address of a single host"},
		{name: "multicast", address: "224.0.0.1:80", want: "address 224.0.0.1 is no address of a single host"},
		{name: "broadcast", address: "255.255.255.255:80", want: "address 255.255.255.255 is no address of a single host"},
		{name: "zone", address: "[fe80::1%eth0]:80", want: "address fe80::1%eth0 has a zone, which Envoy's ORIGINAL_DST cluster must not see"},
		{name: "mapped", address: "[::ffff:10.0.0.1]:80", want: "address ::ffff:10.0.0.1 is an IPv4 address written as IPv6"},
		{name: "no address", address: "10.0.0.1:80", change: func(e *Endpoint) { e.Address = netip.AddrPortFrom(netip.Addr{}, 80) }, want: "address is missing"},
		{name: "no name", address: "10.0.0.1:80", change: func(e *Endpoint) { e.Name = "" }, want: "namespace or name is empty"},
		{name: "no namespace", address: "10.0.0.1:80", change: func(e *Endpoint) { e.Namespace = "" }, want: "namespace or name is empty"},
		{name: "rank", address: "10.0.0.1:80", change: func(e *Endpoint) { e.Rank = -1 }, want: "rank is negative"},
		{name: "control character", address: "10.0.0.1:80", change: func(e *Endpoint) { e.Name = "a\tb" }, want: `name "default/a\tb" has control characters or, with its namespace, more than 65535 bytes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := endpoint("a", tt.address)
			if tt.change != nil {
				tt.change(&e)
			}
			got := ""
			if err := e.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// drawList returns a list with everything that a source should not send: names and addresses that repeat, and invalid ones.
func drawList(t *rapid.T, label string) []Endpoint {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Endpoint {
		e := Endpoint{
			Namespace: rapid.SampledFrom([]string{"default", "prod", ""}).Draw(t, "namespace"),
			Name:      rapid.SampledFrom([]string{"a", "b", "c", "d", "", "x\n"}).Draw(t, "name"),
			Rank:      rapid.IntRange(-1, 2).Draw(t, "rank"),
		}
		ip := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "::1", "::ffff:10.0.0.1", "0.0.0.0", "ff02::1", "fe80::1%eth0"}).Draw(t, "ip")
		e.Address = netip.AddrPortFrom(netip.MustParseAddr(ip), rapid.Uint16Range(0, 3).Draw(t, "port"))
		if rapid.Bool().Draw(t, "labelled") {
			e.Labels = map[string]string{"l": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "label")}
		}
		return e
	}), 0, 12).Draw(t, label)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
