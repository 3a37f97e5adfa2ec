package known

import (
	"errors"
	"math"
	"time"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// text declares a string; an empty def leaves it absent by default.
func text(name, def, doc string) scorers.Param {
	p := scorers.Param{Name: name, Kind: plan.String, Doc: doc}
	if def != "" {
		p.Default = def
	}
	return p
}

// word declares a string of a few.
func word(name, def, doc string, choices ...string) scorers.Param {
	p := text(name, def, doc)
	p.Choices = choices
	return p
}

// flag declares a boolean.
func flag(name string, def bool, doc string) scorers.Param {
	return scorers.Param{Name: name, Kind: plan.Bool, Default: def, Doc: doc}
}

// whole declares an integer of at least least.
func whole(name string, def, least float64, doc string) scorers.Param {
	return scorers.Param{Name: name, Default: def, Integer: true, Min: least, Max: math.Inf(1), Doc: doc}
}

// integer declares an integer without bounds.
func integer(name string, def float64, doc string) scorers.Param {
	return scorers.Param{Name: name, Default: def, Integer: true, Doc: doc}
}

// share declares a number from 0 to 1.
func share(name string, def float64, doc string) scorers.Param {
	return scorers.Param{Name: name, Default: def, Min: 0, Max: 1, Doc: doc}
}

// amount declares a number of at least 0.
func amount(name string, def float64, doc string) scorers.Param {
	return scorers.Param{Name: name, Default: def, Min: 0, Max: math.Inf(1), Doc: doc}
}

// above declares a number above 0.
func above(name string, def float64, doc string) scorers.Param {
	return scorers.Param{Name: name, Default: def, Min: 0, MinOpen: true, Max: math.Inf(1), Doc: doc}
}

// span declares a duration of at least 0; a def of 0 leaves it absent by default.
func span(name string, def time.Duration, doc string) scorers.Param {
	p := scorers.Param{Name: name, Duration: true, Min: 0, Max: math.Inf(1), Doc: doc}
	if def != 0 {
		p.Default = float64(def)
	}
	return p
}

// object declares an object; one without fields takes any content if its name is among Type.Open.
func object(name, doc string, fields ...scorers.Param) scorers.Param {
	return scorers.Param{Name: name, Shape: scorers.Object, Fields: fields, Doc: doc}
}

// list declares a list of objects.
func list(name, doc string, fields ...scorers.Param) scorers.Param {
	return scorers.Param{Name: name, Shape: scorers.List, Fields: fields, Doc: doc}
}

// texts declares a list of strings.
func texts(name, doc string) scorers.Param {
	return scorers.Param{Name: name, Shape: scorers.List, Kind: plan.String, Doc: doc}
}

// producer declares the name of a producer instance.
func producer(name, typ, doc string) scorers.Param {
	return scorers.Param{Name: name, Kind: plan.String, Default: "", Ref: typ, Doc: doc}
}

func optional(p scorers.Param) scorers.Param {
	p.Default = nil
	return p
}

func required(p scorers.Param) scorers.Param {
	p.Default, p.Required = nil, true
	return p
}

func deprecated(p scorers.Param, instead string) scorers.Param {
	p.Default, p.Deprecated = nil, instead
	return p
}

// together fails if more than one of the parameters is given. The first is named.
func together(given plan.Params, names ...string) error {
	first := ""
	for _, name := range names {
		if !given.Has(name) {
			continue
		}
		if first != "" {
			return errors.New(name + ": stands beside " + first + "; keep one of them")
		}
		first = name
	}
	return nil
}

// tls are the parameters of a source that reads from endpoints by HTTP.
func tls(scheme, path string) []scorers.Param {
	return []scorers.Param{
		word("scheme", scheme, "protocol of the endpoints", "http", "https"),
		text("path", path, "of the page"),
		flag("insecureSkipVerify", true, "whether any certificate is believed"),
		text("caCertPath", "", "authorities (PEM)"),
		text("clientCertPath", "", "client certificate (PEM)"),
		text("clientKeyPath", "", "its key (PEM)"),
		span("interval", 0, "time between two reads"),
	}
}
