package vllm

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMetrics(t *testing.T) {
	tests := []struct {
		name string
		page string
		want Metrics
	}{
		{"empty", "", Metrics{}},
		{"comments and blank lines", "# HELP a b\n# TYPE a counter\n\n", Metrics{}},
		{"without labels", "python_info 1.0\n", Metrics{"python_info": 1}},
		{"label sets are summed", "a_total{x=\"1\"} 2\na_total{x=\"2\"} 0.5\n", Metrics{"a_total": 2.5}},
		{"braces and spaces in a label", "a{x=\"} 7 {\"} 3\n", Metrics{"a": 3}},
		{"exponent, timestamp, no line end", "a{x=\"\"} 1.2e+01 1700000000", Metrics{"a": 12}},
		{"not a number", "a{} x\n{} 1\n", Metrics{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseMetrics([]byte(tt.page))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestArgs(t *testing.T) {
	args, err := Args("/models/tiny", "127.0.0.1:8201")
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"serve": "/models/tiny", "--host": "127.0.0.1", "--port": "8201",
		"--max-model-len": "4096", "--block-size": "32", "--num-gpu-blocks-override": "512",
	} {
		if i := slices.Index(args, flag); i < 0 || args[i+1] != want {
			t.Errorf("%s: not followed by %q in %q", flag, want, args)
		}
	}
	if _, err := Args("/models/tiny", "8201"); err == nil {
		t.Error("an address without a host was accepted")
	}
}
