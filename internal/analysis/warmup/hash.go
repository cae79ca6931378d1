package warmup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"

	"krund/internal/analysis/dataset"
)

// revision changes whenever the same data and parameters may give a different result, so that
// earlier results are not reused.
const revision = 2

// inputHash covers everything that a pair's result depends on: the parameters as JSON, and the pair
// with the columns that an analysis of one column reads.
func inputHash(pair *dataset.Pair, column string, parameters []byte) string {
	h := hasher{Hash: sha256.New()}
	h.number(revision)
	h.text(string(parameters))
	h.text(pair.Key.String())
	h.number(len(pair.Executions))
	for i := range pair.Executions {
		e := &pair.Executions[i]
		h.number(e.Number)
		h.text(string(e.Outcome))
		if e.Instrument != "" {
			h.text(e.Instrument)
		}
		if e.Uncovered() || e.Doubt() != "" { // which are warnings
			h.text(fmt.Sprint("loop", *e.Loop, e.Doubt()))
		}
		h.number(len(e.Columns))
		for k := range e.Columns {
			c := &e.Columns[k]
			if c.Name != column && c.Name != dataset.Wall && c.Name != dataset.CoreCycles {
				h.number(c.Len())
				continue
			}
			h.column(c)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hasher writes values with an unambiguous encoding of lists.
type hasher struct {
	hash.Hash
	buffer []byte
}

// flush adds what was collected. A hash.Hash never fails.
func (h *hasher) flush() {
	h.Write(h.buffer)
	h.buffer = h.buffer[:0]
}

func (h *hasher) number(n int) {
	h.buffer = binary.LittleEndian.AppendUint64(h.buffer, uint64(n))
	h.flush()
}

func (h *hasher) text(s string) {
	h.number(len(s))
	h.buffer = append(h.buffer, s...)
	h.flush()
}

func (h *hasher) column(c *dataset.Column) {
	h.text(c.Name)
	h.text(c.Unit)
	h.number(c.Core)
	h.number(len(c.Reals))
	h.number(len(c.Ints))
	h.number(len(c.Counts))
	for _, v := range c.Reals {
		h.buffer = binary.LittleEndian.AppendUint64(h.buffer, math.Float64bits(v))
	}
	for _, v := range c.Ints {
		h.buffer = binary.LittleEndian.AppendUint64(h.buffer, uint64(v))
	}
	for _, v := range c.Counts {
		h.buffer = binary.LittleEndian.AppendUint64(h.buffer, v)
	}
	h.flush()
}
