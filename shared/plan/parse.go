package plan

import (
	"errors"
	"strconv"
)

// ErrVersion is wrapped by the error of Parse if the plan has a schema version that this package does not read.
var ErrVersion = errors.New("unknown plan version")

// Parse reads and checks a plan. It applies no defaults: the compiler has done that. Fields that it does not know are
// skipped, so that an older filter takes a newer plan of the same Version. On error the plan is nil, and the error lists
// every problem with its path, one a line. It keeps no reference to b.
func Parse(b []byte) (*Plan, error) {
	r := &reader{b: b}
	p := new(Plan)
	r.plan(p)
	if r.next(); r.pos < len(r.b) {
		r.fail("text after the plan")
	}
	if r.err != nil {
		return nil, r.err
	}
	if p.Version < MinVersion || p.Version > Version {
		return nil, &versionError{p.Version, MinVersion, Version}
	}
	if err := join(r.problems, p.problems()); err != nil {
		return nil, err
	}
	return p, nil
}

// join makes one error of the problems of reading and of checking. What is wrong with a field that could not be read is
// said once.
func join(reading, checking []fieldError) error {
	var errs []error
	unread := make(map[string]bool, len(reading))
	for _, e := range reading {
		unread[e.path] = true
		errs = append(errs, e)
	}
	for _, e := range checking {
		if !unread[e.path] {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// fieldError is one problem with the value at a path, such as profiles[0].scorers[1].plugin.
type fieldError struct{ path, what string }

func (e fieldError) Error() string {
	if e.path == "" {
		return "plan: " + e.what
	}
	return e.path + ": " + e.what
}

// versionError says which side is too old. An operator reads it as Envoy's reason for rejecting a configuration.
type versionError struct{ got, least, most int }

func (e *versionError) Error() string {
	what := ", which was made by an older agent"
	if e.got > e.most {
		what = ", which needs a newer zerohop.wasm"
	}
	reads := "version " + strconv.Itoa(e.least)
	if e.most > e.least {
		reads = "versions " + strconv.Itoa(e.least) + " to " + strconv.Itoa(e.most)
	}
	return "version: this plan has version " + strconv.Itoa(e.got) + what + "; this module reads " + reads
}

func (e *versionError) Unwrap() error { return ErrVersion }

func (r *reader) plan(p *Plan) {
	r.object(func(name string) bool {
		switch name {
		case "version":
			r.integer(&p.Version)
		case "revision":
			r.string(&p.Revision)
		case "destination":
			r.string(&p.Destination)
		case "failureMode":
			r.string(&p.FailureMode)
		case "agent":
			r.agent(&p.Agent)
		case "bounds":
			r.bounds(&p.Bounds)
		case "parity":
			r.string(&p.Parity)
		case "prefix":
			r.prefix(&p.Prefix)
		case "plugins":
			p.Plugins = array(r, (*reader).plugin)
		case "profiles":
			p.Profiles = array(r, (*reader).profile)
		case "profileHandler":
			r.string(&p.ProfileHandler)
		case "endpoints":
			p.Endpoints = array(r, (*reader).endpoint)
		case "objectives":
			p.Objectives = array(r, (*reader).objective)
		case "explain":
			r.explain(&p.Explain)
		case "log":
			r.log(&p.Log)
		case "sharing":
			r.sharing(&p.Sharing)
		case "attempts":
			r.attempts(&p.Attempts)
		case "inactive":
			p.Inactive = array(r, (*reader).inactive)
		default:
			return false
		}
		return true
	})
}

func (r *reader) agent(a *Agent) {
	r.object(func(name string) bool {
		switch name {
		case "cluster":
			r.string(&a.Cluster)
		case "pollTimeoutMs":
			r.integer(&a.PollTimeoutMs)
		case "staleMs":
			r.integer(&a.StaleMs)
		case "scrapeMs":
			r.integer(&a.ScrapeMs)
		case "maxAgeMs":
			r.integer(&a.MaxAgeMs)
		default:
			return false
		}
		return true
	})
}

func (r *reader) bounds(b *Bounds) {
	r.object(func(name string) bool {
		switch name {
		case "endpoints":
			r.integer(&b.Endpoints)
		case "indexBlocks":
			r.integer(&b.IndexBlocks)
		case "sessions":
			r.integer(&b.Sessions)
		default:
			return false
		}
		return true
	})
}

func (r *reader) prefix(p *Prefix) {
	r.object(func(name string) bool {
		switch name {
		case "autoTune":
			r.bool(&p.AutoTune)
		case "blockSizeTokens":
			r.integer(&p.BlockSizeTokens)
		case "maxPrefixBlocks":
			r.integer(&p.MaxPrefixBlocks)
		case "maxPrefixTokens":
			r.integer(&p.MaxPrefixTokens)
		case "lruCapacityPerServer":
			r.integer(&p.LRUCapacityPerServer)
		default:
			return false
		}
		return true
	})
}

func (r *reader) plugin(p *Plugin) {
	r.object(func(name string) bool {
		switch name {
		case "name":
			r.string(&p.Name)
		case "type":
			r.string(&p.Type)
		case "parameters":
			r.params(&p.Parameters)
		default:
			return false
		}
		return true
	})
}

// params reads parameters of any name: whether a plugin knows them is the scheduler's matter.
func (r *reader) params(p *Params) {
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

func (r *reader) profile(p *Profile) {
	r.object(func(name string) bool {
		switch name {
		case "name":
			r.string(&p.Name)
		case "filters":
			p.Filters = array(r, (*reader).string)
		case "scorers":
			p.Scorers = array(r, (*reader).scorer)
		case "picker":
			r.string(&p.Picker)
		default:
			return false
		}
		return true
	})
}

func (r *reader) scorer(s *Scorer) {
	r.object(func(name string) bool {
		switch name {
		case "plugin":
			r.string(&s.Plugin)
		case "weight":
			r.float(&s.Weight)
		default:
			return false
		}
		return true
	})
}

func (r *reader) endpoint(e *Endpoint) {
	r.object(func(name string) bool {
		switch name {
		case "name":
			r.string(&e.Name)
		case "address":
			r.string(&e.Address)
		case "labels":
			e.Labels = array(r, (*reader).label)
		default:
			return false
		}
		return true
	})
}
