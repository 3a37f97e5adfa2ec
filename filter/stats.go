package filter

import "github.com/zerohop/zerohop/scorers/sched"

// The plain counters. They are kept in the VM and added to Envoy's process-wide stats by tick.
const (
	cPicks          = iota // requests that got an endpoint
	cBodyBytes             // body bytes scanned
	cPrefixHits            // picks whose endpoint was believed to hold at least one block
	cMatchedBlocks         // blocks believed to be held by the picked endpoint
	cTotalBlocks           // informative blocks of all scored prompts
	cCapped                // prompts longer than the configured prefix
	cRetries               // attempts after the first
	cStripped              // requests that carried headers of ours
	cStrayAttempts         // attempts whose stream was not known
	cPanics                // recovered panics
	cSnapshots             // snapshots adopted
	cSnapshotErrors        // snapshots that could not be decoded
	cPollErrors            // failed polls of the agent
	cDeltaErrors           // deltas that did not fit to the snapshot in shared data
	cLeases                // times this VM became the leader
	cCoolDowns             // endpoints cooled down
	cNeutral               // scores that were neutral for want of fresh metrics
	cClamped               // scores outside [0,1]
	cEvicted               // prefix index records evicted
	cUniversal             // requests whose leading blocks were discounted as universal
	cToolsVerbatim         // prompts whose tools were too large or deep to be sorted
	cHostErrors            // destinations that Envoy did not take
	cRejected              // requests answered 400 for their body, under parity epp
	cUnmoved               // requests that another endpoint served when it was no longer known what was recorded for the first
	cLatePicks             // picks that plugins were not told of, for another decision had begun
	cExplainRefused        // requests for explanations from outside of the trusted networks
	cHeadersDropped        // values of headers that plugins read which were too long to be kept
	cSessions              // sessions forgotten for want of room
	cLabelsUnknown         // requests decided while a label that plugins read was unknown
	cFoldedRecords         // log records of other VMs that were taken over
	cSkippedRecords        // those about what is not known here, or with blocks of another size
	cLostRecords           // those that were gone or broken when they were to be read
	cRestoredBlocks        // prefix blocks that were taken over from a dump
	cSharedBytes           // bytes written into shared data for other VMs
	counters
)

var counterNames = [counters]string{
	cPicks:          "zerohop_picks_total",
	cBodyBytes:      "zerohop_body_bytes_total",
	cPrefixHits:     "zerohop_prefix_hits_total",
	cMatchedBlocks:  "zerohop_prefix_matched_blocks_total",
	cTotalBlocks:    "zerohop_prefix_blocks_total",
	cCapped:         "zerohop_prefix_capped_total",
	cRetries:        "zerohop_retries_total",
	cStripped:       "zerohop_stripped_requests_total",
	cStrayAttempts:  "zerohop_stray_attempts_total",
	cPanics:         "zerohop_panics_total",
	cSnapshots:      "zerohop_snapshots_total",
	cSnapshotErrors: "zerohop_snapshot_errors_total",
	cPollErrors:     "zerohop_poll_errors_total",
	cDeltaErrors:    "zerohop_delta_errors_total",
	cLeases:         "zerohop_leases_total",
	cCoolDowns:      "zerohop_cooldowns_total",
	cNeutral:        "zerohop_neutral_scores_total",
	cClamped:        "zerohop_clamped_scores_total",
	cEvicted:        "zerohop_prefix_evicted_records_total",
	cUniversal:      "zerohop_universal_prefixes_total",
	cToolsVerbatim:  "zerohop_tools_verbatim_total",
	cHostErrors:     "zerohop_host_errors_total",
	cRejected:       "zerohop_rejected_bodies_total",
	cUnmoved:        "zerohop_unmoved_total",
	cLatePicks:      "zerohop_late_picks_total",
	cExplainRefused: "zerohop_explain_refused_total",
	cHeadersDropped: "zerohop_dropped_headers_total",
	cSessions:       "zerohop_replaced_sessions_total",
	cLabelsUnknown:  "zerohop_labels_unknown_total",
	cFoldedRecords:  "zerohop_sharing_folded_records_total",
	cSkippedRecords: "zerohop_sharing_skipped_records_total",
	cLostRecords:    "zerohop_sharing_lost_records_total",
	cRestoredBlocks: "zerohop_sharing_restored_blocks_total",
	cSharedBytes:    "zerohop_sharing_written_bytes_total",
}

// maxSamples is how many decision times are kept until the next flush; more flush at once.
const maxSamples = 1024

