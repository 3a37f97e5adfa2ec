//go:build expfmt

package scrape

import (
	"github.com/zerohop/zerohop/xds/scrape/promtext"
	"github.com/zerohop/zerohop/xds/scrape/promtext/oracle"
)

func newReader(wants []promtext.Want) reader { return oracle.New(wants) }
