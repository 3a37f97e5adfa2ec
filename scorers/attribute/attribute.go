// Package attribute reads the two parameters by which a plugin names an endpoint attribute: its name and what produces it.
package attribute

import (
	"errors"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// DefaultProducer is what produces an attribute without a stated producer.
const DefaultProducer = "core-metrics-extractor"

const paramProducer = "producer"

// Producer declares the parameter with the producer's name. It has no default, for an empty name differs from none.
var Producer = scorers.Param{
	Name: paramProducer, Kind: plan.String,
	Doc: "name of the plugin that produces the attribute, " + DefaultProducer + " if it is left out; empty for an attribute without producer",
}

// Ask registers the attribute that the string parameter called param names, and returns where its values are.
func Ask(u *scorers.Setup, param string) (scorers.AttrID, error) {
	name := u.Params.String(param, "")
	if name == "" {
		return 0, errors.New(param + ": is empty; write the name of an attribute")
	}
	producer := DefaultProducer
	switch at := strings.LastIndexByte(name, '/'); {
	case u.Params.Has(paramProducer):
		producer = u.Params.String(paramProducer, "")
	case at >= 0:
		return 0, errors.New(param + ": " + strconv.Quote(name) + " has a slash and there is no producer; write " + param + ": " +
			strconv.Quote(name[:at]) + " and producer: " + strconv.Quote(name[at+1:]) +
			`, or producer: "" if the slash belongs to the name`)
	}
	return u.Attribute(producer + "/" + name), nil
}
