package plan

func (r *reader) label(l *Label) {
	r.object(func(name string) bool {
		switch name {
		case "key":
			r.string(&l.Key)
		case "value":
			r.string(&l.Value)
		default:
			return false
		}
		return true
	})
}

func (r *reader) objective(o *Objective) {
	r.object(func(name string) bool {
		switch name {
		case "name":
			r.string(&o.Name)
		case "priority":
			r.signed(&o.Priority)
		default:
			return false
		}
		return true
	})
}

func (r *reader) explain(e *Explain) {
	r.object(func(name string) bool {
		if name != "networks" {
			return false
		}
		e.Networks = array(r, (*reader).string)
		return true
	})
}

func (r *reader) log(l *Log) {
	r.object(func(name string) bool {
		if name != "chain" {
			return false
		}
		r.bool(&l.Chain)
		return true
	})
}

func (r *reader) sharing(s *Sharing) {
	r.object(func(name string) bool {
		switch name {
		case "mode":
			r.string(&s.Mode)
		case "intervalUs":
			r.integer(&s.IntervalUs)
		case "logBytes":
			r.integer(&s.LogBytes)
		default:
			return false
		}
		return true
	})
}

func (r *reader) attempts(a *Attempts) {
	r.object(func(name string) bool {
		switch name {
		case "retries":
			r.string(&a.Retries)
		case "firstByteMs":
			r.integer(&a.FirstByteMs)
		default:
			return false
		}
		return true
	})
}

func (r *reader) inactive(i *Inactive) {
	r.object(func(name string) bool {
		switch name {
		case "name":
			r.string(&i.Name)
		case "type":
			r.string(&i.Type)
		default:
			return false
		}
		return true
	})
}
