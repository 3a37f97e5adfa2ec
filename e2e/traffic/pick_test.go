package traffic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePick(t *testing.T) {
	const good = "endpoint=10.0.0.1:8000 matched=3 total=8 attempts=2 decision_us=21 reason=scored"
	for _, c := range []struct {
		name, line string
		want       Pick
		fails      bool
	}{
		{"all parts", good, Pick{"10.0.0.1:8000", 3, 8, 2, 21, "scored", ""}, false},
		{"with id", good + " id=00ff", Pick{"10.0.0.1:8000", 3, 8, 2, 21, "scored", "00ff"}, false},
		{"no endpoint", "endpoint=- matched=0 total=0 attempts=0 decision_us=0 reason=no_endpoints", Pick{Endpoint: "-", Reason: "no_endpoints"}, false},
		{"nothing", "", Pick{}, true},
		{"part missing", "endpoint=a matched=3 total=8 attempts=2 decision_us=21", Pick{}, true},
		{"unknown part", good + " more=1", Pick{}, true},
		{"part twice", "endpoint=a matched=3 total=8 attempts=2 attempts=2 reason=scored", Pick{}, true},
		{"without value", "endpoint= matched=3 total=8 attempts=2 decision_us=21 reason=scored", Pick{}, true},
		{"no number", "endpoint=a matched=x total=8 attempts=2 decision_us=21 reason=scored", Pick{}, true},
		{"negative", "endpoint=a matched=-1 total=8 attempts=2 decision_us=21 reason=scored", Pick{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParsePick(c.line)
			if c.fails != (err != nil) {
				t.Fatalf("error %v, want one: %v", err, c.fails)
			}
			if diff := cmp.Diff(c.want, got); err == nil && diff != "" {
				t.Errorf("pick (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSizedBody(t *testing.T) {
	for _, size := range []int{len(chatHead) + len(chatTail), 1000, 100_000} {
		if got := len(SizedBody(1, size)); got != size {
			t.Errorf("%d bytes, want %d", got, size)
		}
	}
}

func TestChunked(t *testing.T) {
	got := Chunked([]byte("hello world, again"), 16)
	if diff := cmp.Diff([]string{"10\r\nhello world, aga\r\n", "2\r\nin\r\n"}, got); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}
