package prefixindex

// table is an open-addressing hash table of ids with linear probing, in which at least one place is free. It does not know the keys: a place holds the id in its
// low and 32 bits of the key's hash in its high half, and the caller compares keys where the hash agrees. Deletion shifts
// later places back, so that there are no tombstones and a lookup stays short for ever.
type table struct {
	slots []uint64 // length is a power of two
	n     int
}

// emptyTable returns a table that grows with the first id.
func emptyTable() table { return table{slots: make([]uint64, 1)} }

func (t *table) bytes() int { return 8 * cap(t.slots) }

// mix spreads a key over 32 bits of hash. Chain hashes are well mixed, (run, slot) pairs are not.
func mix(key uint64) uint32 {
	key *= 0x9E3779B97F4A7C15
	return uint32((key ^ key>>29) >> 32)
}

// pairKey is the key of a shared record.
func pairKey(run, slot uint32) uint64 { return uint64(run)<<32 | uint64(slot) }

// full reports whether the table is to grow before an id is added. It keeps at least three eighths of its places free.
func (t *table) full() bool { return (t.n+1)*8 > len(t.slots)*5 }

// put adds an id that is not in the table, which is not full.
func (t *table) put(hash, id uint32) {
	t.n++
	t.place(hash, id)
}

func (t *table) place(hash, id uint32) {
	s := t.slots
	mask := uint32(len(s) - 1)
	i := hash & mask
	for s[i&mask] != 0 {
		i++
	}
	s[i&mask] = uint64(hash)<<32 | uint64(id)
}

// grow makes room for n ids, and for one more than there are at least.
//
//go:noinline
func (t *table) grow(n int) {
	old := t.slots
	size := 2 * len(old)
	for n*8 > size*5 {
		size *= 2
	}
	t.slots = make([]uint64, size)
	for _, v := range old {
		if v != 0 {
			t.place(uint32(v>>32), uint32(v))
		}
	}
}

// remove deletes an id that is in the table, and moves back what follows it in the same run.
func (t *table) remove(hash, id uint32) {
	s := t.slots
	mask := uint32(len(s) - 1)
	want := uint64(hash)<<32 | uint64(id)
	i := hash & mask
	for s[i&mask] != want {
		i++
	}
	hole := i & mask
	for j := (hole + 1) & mask; s[j] != 0; j = (j + 1) & mask {
		home := uint32(s[j]>>32) & mask
		if (j-home)&mask >= (j-hole)&mask {
			s[hole] = s[j]
			hole = j
		}
	}
	s[hole] = 0
	t.n--
}

// find returns the run that begins with this chain hash, or 0. It is not copied into its callers: whichever comes first brings it
// into the caches, and the module is smaller.
//
//go:noinline
func (x *Index) find(key uint64) uint32 {
	s := x.table.slots
	mask := uint32(len(s) - 1)
	hash := mix(key)
	for i := hash; ; i++ {
		v := s[i&mask]
		if v == 0 || uint32(v>>32) == hash && x.runs[uint32(v)].keys[0] == key {
			return uint32(v)
		}
	}
}

// common returns how many blocks of chain, one at least, are those of run e, which begins with chain[0].
//
//go:noinline
func (x *Index) common(e uint32, chain []uint64) int {
	r := &x.runs[e]
	chain = chain[:min(int(r.len()), len(chain))]
	m, k := 1, 1
	for {
		for k < partKeys && m < len(chain) && r.keys[k] == chain[m] {
			m++
			k++
		}
		if k < partKeys || m >= len(chain) {
			return m
		}
		r, k = &x.runs[r.next], 0
	}
}

// findRecord returns the record of (e, slot), which must exist.
func (x *Index) findRecord(e, slot uint32) uint32 {
	if r := x.runs[e].rec; r != 0 && x.recs[r].slot() == slot {
		return r
	}
	s := x.shared.slots
	mask := uint32(len(s) - 1)
	hash := mix(pairKey(e, slot))
	for i := hash & mask; ; i = (i + 1) & mask {
		v := s[i&mask]
		if uint32(v>>32) == hash {
			if r := &x.recs[uint32(v)]; r.run == e && r.slot() == slot {
				return uint32(v)
			}
		}
	}
}

// held reports whether slot holds blocks of run e.
func (x *Index) held(e, slot uint32) bool {
	return *x.word(e, slot)>>(slot%wordBits)&1 != 0
}

// word returns the word of the holders of run e that has the bit of slot.
func (x *Index) word(e, slot uint32) *uint64 {
	if x.words == 1 {
		return &x.runs[e].bits[0]
	}
	return &x.bits[int(e)*x.words+int(slot/wordBits)]
}
