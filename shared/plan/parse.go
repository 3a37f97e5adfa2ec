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
	p.read(r)
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
