package libkrun

import (
	"encoding/binary"
	"testing"

	"krund/rig/must"
)

// TestView: what the measured process writes is seen, bounded, and Stop reaches it.
func TestView(t *testing.T) {
	b := must.Get(Create(Spec{Iterations: 5, UserColumns: 3}))(t)
	defer b.Close()
	v := must.Get(NewView(b.File(), true))(t)
	defer v.Close()
	put := func(offset int64, value uint64) {
		t.Helper()
		must.Get(b.File().WriteAt(binary.NativeEndian.AppendUint64(nil, value), offset))(t)
	}
	at := place(5, 3, 0)
	put(at.wall, 700)
	put(at.wall+8, ^uint64(0))
	put(hotDone, 2)
	must.Be(t, v.Iterations() == 5 && v.Done() == 2 && v.Wall(0) == 700 && v.Wall(1) == -1, v.Done(), "of",
		v.Iterations(), v.Wall(0), "and", v.Wall(1), "ns")
	put(hotDone, ^uint64(0))
	must.Equal(t, v.Done(), 5, "are done of 5")
	v.Stop()
	var flag [4]byte
	_, err := b.File().ReadAt(flag[:], controlStop)
	must.Be(t, err == nil && binary.NativeEndian.Uint32(flag[:]) == 1, "stop flag", flag, err)
}

// TestViewRefuses: a file that is no buffer, or whose plan leads out of it.
func TestViewRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		offset int64
		value  uint64
		want   string
	}{
		"magic":      {0, 0, "it is none"},
		"version":    {planVersion, 99, "version 99"},
		"iterations": {planIterations, 1 << 20, "do not fit"},
		"none":       {planIterations, 0, "0 iterations"},
		"offset":     {planWallOffset, 1 << 40, "do not fit"},
		"unaligned":  {planWallOffset, 513, "do not fit"},
		"overflow":   {planWallOffset, ^uint64(0) - 7, "do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			b := must.Get(Create(Spec{Iterations: 5}))(t)
			defer b.Close()
			must.Get(b.File().WriteAt(binary.NativeEndian.AppendUint64(nil, test.value), test.offset))(t)
			must.Refused(NewView(b.File(), false))(t, test.want)
		})
	}
}
