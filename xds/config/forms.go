package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/xds/strictyaml"
)

// form says how a setting is read from YAML and written to it.
type form struct {
	read   func(n strictyaml.Node, z *Zerohop)
	show   func(z *Zerohop) string
	schema schema
}

// choice is one word of a few.
func choice(at func(*Zerohop) *string, words ...string) form {
	return form{
		read: func(n strictyaml.Node, z *Zerohop) {
			if s := n.Choice(words...); s != "" {
				*at(z) = s
			} else if n.IsText() && n.Text() == "" {
				n.Problemf("is empty; %s", strictyaml.Suggest("", words))
			}
		},
		show:   func(z *Zerohop) string { return scalar(*at(z)) },
		schema: schema{"type": "string", "enum": words},
	}
}

// words is text that fits; an empty string means none.
func words(at func(*Zerohop) *string, fits func(string) string) form {
	return form{
		read: func(n strictyaml.Node, z *Zerohop) {
			s := n.Text()
			if what := fits(s); what != "" && s != "" {
				n.Problemf("%q %s", s, what)
				return
			}
			*at(z) = s
		},
		show:   func(z *Zerohop) string { return scalar(*at(z)) },
		schema: schema{"type": "string"},
	}
}

// timeSpan is a duration within bounds.
func timeSpan(at func(*Zerohop) *time.Duration, least, most time.Duration) form {
	return form{
		read:   func(n strictyaml.Node, z *Zerohop) { readSpan(n, at(z), least, most) },
		show:   func(z *Zerohop) string { return at(z).String() },
		schema: schema{"type": "string", "pattern": durationPattern},
	}
}

// readSpan reads a duration and leaves d as it is if there is none.
func readSpan(n strictyaml.Node, d *time.Duration, least, most time.Duration) {
	example := cmp.Or(*d, max(least, min(most, time.Minute)))
	if n.IsNumber() {
		n.Problemf("must be a duration with its unit, not the number %v; write for example %v", n.Number(), example)
		return
	}
	s := n.Text()
	if s == "" {
		return
	}
	v, err := time.ParseDuration(s)
	switch {
	case err != nil:
		n.Problemf("%q is not a duration; write for example %v", s, example)
	case v < least || v > most:
		n.Problemf("%v is outside %v to %v", v, least, most)
	default:
		*d = v
	}
}

// integer is the types of whole numbers among the settings.
type integer interface{ int | int64 }

// whole is a whole number within bounds.
func whole[T integer](at func(*Zerohop) *T, least, most T) form {
	return form{
		read:   func(n strictyaml.Node, z *Zerohop) { readWhole(n, at(z), least, most) },
		show:   func(z *Zerohop) string { return strconv.FormatInt(int64(*at(z)), 10) },
		schema: schema{"type": "integer", "minimum": least, "maximum": most},
	}
}

// readWhole reads a whole number and leaves v as it is if there is none.
func readWhole[T integer](n strictyaml.Node, v *T, least, most T) {
	f := n.Number()
	switch {
	case !n.IsNumber():
	case f < float64(least) || f > float64(most):
		n.Problemf("%v is outside %d to %d", f, least, most)
	case f != float64(T(f)):
		n.Problemf("%v is not a whole number", f)
	default:
		*v = T(f)
	}
}

// rate is a number within bounds.
func rate(at func(*Zerohop) *float64, least, most float64) form {
	return form{
		read: func(n strictyaml.Node, z *Zerohop) {
			f := n.Number()
			switch {
			case !n.IsNumber():
			case f < least || f > most:
				n.Problemf("%v is outside %v to %v", f, least, most)
			default:
				*at(z) = f
			}
		},
		show:   func(z *Zerohop) string { return strconv.FormatFloat(*at(z), 'f', -1, 64) },
		schema: schema{"type": "number", "minimum": least, "maximum": most},
	}
}

// truth is true or false; inverted means that the field says the opposite of the setting.
func truth(at func(*Zerohop) *bool, inverted bool) form {
	return form{
		read: func(n strictyaml.Node, z *Zerohop) {
			if v := n.Bool(); n.IsBool() {
				*at(z) = v != inverted
			}
		},
		show:   func(z *Zerohop) string { return strconv.FormatBool(*at(z) != inverted) },
		schema: schema{"type": "boolean"},
	}
}

// listener is an address to listen at.
func listener(at func(*Zerohop) *netip.AddrPort) form {
	return form{
		read: func(n strictyaml.Node, z *Zerohop) {
			s := n.Text()
			if s == "" {
				return
			}
			a, err := netip.ParseAddrPort(s)
			switch {
			case err != nil:
				n.Problemf("%q is not ip:port; write for example %v, IPv6 in brackets", s, *at(z))
			case a.Port() == 0:
				n.Problemf("%q has port 0; Envoy must know the port", s)
			default:
				*at(z) = a
			}
		},
		show:   func(z *Zerohop) string { return scalar(at(z).String()) },
		schema: schema{"type": "string"},
	}
}

// file is the name of a file.
func file(s string) string {
	if strings.ContainsAny(s, "\x00\n\r") {
		return "is no file name; write it in one line"
	}
	return ""
}

// urlPath is the path of an URL.
func urlPath(s string) string {
	if !strings.HasPrefix(s, "/") {
		return fmt.Sprintf("does not begin with a slash; write %q", "/"+s)
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return "has characters that an URL does not; write them as %XX"
		}
	}
	return ""
}

// hostName is a name as it stands in DNS.
func hostName(s string) string {
	if len(s) > 253 {
		return "is longer than 253 bytes"
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 {
			return "is not a host name; between the dots stand 1 to 63 letters, digits, hyphens and underscores"
		}
		for _, c := range []byte(label) {
			if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
				return "is not a host name; between the dots stand 1 to 63 letters, digits, hyphens and underscores"
			}
		}
	}
	return ""
}

// certified is what a certificate may be for: a host name or an address.
func certified(s string) string {
	if _, err := netip.ParseAddr(s); err == nil {
		return ""
	}
	return hostName(s)
}

// name is the name of something in Envoy's configuration.
func name(s string) string {
	for _, c := range s {
		if c < ' ' || c == 0x7f {
			return "has control characters"
		}
	}
	return ""
}

// scalar writes a string as YAML: in quotes unless it is a plain word that no reader takes for something else.
func scalar(s string) string {
	plain := s != ""
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') && (i == 0 || c != '-' && c != '_' && c != '.') {
			plain = false
		}
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		plain = false
	}
	if plain {
		return s
	}
	return strconv.QuoteToASCII(s)
}
