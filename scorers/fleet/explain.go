package fleet

// Impairment says why the endpoint in slot s should get no request. left is the time until a request may try one that is cooled
// down, or has been tried and has not answered yet.
func (t *Table) Impairment(now uint64, s int32) (cooling bool, left uint64, draining bool) {
	if cooling = t.cooling(now, s); cooling {
		left = max(t.places[s].health.until, now) - now
	}
	return cooling, left, t.places[s].draining
}
