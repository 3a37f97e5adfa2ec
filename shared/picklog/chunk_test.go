package picklog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/goldentest"
)

// section is a decoded section, and chunk a decoded chunk.
type section struct {
	Kind    Section
	ID      uint64
	Skipped uint32
	Blocks  []uint64
	Runs    []byte
	Events  []StateEvent
	Health  []StateHealth
}

type chunk struct {
	Header   ChunkHeader
	Sections []section
}

func sampleChunk() chunk {
	return chunk{
		Header: ChunkHeader{BlockTokens: 64, Epoch: 0x1122334455667788, At: 7_000_000_000},
		Sections: []section{
			{Kind: SectionBlocks, ID: 0xAA, Blocks: []uint64{1, 2, 3}, Runs: []byte{2, 1}},
			{Kind: SectionBlocks, ID: 0xBB, Skipped: 8000, Blocks: []uint64{4}, Runs: []byte{1}},
			{Kind: SectionEvents, ID: 0xFACE, Events: []StateEvent{{0xAA, 1, 5}, {0xBB, 2, 6}}},
			{Kind: SectionHealth, Health: []StateHealth{{0xBB, 9, Health{6_000_000_000, 8_000_000_000, 3}}}},
		},
	}
}

func (c *chunk) encode() []byte {
	b := AppendChunk(nil, &c.Header)
	for i := range c.Sections {
		s, at := &c.Sections[i], len(b)
		b = AppendSection(b, s.Kind, s.ID, s.Skipped)
		b = AppendBlocks(b, s.Blocks, s.Runs)
		for _, e := range s.Events {
			b = AppendStateEvent(b, e)
		}
		for k := range s.Health {
			b = AppendStateHealth(b, &s.Health[k])
		}
		CloseSection(b, at, len(s.Blocks)+len(s.Events)+len(s.Health))
	}
	return b
}

func openChunk(t *testing.T, b []byte) chunk {
	t.Helper()
	c, err := OpenChunk(b)
	if err != nil {
		t.Fatal(err)
	}
	return decodeChunk(c)
}

func decodeChunk(c Chunk) chunk {
	out := chunk{Header: c.ChunkHeader}
	for c.Next() {
		s := section{Kind: c.Kind, ID: c.ID, Skipped: c.Skipped}
		for c.Kind == SectionBlocks && c.Len() > 0 {
			run := c.AppendRun(nil)
			s.Blocks, s.Runs = append(s.Blocks, run...), append(s.Runs, byte(len(run)))
		}
		for i := range c.Len() {
			switch c.Kind {
			case SectionEvents:
				s.Events = append(s.Events, c.Event(i))
			case SectionHealth:
				var x StateHealth
				c.Health(i, &x)
				s.Health = append(s.Health, x)
			}
		}
		out.Sections = append(out.Sections, s)
	}
	return out
}

func TestChunkGolden(t *testing.T) {
	want := sampleChunk()
	if diff := cmp.Diff(want, openChunk(t, goldentest.Read(t, "chunk_v1_runs.bin", want.encode()))); diff != "" {
		t.Errorf("chunk (-want +got):\n%s", diff)
	}
	without := sampleChunk()
	for i := range without.Sections {
		without.Sections[i].Runs = nil
	}
	want.Sections[0].Runs = []byte{1, 1, 1}
	if diff := cmp.Diff(want, openChunk(t, goldentest.Read(t, "chunk_v1.bin", without.encode()))); diff != "" {
		t.Errorf("chunk without runs (-want +got):\n%s", diff)
	}
}

func TestOpenChunkErrors(t *testing.T) {
	s := sampleChunk()
	good := s.encode()
	tests := []struct {
		name   string
		change func(b []byte) []byte
		want   error
	}{
		{"nothing", func([]byte) []byte { return nil }, ErrTruncated},
		{"other magic", func(b []byte) []byte { b[0] = 'P'; return b }, ErrMagic},
		{"other version", func(b []byte) []byte { b[1] = 2; return b }, ErrVersion},
		{"cut header", func(b []byte) []byte { return b[:ChunkHeaderLen-1] }, ErrTruncated},
		{"no epoch", func(b []byte) []byte { clear(b[chunkEpoch : chunkEpoch+8]); return b }, ErrID},
		{"cut section header", func(b []byte) []byte { return b[:ChunkHeaderLen+SectionHeaderLen-1] }, ErrTruncated},
		{"cut section", func(b []byte) []byte { return b[:len(b)-1] }, ErrLength},
		{"section shorter than its header", func(b []byte) []byte { b[ChunkHeaderLen] = 8; return b }, ErrLength},
		{"one block too many", func(b []byte) []byte { b[ChunkHeaderLen+secCount]++; return b }, ErrLength},
		{"a huge count", func(b []byte) []byte { b[ChunkHeaderLen+secCount+3] = 0xFF; return b }, ErrLength},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := OpenChunk(tt.change(slices.Clone(good))); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestNewerChunk reads what a later version may write: sections of another kind, and more at the end of one that is known.
func TestNewerChunk(t *testing.T) {
	s := sampleChunk()
	b := AppendChunk(nil, &s.Header)
	at := len(b)
	b = append(AppendSection(b, 77, 1, 0), "something else"...)
	CloseSection(b, at, 0)
	at = len(b)
	b = AppendBlocks(AppendSection(b, SectionBlocks, 0xAA, 0), []uint64{1, 2}, []byte{2})
	CloseSection(b, at, 2)
	b = append(b, 9, 9, 9)
	binary.LittleEndian.PutUint32(b[at+secLen:], uint32(len(b)-at))
	want := chunk{Header: s.Header, Sections: []section{{Kind: SectionBlocks, ID: 0xAA, Blocks: []uint64{1, 2}, Runs: []byte{2}}}}
	if diff := cmp.Diff(want, openChunk(t, b)); diff != "" {
		t.Errorf("chunk (-want +got):\n%s", diff)
	}
}

// TestRuns reads runs that do not fit the blocks, or are missing.
func TestRuns(t *testing.T) {
	for _, tt := range []struct{ written, read string }{
		{"\x03", "\x03"}, {"\x01\x02", "\x01\x02"}, {"", "\x01\x01\x01"}, {"\x02", "\x02\x01"}, {"\x00\xff", "\x01\x02"},
	} {
		s := sampleChunk()
		s.Sections = []section{{Kind: SectionBlocks, ID: 0xAA, Blocks: []uint64{1, 2, 3}, Runs: []byte(tt.written)}}
		if got := string(openChunk(t, s.encode()).Sections[0].Runs); got != tt.read {
			t.Errorf("runs %q are read as %q, want %q", tt.written, got, tt.read)
		}
	}
}

// FuzzOpenChunk checks that OpenChunk never panics, and that what it accepts encodes to bytes that decode to the same.
func FuzzOpenChunk(f *testing.F) {
	s := sampleChunk()
	f.Add(s.encode())
	f.Add((&chunk{Header: s.Header}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := OpenChunk(b)
		if err != nil {
			return
		}
		got := decodeChunk(c)
		once := got.encode()
		again := openChunk(t, once)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("after encoding (-before +after):\n%s", diff)
		}
		if !bytes.Equal(again.encode(), once) {
			t.Error("the second encoding differs from the first")
		}
	})
}
