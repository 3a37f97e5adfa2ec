package traffic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
