package registry

import "github.com/zerohop/zerohop/scorers"

// filters returns the filters, admitters, detectors, pickers, profile handlers and the producers that name what others read.
func filters() []scorers.Spec {
	return []scorers.Spec{}
}
