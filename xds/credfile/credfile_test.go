package credfile

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pair parses two files with the same content, which must not be "bad".
func pair(files [][]byte) (string, error) {
	if !bytes.Equal(files[0], files[1]) {
		return "", errors.New("do not belong together")
	}
	if string(files[0]) == "bad" {
		return "", errors.New("is bad")
	}
	return string(files[0]), nil
}

// TestChanges changes two files that belong together, a step each second.
func TestChanges(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a, "1")
	write(b, "1")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f, err := Open(slog.New(slog.NewTextHandler(&log, nil)), pair, a, b)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			name    string
			change  func()
			want    string
			refused uint64
		}{
			{"nothing", func() {}, "1", 0},
			{"both", func() { write(a, "2"); write(b, "2") }, "2", 0},
			{"one of them", func() { write(a, "3") }, "2", 1},
			{"still one of them", func() {}, "2", 1},
			{"the other", func() { write(b, "3") }, "3", 1},
			{"gone", func() { _ = os.Remove(a) }, "3", 2},
			{"back as it was", func() { write(a, "3") }, "3", 2},
			{"bad", func() { write(a, "bad"); write(b, "bad") }, "3", 3},
			{"too large", func() { write(a, strings.Repeat("x", MaxBytes+1)) }, "3", 3},
			{"small again", func() { write(a, "4"); write(b, "4") }, "4", 3},
		} {
			before := f.current
			step.change()
			time.Sleep(RereadEvery - 1)
			if got := f.Value(); got != before {
				t.Errorf("%s: %q within a second", step.name, got)
			}
			time.Sleep(time.Nanosecond)
			if got := f.Value(); got != step.want || f.Refused() != step.refused {
				t.Errorf("%s: %q with %d refusals, want %q with %d", step.name, got, f.Refused(), step.want, step.refused)
			}
		}
		if n := strings.Count(log.String(), "cannot be read again"); n != 3 || strings.Contains(log.String(), "xx") {
			t.Errorf("%d lines about refusals, none of which may show content:\n%.2000s", n, &log)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"good": "1", "other": "2", "large": strings.Repeat("x", MaxBytes+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, file, want string }{
		{"missing", "none", "none: no such file"},
		{"too large", "large", "large: more than 1048576 bytes"},
		{"does not parse", "other", "good: do not belong together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(slog.New(slog.DiscardHandler), pair, filepath.Join(dir, "good"), filepath.Join(dir, tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	var none *File[string]
	if none.Refused() != 0 {
		t.Error("no file has refusals")
	}
}
