package config

// FileName is a file that the documents name.
type FileName struct {
	Line      int
	Path      string // of the field
	Name      string
	Endpoints bool // it is an endpoint file
}

// Files returns the files that the agent is to read.
func (c *Config) Files() []FileName {
	z := &c.Zerohop
	all := []FileName{
		{Path: "discovery.file", Name: z.Discovery.File, Endpoints: true},
		{Path: "scrape.bearerTokenFile", Name: z.Scrape.BearerTokenFile},
		{Path: "scrape.tls.caFile", Name: z.Scrape.TLS.CAFile},
		{Path: "scrape.tls.certFile", Name: z.Scrape.TLS.CertFile},
		{Path: "scrape.tls.keyFile", Name: z.Scrape.TLS.KeyFile},
		{Path: "agent.tls.certFile", Name: z.Agent.TLS.CertFile},
		{Path: "agent.tls.keyFile", Name: z.Agent.TLS.KeyFile},
		{Path: "agent.tls.clientCAFile", Name: z.Agent.TLS.ClientCAFile},
		{Path: "agent.bearerTokenFile", Name: z.Agent.BearerTokenFile},
	}
	if c.Discovery != nil {
		all = append(all, FileName{Path: pathFileDiscovery, Name: c.Discovery.Path, Endpoints: true})
	}
	var out []FileName
	for _, f := range all {
		if f.Name != "" {
			f.Line = c.lines[f.Path]
			out = append(out, f)
		}
	}
	return out
}
