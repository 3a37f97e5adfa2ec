package filter

import (
	"encoding/json"
	"math"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zerohop/zerohop/shared/names"
)

func TestIsDryRun(t *testing.T) {
	tests := []struct {
		name, path, about string
		want              bool
	}{
		{"chat", "/zerohop/explain?path=/v1/chat/completions", "/v1/chat/completions", true},
		{"escaped", "/zerohop/explain?path=%2Fv1%2fcompletions%3Fa%3Db", "/v1/completions?a=b", true},
		{"behind others", "/zerohop/explain?a=b&mypath=/x&path=/y&path=/z", "/y", true},
		{"no query", "/zerohop/explain", "", true},
		{"empty query", "/zerohop/explain?", "", true},
		{"no path", "/zerohop/explain?a=b&&c", "", true},
		{"broken escapes", "/zerohop/explain?path=%2&x=%", "%2", true},
		{"longer", "/zerohop/explained", "", false},
		{"below", "/zerohop/explain/x?path=/y", "", false},
		{"shorter", "/zerohop/explai", "", false},
		{"none", "", "", false},
		{"other", "/v1/chat/completions?path=/zerohop/explain", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			about, is := isDryRun([]byte(tt.path))
			if got := string(unescape(append([]byte{}, about...))); is != tt.want || got != tt.about {
				t.Errorf("isDryRun(%q) = %q, %v; want %q, %v", tt.path, got, is, tt.about, tt.want)
			}
		})
	}
}

// FuzzDryRunPath reads back what package net/url writes, and anything else without harm.
func FuzzDryRunPath(f *testing.F) {
	f.Add("/v1/chat/completions?a=b", "x=1")
	f.Add("%\x00&=+ü", "path")
	f.Fuzz(func(t *testing.T, path, before string) {
		query := "path=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20")
		if !strings.Contains(before, "path=") {
			query = before + "&" + query
		}
		about, is := isDryRun([]byte(names.PathExplain + "?" + query))
		if got := string(unescape(append([]byte{}, about...))); !is || got != path {
			t.Errorf("query %q: path %q, %v; want %q", query, got, is, path)
		}
		about, is = isDryRun([]byte(names.PathExplain + before))
		if is && before != "" && before[0] != '?' {
			t.Errorf("%q is the path of a dry run about %q", before, about)
		}
		unescape([]byte(before))
	})
}

// FuzzAppendJSON compares with encoding/json.
func FuzzAppendJSON(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\x00\x7fü\xff\u2028")
	f.Fuzz(func(t *testing.T, text string) {
		var got string
		if b := appendJSON(nil, text); json.Unmarshal(b, &got) != nil {
			t.Fatalf("%q is written as %s", text, b)
		}
		if want := strings.ToValidUTF8(text, "\uFFFD"); got != want && utf8.ValidString(text) {
			t.Errorf("%q is read back as %q", text, got)
		}
	})
}

func TestWriteFloat(t *testing.T) {
	float := func(f float64) string {
		var w writer
		w.float("", f)
		return string(w.b)
	}
	for want, f := range map[string]float64{"0": 0, "0.25": .25, "-1": -1, "1e+308": 1e308, "null": math.NaN()} {
		if got := float(f); got != want {
			t.Errorf("%v is written as %s, want %s", f, got, want)
		}
	}
	if got := float(math.Inf(-1)); got != "null" {
		t.Errorf("-Inf is written as %s", got)
	}
}
