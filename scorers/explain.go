package scorers

// What explanations ask of plugins. Nothing of it is called for a request that nobody wants explained.

// Denier is an Admitter that says what it went by.
type Denier interface {
	// Denied returns the number by which Admit has just refused, and the one that it is compared with. NaN stands for a number
	// that there is not. It remembers nothing and draws no random number.
	Denied(c *Cycle, cand []int32) (value, threshold float64)
}

// SessionTeller says where a request's session belongs.
type SessionTeller interface {
	// Session returns the slot of the endpoint that the session of the request is bound to, or -1. named reports whether the
	// request has a session at all.
	Session(c *Cycle) (slot int32, named bool)
}
