package scorers

// Endpoints is the scheduling view of all endpoints as structure of arrays, indexed by slot. A slot keeps its endpoint for
// as long as that endpoint exists; free slots are never candidates. Plugins read it and never write it. What a plugin has to
// ask for (see Setup) is nil or empty unless one did.
type Endpoints struct {
	ID       []uint64  // identity (snapshot.EndpointID); 0 marks a free slot
	NameHash []uint64  // XXH64 of namespace/name
	Waiting  []float64 // requests waiting in the engine: scraped or estimated value plus our picks since (see fleet)
	Running  []float64 // requests running in the engine as scraped
	KVUsage  []float64 // share of KV blocks in use, 0..1, as scraped
	Fresh    []bool    // the scraped numbers exist and are not stale

	Queue     []float64 // requests waiting as scraped; where that is not fresh, the mean of the fresh ones
	Scraped   []bool    // a scrape has succeeded, however long ago
	ScrapedAt []uint64  // monotonic ns of the newest scrape

	InFlight       []int32 // requests of all workers that were sent and are not finished
	InFlightTokens []int64 // tokens they are booked with; see LoadEstimator

	Rank      []int32  // data-parallel rank
	BlockSize []uint32 // KV block size in tokens, as reported; 0 if unknown
	NumBlocks []uint32 // number of KV blocks, as reported; 0 if unknown

	Attr            [][]float64 // by AttrID, then by slot; NaN where the endpoint has no such attribute
	MaxLoRA         []int32     // adapters that fit into the engine at once
	Adapters        Sets        // XXH64 of the adapters in use
	WaitingAdapters Sets        // XXH64 of the adapters that requests wait for
	Models          Sets        // XXH64 of the served models
	Topo            [][4]uint64 // XXH64 of host, rack, zone and region; 0 where absent

	Predicted *Prediction // nil unless something predicts
}

// The columns of Endpoints.Topo, narrowest first.
const (
	TopoHost = iota
	TopoRack
	TopoZone
	TopoRegion
)

// Prediction holds predicted latencies by slot, in milliseconds. A headroom is how far the prediction stays below the
// objective of the request.
type Prediction struct {
	Has          []bool
	TTFT, TPOT   []float64
	TTFTHeadroom []float64
	TPOTHeadroom []float64
	Dispatched   []int32 // requests sent to the endpoint that are not finished
}

// Sets holds one set of hashes for each slot, one after the other in Hash.
type Sets struct {
	Off, Len []int32 // where the set of a slot is in Hash
	Known    []bool  // the set is known, though it may be empty
	Asked    bool    // of served models: what is not known could not be found out; else nobody has been told to ask yet
	Hash     []uint64
}

// Has reports whether h is in the set of slot.
func (s *Sets) Has(slot int32, h uint64) bool {
	for _, v := range s.Of(slot) {
		if v == h {
			return true
		}
	}
	return false
}

// Of returns the set of slot.
func (s *Sets) Of(slot int32) []uint64 {
	if int(slot) >= len(s.Off) {
		return nil
	}
	off := s.Off[slot]
	return s.Hash[off : off+s.Len[slot]]
}

// IsKnown reports whether the set of slot is known.
func (s *Sets) IsKnown(slot int32) bool { return int(slot) < len(s.Known) && s.Known[slot] }
