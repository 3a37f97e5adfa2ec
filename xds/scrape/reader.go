//go:build !expfmt

package scrape

import "github.com/zerohop/zerohop/xds/scrape/promtext"

func newReader(wants []promtext.Want) reader { return promtext.NewScanner(wants) }
