package singleprofilehandler

import (
	"testing"

	"github.com/zerohop/zerohop/scorers"
)

func TestProfile(t *testing.T) {
	tests := []struct {
		name     string
		profiles []string
		want     int
	}{
		{"one", []string{"a"}, 0},
		{"none", nil, -1},
		{"two cannot be told apart", []string{"a", "b"}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := scorers.Builder{Profiles: tt.profiles}
			plugin, err := b.Build(&Spec, Type, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := plugin.(scorers.ProfileHandler).Profile(nil); got != tt.want {
				t.Errorf("profile = %d, want %d", got, tt.want)
			}
		})
	}
}
