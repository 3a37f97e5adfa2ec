package registry

import "github.com/zerohop/zerohop/scorers"

// ratings returns the scorers without state of their own.
func ratings() []scorers.Spec {
	return []scorers.Spec{}
}
