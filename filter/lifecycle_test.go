package filter_test

import (
	"testing"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycle"
)

func TestLifecycle(t *testing.T) {
	lifecycle.Run(t, lifecycle.Subject{New: hosttest.NewNative})
}
