package fleet

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// oneEndpoint returns a table with one endpoint and its slot.
func oneEndpoint() (*Table, int32) {
	tab := New(8, stale)
	apply(tab, fleetOf(1), 0, 0)
	return tab, tab.Live()[0]
}

// TestBadAnswers gives series of answers, 10 ms apart unless a step waits.
func TestBadAnswers(t *testing.T) {
	tests := []struct {
		name   string
		steps  []string // a status, or "wait" and milliseconds
		usable bool
	}{
		{"five times 429 are borne", []string{"429", "429", "429", "429", "429"}, true},
		{"six in a row are not", []string{"429", "429", "429", "429", "429", "429"}, false},
		{"429 among answers is borne", []string{"429", "429", "200", "429", "429", "200", "429", "429", "200", "429"}, true},
		{"every other answer an error", []string{"500", "200", "500", "200", "500", "200", "500", "200", "500", "200", "500"}, false},
		{"every third answer an error", []string{"500", "200", "200", "500", "200", "200", "500", "200", "200", "500", "200", "200", "500"}, true},
		{"errors a minute apart", []string{"500", "wait60000", "500", "wait60000", "500"}, true},
		{"an error right after a recovery", []string{"500", "500", "500", "wait500", "200", "500"}, false},
		{"an error after a recovery and good answers", []string{"500", "500", "500", "wait500", "200", "200", "200", "200", "500"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab, s := oneEndpoint()
			now := uint64(ms)
			for _, step := range tt.steps {
				now += 10 * ms
				if n, err := strconv.Atoi(step); err == nil {
					tab.Answer(now, s, now, n)
				} else if n, err := strconv.Atoi(step[len("wait"):]); err == nil {
					now += uint64(n) * ms
				}
			}
			if got := tab.Usable(now, s); got != tt.usable {
				t.Errorf("usable %v, want %v", got, tt.usable)
			}
		})
	}
}

// TestCoolDownGoesOnAfterARecovery lets an endpoint fail, recover and fail again.
func TestCoolDownGoesOnAfterARecovery(t *testing.T) {
	for _, tt := range []struct {
		name       string
		pause      uint64 // between the last failure and the next, in ms
		want, most uint64 // length of the cool-down, in ms
	}{
		{"at once", 700, 2000, 2000},
		{"a little later", 5_700, 1000, 1000},
		{"much later", 60_000, 500, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab, s := oneEndpoint()
			tab.Fail(10*ms, s, 10*ms)
			tab.Fail(600*ms, s, 600*ms) // 1 s, level 2
			tab.Answer(1700*ms, s, 1650*ms, 200)
			if !tab.Usable(1700*ms, s) {
				t.Fatal("not usable after a good answer")
			}
			at := max(1701, 600+tt.pause) * ms
			tab.Fail(at, s, at)
			if tab.Usable(at+tt.want*ms-1, s) || !tab.Usable(at+tt.most*ms, s) {
				t.Errorf("cooled down until %d ms later, want %d", (tab.Health(s).Until-at)/ms, tt.want)
			}
		})
	}
}

// TestBusyEndpointIsProbedSoon answers 429 for a minute: the cool-down does not grow.
func TestBusyEndpointIsProbedSoon(t *testing.T) {
	tab, s := oneEndpoint()
	for now := uint64(10 * ms); now < 60_000*ms; now += 10 * ms {
		if tab.Usable(now, s) {
			tab.Probe(now, s)
			tab.Answer(now, s, now, 429)
		}
	}
	if h := tab.Health(s); h.Level > softLevel || h.Until > 60_000*ms+coolDownMin {
		t.Errorf("health %+v after a minute of 429", h)
	}
}

// TestFlakyEndpointIsMostlyAway answers half of the requests with 500 at a high rate.
func TestFlakyEndpointIsMostlyAway(t *testing.T) {
	tab, s := oneEndpoint()
	r := rand.New(rand.NewPCG(1, 2))
	got, asked := 0, 0
	for now := uint64(ms); now < 60_000*ms; now += 10 * ms {
		asked++
		if !tab.Usable(now, s) {
			continue
		}
		got++
		tab.Probe(now, s)
		code := 200
		if r.IntN(2) == 0 {
			code = 500
		}
		tab.Answer(now+ms, s, now, code)
	}
	if got*20 > asked || got < 10 {
		t.Errorf("used for %d of %d requests, want few and some", got, asked)
	}
}

// TestLateFirstBytes lets first bytes of streamed answers come at several times.
func TestLateFirstBytes(t *testing.T) {
	tab, s := oneEndpoint()
	tab.Slow(1000 * ms)
	answer := func(at, took uint64) {
		tab.Owe(at*ms, s)
		tab.Began((at+took)*ms, s, at*ms, true)
	}
	for i := range uint64(3) {
		answer(10_000*i, 999)
	}
	answer(30_000, 1000)
	answer(31_000, 1001)
	if !tab.Usable(33_000*ms, s) {
		t.Error("cooled down after two late first bytes")
	}
	answer(33_000, 5000)
	if tab.Usable(38_001*ms, s) || !tab.Usable(38_600*ms, s) {
		t.Error("not cooled down for half a second after three")
	}
	tab.Overdue(100_000 * ms)
	if !tab.Usable(100_001*ms, s) {
		t.Error("an endpoint that owes nothing is overdue")
	}
	tab.Owe(100_000*ms, s)
	tab.Owe(100_500*ms, s)
	tab.Paid(s)
	tab.Overdue(100_999 * ms)
	if !tab.Usable(100_999*ms, s) {
		t.Error("cooled down too early")
	}
	tab.Overdue(101_000 * ms)
	if tab.Usable(101_000*ms, s) {
		t.Error("not cooled down when the first byte is late")
	}
	if h := tab.places[s].health; h.owed != 1 {
		t.Errorf("owes %d", h.owed)
	}
}
