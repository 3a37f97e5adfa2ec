package snapshot

// Endpoint is one endpoint of a snapshot: what discovery knows and the newest scraped metrics.
type Endpoint struct {
	ID          uint64  // EndpointID(Name, Address)
	Name        []byte  // namespace/name
	Address     []byte  // ip:port in canonical form, IPv6 in brackets, no zone
	Flags       uint16  // Draining …
	ScrapeAgeMs uint32  // age of the metrics when the snapshot was encoded; NeverScraped if there are none
	ScrapeSeq   uint32  // counts successful scrapes of this endpoint, so that a reader knows which picks a scrape has seen
	Waiting     uint32  // requests that wait in the engine
	Running     uint32  // requests that run in the engine
	KVUsage     float32 // share of KV blocks in use, 0..1
	BlockSize   uint32  // engine KV block size in tokens; 0 if not reported
	NumBlocks   uint32  // engine KV blocks; 0 if not reported
}

// NeverScraped in Endpoint.ScrapeAgeMs says that no scrape has succeeded yet.
const NeverScraped = ^uint32(0)

// Flags of an Endpoint.
const (
	// Draining endpoints get no new requests.
	Draining uint16 = 1 << 0
)

// View reads an encoded snapshot in place; see Open.
type View struct{ b []byte }
