package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestScheduleIsReproducible(t *testing.T) {
	a, b := newSchedule(5, 3*time.Minute, nil), newSchedule(5, 3*time.Minute, nil)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("two schedules of one seed:\n%s", d)
	}
	if cmp.Equal(a, newSchedule(6, 3*time.Minute, nil)) {
		t.Error("two seeds have the same schedule")
	}
}

// TestSchedule wants of many seeds that every fault is made in three minutes, that those of a lane do not overlap, that none
// reaches into a rest, and that no two faults have one endpoint.
func TestSchedule(t *testing.T) {
	for seed := range uint64(200) {
		s := newSchedule(seed, 3*time.Minute, nil)
		made := map[Kind]bool{}
		last := map[lane]time.Duration{}
		for i, p := range s.Faults {
			made[p.Kind] = true
			l := ruleOf(p.Kind).lane
			if p.At < last[l] {
				t.Errorf("seed %d: %s at %v begins before the one before it ends", seed, p.Kind, p.At)
			}
			last[l] = p.At + p.Length
			for _, rest := range s.Rests {
				if p.At < rest+restTime && p.At+p.Length > rest {
					t.Errorf("seed %d: %s from %v to %v reaches into the rest at %v", seed, p.Kind, p.At, p.At+p.Length, rest)
				}
			}
			for _, o := range s.Faults {
				if p.Kind == Burst && o.Kind == Stop && p.At < o.At+o.Length && o.At < p.At+p.Length {
					t.Errorf("seed %d: a burst at %v meets a stopped endpoint", seed, p.At)
				}
			}
			for _, o := range s.Faults[:i] {
				if o.Target != "" && o.Target == p.Target && p.At < o.At+o.Length {
					t.Errorf("seed %d: %s and %s of %s overlap", seed, o.Kind, p.Kind, p.Target)
				}
			}
		}
		for i := range rules {
			if !made[rules[i].Kind] {
				t.Errorf("seed %d: no %s in three minutes", seed, rules[i].Kind)
			}
		}
		if n := len(s.Rests); n < 3 || s.Rests[n-1] != s.Length-restTime {
			t.Errorf("seed %d: rests at %v of %v", seed, s.Rests, s.Length)
		}
	}
}

func TestRequests(t *testing.T) {
	a, b := newSpec(1, 17, traffic{}), newSpec(1, 17, traffic{})
	if !bytes.Equal(a.body, b.body) || a.want != b.want || a.id != b.id {
		t.Error("one seed and number give two requests")
	}
	count := func(now traffic) (hot, left, stream, h2 int) {
		for n := range int64(1000) {
			s := newSpec(1, n, now)
			if bytes.Contains(s.body, []byte("the hot prefix")) {
				hot++
			}
			if s.leave != stays {
				left++
			}
			if s.stream {
				stream++
			}
			if s.http2 {
				h2++
			}
		}
		return hot, left, stream, h2
	}
	if hot, left, stream, h2 := count(traffic{}); hot != 0 || left != 0 || stream != 500 || h2 != 500 {
		t.Errorf("%d hot, %d leave, %d streams, %d over HTTP/2", hot, left, stream, h2)
	}
	if hot, _, _, _ := count(traffic{hot: true}); hot < 870 || hot > 930 {
		t.Errorf("%d of 1000 are hot, want nine of ten", hot)
	}
	if _, left, _, _ := count(traffic{vanish: true}); left != 500 {
		t.Errorf("%d of 1000 leave, want every second", left)
	}
}
