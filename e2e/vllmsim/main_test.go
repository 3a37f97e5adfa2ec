package main

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		name  string
		bases []string
		count int
		want  []string // nil: an error
	}{
		{"one", []string{"127.0.0.1:8101"}, 1, []string{"127.0.0.1:8101"}},
		{"consecutive", []string{"127.0.0.1:8101"}, 3, []string{"127.0.0.1:8101", "127.0.0.1:8102", "127.0.0.1:8103"}},
		{"several bases", []string{"127.0.0.1:8101", "[::1]:9"}, 1, []string{"127.0.0.1:8101", "[::1]:9"}},
		{"free ports", []string{"127.0.0.1:0"}, 2, []string{"127.0.0.1:0", "127.0.0.1:0"}},
		{"no port", []string{"127.0.0.1"}, 1, nil},
		{"port name", []string{"127.0.0.1:http"}, 1, nil},
		{"beyond the last port", []string{"127.0.0.1:65535"}, 2, nil},
		{"no endpoint", []string{"127.0.0.1:1"}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := addresses(c.bases, c.count)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("error = %v", err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("addresses (-want +got):\n%s", d)
			}
		})
	}
}

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := options{Listen: []string{"127.0.0.1:0"}, Count: 3, Speed: 10, NamePrefix: "sim-"}
	if err := run(ctx, o); err != nil {
		t.Errorf("run: %v", err)
	}
	o.Speed = -1
	if err := run(ctx, o); err == nil {
		t.Error("run with a negative speed: no error")
	}
}
