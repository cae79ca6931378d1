package results

import (
	"encoding/binary"
	"iter"
)

// Packed is a series of integers that uses a few bytes of memory per value: the difference from the
// previous value, as a varint. It can only be traversed from the start. Values are stored as
// uint64; int64 values in two's complement, which does not affect the differences. The zero Packed
// is an empty series.
type Packed struct {
	blocks [][]byte
	last   uint64
	n      int
}

// blockSize is the size in bytes of a block. Blocks are never copied, unlike one long slice that
// grows.
const blockSize = 64 << 10

// Len returns the number of values, 0 for nil.
func (p *Packed) Len() int {
	if p == nil {
		return 0
	}
	return p.n
}

func (p *Packed) add(v uint64) {
	end := len(p.blocks) - 1
	if end < 0 || cap(p.blocks[end])-len(p.blocks[end]) < binary.MaxVarintLen64 {
		p.blocks = append(p.blocks, make([]byte, 0, blockSize))
		end++
	}
	p.blocks[end] = binary.AppendVarint(p.blocks[end],
		int64(v-p.last)) //nolint:gosec // it wraps around, and back
	p.last = v
	p.n++
}

// Cursor returns a function that returns the next value per call; ok is false after the last one. A
// nil Packed has no values.
func (p *Packed) Cursor() (next func() (v uint64, ok bool)) {
	if p == nil {
		return func() (uint64, bool) { return 0, false }
	}
	var block []byte
	v, blocks := uint64(0), p.blocks
	return func() (uint64, bool) {
		for len(block) == 0 {
			if len(blocks) == 0 {
				return 0, false
			}
			block, blocks = blocks[0], blocks[1:]
		}
		step, size := binary.Varint(block)
		block = block[size:]
		v += uint64(step) //nolint:gosec // see add
		return v, true
	}
}

// All yields the values in order, none for nil.
func (p *Packed) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		next := p.Cursor()
		for v, ok := next(); ok && yield(v); v, ok = next() {
		}
	}
}

// packed packs a list, nil for nil.
func packed[T int64 | uint64](list []T) *Packed {
	if list == nil {
		return nil
	}
	p := new(Packed)
	for _, v := range list {
		p.add(uint64(v))
	}
	return p
}
