package plan

// What follows says field by field where a value of the plan goes. These are tables and not code, for the size of the module.

func (p *Plan) read(r *reader) {
	r.fields(
		field{"version", &p.Version},
		field{"revision", &p.Revision},
		field{"destination", &p.Destination},
		field{"failureMode", &p.FailureMode},
		field{"agent", &p.Agent},
		field{"bounds", &p.Bounds},
		field{"parity", &p.Parity},
		field{"prefix", &p.Prefix},
		field{"plugins", elementsOf(&p.Plugins)},
		field{"profiles", elementsOf(&p.Profiles)},
		field{"profileHandler", &p.ProfileHandler},
		field{"endpoints", elementsOf(&p.Endpoints)},
		field{"objectives", elementsOf(&p.Objectives)},
		field{"explain", &p.Explain},
		field{"log", &p.Log},
		field{"sharing", &p.Sharing},
		field{"attempts", &p.Attempts},
		field{"inactive", elementsOf(&p.Inactive)},
	)
}

func (a *Agent) read(r *reader) {
	r.fields(
		field{"cluster", &a.Cluster},
		field{"pollTimeoutMs", &a.PollTimeoutMs},
		field{"staleMs", &a.StaleMs},
		field{"scrapeMs", &a.ScrapeMs},
		field{"maxAgeMs", &a.MaxAgeMs},
	)
}

func (b *Bounds) read(r *reader) {
	r.fields(field{"endpoints", &b.Endpoints}, field{"indexBlocks", &b.IndexBlocks}, field{"sessions", &b.Sessions})
}

func (p *Prefix) read(r *reader) {
	r.fields(
		field{"autoTune", &p.AutoTune},
		field{"blockSizeTokens", &p.BlockSizeTokens},
		field{"maxPrefixBlocks", &p.MaxPrefixBlocks},
		field{"maxPrefixTokens", &p.MaxPrefixTokens},
		field{"lruCapacityPerServer", &p.LRUCapacityPerServer},
	)
}

func (p *Plugin) read(r *reader) {
	r.fields(field{"name", &p.Name}, field{"type", &p.Type}, field{"parameters", &p.Parameters})
}

// read reads parameters of any name: whether a plugin knows them is the scheduler's matter.
func (p *Params) read(r *reader) {
	r.object(func(name string) bool {
		v := Param{Name: name}
		switch c := r.next(); {
		case isNumberStart(c):
			v.Kind = Number
			r.float(&v.Num)
		case c == 't' || c == 'f':
			v.Kind = Bool
			on := false
			if r.bool(&on); on {
				v.Num = 1
			}
		case c == '"':
			v.Kind = String
			r.string(&v.Str)
		default:
			r.mismatch("a number, a boolean or a string")
			return true
		}
		*p = append(*p, v)
		return true
	})
}

func (p *Profile) read(r *reader) {
	r.fields(
		field{"name", &p.Name},
		field{"filters", elementsOf(&p.Filters)},
		field{"scorers", elementsOf(&p.Scorers)},
		field{"picker", &p.Picker},
	)
}

func (s *Scorer) read(r *reader) {
	r.fields(field{"plugin", &s.Plugin}, field{"weight", &s.Weight})
}

func (e *Endpoint) read(r *reader) {
	r.fields(field{"name", &e.Name}, field{"address", &e.Address}, field{"labels", elementsOf(&e.Labels)})
}

func (l *Label) read(r *reader) {
	r.fields(field{"key", &l.Key}, field{"value", &l.Value})
}

func (o *Objective) read(r *reader) {
	r.fields(field{"name", &o.Name}, field{"priority", (*signed)(&o.Priority)})
}

func (e *Explain) read(r *reader) {
	r.fields(field{"networks", elementsOf(&e.Networks)})
}

func (l *Log) read(r *reader) {
	r.fields(field{"chain", &l.Chain})
}

func (s *Sharing) read(r *reader) {
	r.fields(field{"mode", &s.Mode}, field{"intervalUs", &s.IntervalUs}, field{"logBytes", &s.LogBytes})
}

func (a *Attempts) read(r *reader) {
	r.fields(field{"retries", &a.Retries}, field{"firstByteMs", &a.FirstByteMs})
}

func (i *Inactive) read(r *reader) {
	r.fields(field{"name", &i.Name}, field{"type", &i.Type})
}