// stats holds the VM's counts and the ids of Envoy's stats.
type stats struct {
	_ [0]func() // not comparable, for the size of the module

	defined  bool
	n        [counters]int64
	sent     [counters]int64
	fallback [reasons]int64
	fellSent [reasons]int64

	samples    [maxSamples]uint32 // decision times of picks since the last flush, µs
	samplesLen int

	ids         [counters]uint32
	fallbackIDs [reasons]uint32
	decision    uint32 // histogram, µs from the last body callback to the pick
	snapshotAge uint32 // gauge, ms, set by the leader
	endpoints   uint32 // gauge, set by the leader
	overflow    uint32 // gauge: endpoints beyond the configured bound, set by the leader
	vmBytes     uint32 // gauge: memory of the state of the VM that writes the dump; each with requests has about as much
	sharedBytes uint32 // gauge: memory of what VMs share, set by that VM
	sharers     uint32 // gauge: VMs that share, set by the leader
}

// define defines the stats once per VM.
func (t *stats) define(h Host) {
	if t.defined {
		return
	}
	t.defined = true
	for i := range t.ids {
		t.ids[i] = h.DefineMetric(Counter, counterNames[i])
	}
	for i := range t.fallbackIDs {
		if reason(i) != reasonScored {
			t.fallbackIDs[i] = h.DefineMetric(Counter, "zerohop_fallback_"+reasonNames[i]+"_total")
		}
	}
	t.decision = h.DefineMetric(Histogram, "zerohop_decision_us")
	t.snapshotAge = h.DefineMetric(Gauge, "zerohop_snapshot_age_ms")
	t.endpoints = h.DefineMetric(Gauge, "zerohop_endpoints")
	t.overflow = h.DefineMetric(Gauge, "zerohop_overflow_endpoints")
	t.vmBytes = h.DefineMetric(Gauge, "zerohop_vm_bytes")
	t.sharedBytes = h.DefineMetric(Gauge, "zerohop_sharing_bytes")
	t.sharers = h.DefineMetric(Gauge, "zerohop_sharing_vms")
}

// picked counts a request that got an endpoint.
func (v *VM) picked(s *stream) {
	t := &v.stats
	t.n[cPicks]++
	if s.reason != reasonScored {
		t.fallback[s.reason]++
	}
	v.sched.Picked(&s.d, s.reason != reasonScored)
	if s.d.Matched > 0 {
		t.n[cPrefixHits]++
		t.n[cMatchedBlocks] += int64(s.d.Matched)
	}
	t.n[cTotalBlocks] += int64(s.d.Total)
	if t.samplesLen == maxSamples {
		t.flushSamples(v.host)
	}
	t.samples[t.samplesLen] = s.decideNs / 1000
	t.samplesLen++
}

func (t *stats) flushSamples(h Host) {
	for _, us := range t.samples[:t.samplesLen] {
		h.Record(t.decision, uint64(us))
	}
	t.samplesLen = 0
}

// flush adds what was counted since the last flush to Envoy's stats.
func (v *VM) flush(now uint64) {
	t := &v.stats
	s := v.sched.Stats(now)
	t.adopt(&s)
	for i := range t.n {
		if d := t.n[i] - t.sent[i]; d > 0 {
			v.host.Add(t.ids[i], d)
			t.sent[i] = t.n[i]
		}
	}
	for i := range t.fallback {
		if d := t.fallback[i] - t.fellSent[i]; d > 0 {
			v.host.Add(t.fallbackIDs[i], d)
			t.fellSent[i] = t.fallback[i]
		}
	}
	t.flushSamples(v.host)
	if v.intake.leading {
		v.host.Record(t.endpoints, uint64(s.Endpoints))
		v.host.Record(t.overflow, s.Overflow)
		v.host.Record(t.snapshotAge, v.intake.ageMs(now))
		v.host.Record(t.sharers, uint64(v.share.vms()))
	}
	if v.share.dump.writes {
		v.host.Record(t.vmBytes, uint64(s.Bytes+v.share.bytes()))
		v.host.Record(t.sharedBytes, uint64(v.share.sharedBytes()))
	}
}

// adopt takes over the scheduler's counters.
func (t *stats) adopt(s *sched.Stats) {
	t.n[cCoolDowns] = int64(s.CoolDowns)
	t.n[cNeutral] = int64(s.Neutral)
	t.n[cClamped] = int64(s.Clamped)
	t.n[cEvicted] = int64(s.IndexEvicted)
	t.n[cUnmoved] = int64(s.Unmoved)
	t.n[cLatePicks] = int64(s.LatePicks)
	t.n[cUniversal] = int64(s.UniversalHits)
	t.n[cSessions] = int64(s.Replaced)
	t.n[cLabelsUnknown] = int64(s.LabelsUnknown)
}
