package singleprofilehandler

import (
	"testing"

	"github.com/zerohop/zerohop/scorers"
)

func TestProfile(t *testing.T) {
	tests := []struct {
		name           string
		profiles, want int
	}{
		{"one", 1, 0},
		{"none", 0, -1},
		{"two cannot be told apart", 2, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugin, err := Spec.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := plugin.(scorers.ProfileHandler).Profile(nil, tt.profiles); got != tt.want {
				t.Errorf("profile = %d, want %d", got, tt.want)
			}
		})
	}
}
