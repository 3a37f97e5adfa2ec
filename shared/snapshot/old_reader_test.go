package snapshot

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
)

// TestOldReader has snapshots with facts read by a reader that knows nothing of them: it sees the endpoints.
func TestOldReader(t *testing.T) {
	for name, x := range map[string]*Extras{"without": nil, "empty": {}, "with facts": factsSample(t)} {
		t.Run(name, func(t *testing.T) {
			b := mustExtras(t, 5, sample(), x)
			got, err := oldEndpoints(b)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Flags &^= HasLoRA | LoRACut
			}
			if diff := cmp.Diff(sample(), got); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
		})
	}
}

// The reader of before facts, to the letter but for names: what is in use must understand what is written.

func oldEndpoints(b []byte) ([]Endpoint, error) {
	f, err := oldFrame(b)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	text := b[f.record(f.count):][:f.text]
	var out []Endpoint
	for i := range f.count {
		r := b[f.record(i):][:recordLen]
		piece := func(off uint32, n uint16) []byte { return text[off : off+uint32(n)] }
		e := Endpoint{
			ID: le.Uint64(r[recID:]), Address: piece(le.Uint32(r[recAddrOff:]), le.Uint16(r[recAddrLen:])),
			Name:  piece(le.Uint32(r[recNameOff:]), le.Uint16(r[recNameLen:])),
			Flags: le.Uint16(r[recFlags:]), ScrapeAgeMs: le.Uint32(r[recAgeMs:]), ScrapeSeq: le.Uint32(r[recSeq:]),
			Waiting: le.Uint32(r[recWaiting:]), Running: le.Uint32(r[recRunning:]), KVUsage: math.Float32frombits(le.Uint32(r[recKVUsage:])),
			BlockSize: le.Uint32(r[recBlockSize:]), NumBlocks: le.Uint32(r[recNumBlocks:]),
		}
		if err := e.check(); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func oldFrame(b []byte) (frame, error) {
	if err := unseal(b, Magic, headerLen); err != nil {
		return frame{}, err
	}
	le := binary.LittleEndian
	header, stride := uint64(le.Uint16(b[offHeaderLen:])), uint64(le.Uint16(b[offRecordLen:]))
	count, text := uint64(le.Uint32(b[offCount:])), uint64(le.Uint32(b[offTextLen:]))
	if header < headerLen || stride < recordLen || header+count*stride+text > uint64(len(b)) {
		return frame{}, ErrLength
	}
	return frame{header: int(header), stride: int(stride), count: int(count), text: int(text)}, nil
}

func oldApplyDelta(base, delta []byte) ([]byte, error) {
	f, err := oldFrame(base)
	if err != nil {
		return nil, err
	}
	b, le := slices.Clone(base), binary.LittleEndian
	for i := range f.count {
		at := f.record(i) + recAgeMs
		le.PutUint32(b[at:], aged(le.Uint32(b[at:]), le.Uint32(delta[delShift:])))
	}
	header, count := int(le.Uint16(delta[offHeaderLen:])), int(le.Uint32(delta[delCount:]))
	off, n := int(le.Uint16(delta[delPatchOff:])), int(le.Uint16(delta[delPatchLen:]))
	if off < patchOff || off+n > f.stride {
		return nil, ErrLength
	}
	for changes := delta[header:]; count > 0; count-- {
		copy(b[f.record(int(le.Uint32(changes)))+off:], changes[indexLen:indexLen+n])
		changes = changes[indexLen+n:]
	}
	copy(b[offVersion:offVersion+8], delta[delVersion:])
	copy(b[offChecksum:offChecksum+8], delta[delSum:])
	if le.Uint64(b[offChecksum:]) != xxhash.Sum64(b[offTotal:]) {
		return nil, ErrChecksum
	}
	return b, nil
}
