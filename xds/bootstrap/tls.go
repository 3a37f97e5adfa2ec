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

// tlsFlags are the flags of "zerohop render envoy" by which the settings of one kind of server come.
type tlsFlags struct{ ca, sni, autoSNI, cert, key string }

var (
	agentFlags    = tlsFlags{"--agent-tls-ca", "--agent-tls-sni", "", "--agent-tls-cert", "--agent-tls-key"}
	upstreamFlags = tlsFlags{"--upstream-tls-ca", "--upstream-tls-sni", "--upstream-tls-auto-sni", "--upstream-client-cert", "--upstream-client-key"}
)

// check returns what is wrong. A server whose name is not checked could be anybody's with a certificate of that authority.
func (t TLS) check(what string, flags tlsFlags) []error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(what+": "+format, args...))
	}
	used := t.SNI != "" || t.AutoSNI || t.CertFile != "" || t.KeyFile != ""
	if t.CAFile == "" && used {
		add("a CA file is needed (%s), or Envoy would believe any certificate", flags.ca)
	}
	switch named := t.SNI != "" || t.AutoSNI && flags.autoSNI != ""; {
	case t.CAFile == "" || named:
	case flags.autoSNI == "":
		add("a server name is needed (%s): the name or IP address that the agent's certificate carries", flags.sni)
	default:
		add("a server name is needed: one that all certificates carry (%s), or the client's Host header (%s)", flags.sni, flags.autoSNI)
	}
	if t.SNI != "" && t.AutoSNI {
		add("the server name is either fixed (%s) or the client's Host header (%s), not both", flags.sni, flags.autoSNI)
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		add("a client certificate needs both its file (%s) and the file of its key (%s)", flags.cert, flags.key)
	}
	for _, text := range []string{t.CAFile, t.SNI, t.CertFile, t.KeyFile} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			problems = append(problems, errors.New(what+": names must have no control characters"))
			break
		}
	}
	return problems
}
