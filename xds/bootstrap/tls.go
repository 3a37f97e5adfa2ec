package bootstrap

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// TLS says how Envoy connects to one kind of server. The zero value is plain HTTP/1.1.
type TLS struct {
	CAFile            string // certificates of the authorities that are believed; empty for no TLS
	SNI               string // name or IP address that the server's certificate must carry
	AutoSNI           bool   // the name is the client's Host header, in the place of SNI
	CertFile, KeyFile string // what Envoy shows; both or neither
	HTTP2             bool   // with or without TLS
}

// IsIP reports whether the server name is an IP address, which certificates carry in another form.
func (t TLS) IsIP() bool {
	_, err := netip.ParseAddr(t.SNI)
	return err == nil
}

// check returns what is wrong. A server whose name is not checked could be anybody's with a certificate of that authority.
func (t TLS) check(what string) []error {
	var problems []error
	add := func(text string) { problems = append(problems, fmt.Errorf("%s: %s", what, text)) }
	used := t.SNI != "" || t.AutoSNI || t.CertFile != "" || t.KeyFile != ""
	if t.CAFile == "" && used {
		add("a CA file is needed, or Envoy would believe any certificate")
	}
	if t.CAFile != "" && t.SNI == "" && !t.AutoSNI {
		add("a server name is needed that the certificates carry, or the client's Host header as one")
	}
	if t.SNI != "" && t.AutoSNI {
		add("the server name is either fixed or the client's Host header, not both")
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		add("a client certificate needs both its file and the file of its key")
	}
	for _, text := range []string{t.CAFile, t.SNI, t.CertFile, t.KeyFile} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			problems = append(problems, errors.New(what+": names must have no control characters"))
			break
		}
	}
	return problems
}
