//go:build cgo

package msr

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestRegistersInRecord goes the whole way with sparse files in the place of the
// devices: they are found, handed over, read by libkrun, and come out in the
// record. In a file the eight bytes at 0xe7 and at 0xe8 overlap; so a model says
// what is read: the bytes at an offset as a number.
func TestRegistersInRecord(t *testing.T) {
	const iterations, seed = 200, 5
	random := rand.New(rand.NewPCG(seed, 0))
	_, root := twoCores(t)
	c, r := system{load: noModules}.choose(t.Context(), root, Want{Sources: []string{MSR}, Scope: PerCore})
	must.Need(t, c != nil, r)
	defer func() {
		must.Do(t, c.Close())
	}()
	memory := [2][0x400]byte{}
	write := func(core int) {
		must.Do(t, os.WriteFile(root.Path(deviceName(core)), memory[core][:], 0o600))
	}
	read := func(core int, address uint32) uint64 {
		return binary.NativeEndian.Uint64(memory[core][address:])
	}
	move := func(core int) {
		for _, address := range []uint32{regMPERF, regAPERF, regCycles} {
			step := random.Uint64() >> random.IntN(64)
			binary.NativeEndian.PutUint64(memory[core][address:], read(core, address)+step)
		}
		write(core)
	}
	binary.NativeEndian.PutUint64(memory[1][regCycles:], 1<<48-3) // close to the end
	write(0)
	write(1)

	buffer, m := meter(t, c, iterations)
	var want [][]int64
	for range iterations {
		var before, row []uint64
		must.Do(t, m.Begin())
		for core := range memory {
			before = append(before, read(core, regAPERF), read(core, regMPERF), read(core, regCycles))
			move(core)
			row = append(row, read(core, regAPERF), read(core, regMPERF), read(core, regCycles))
		}
		must.Do(t, m.End())
		deltas := make([]int64, len(row))
		for i := range row {
			bits := 64
			if i%3 == 2 {
				bits = 48
			}
			deltas[i] = int64((row[i] - before[i]) & (1<<(bits-1)<<1 - 1))
		}
		want = append(want, deltas)
	}
	s, err := buffer.Read()
	must.Need(t, err == nil && s.Error == libkrun.OK && s.Done == iterations, err, s.Error, s.Done, "done")
	for i := range want {
		for c, column := range s.Columns {
			must.Need(t, column.Values[i] == want[i][c], "seed", seed, column.Name, "of core", column.Core,
				"in iteration", i, column.Values[i], "want", want[i][c])
		}
	}
}

// duplicate returns another descriptor of a file.
func duplicate(t testing.TB, f *os.File) int {
	t.Helper()
	fd := must.Get(syscall.Dup(int(f.Fd())))(t)
	return fd
}

// keepFiles plans duplicates of the groups' files, because libkrun closes what it is given.
func keepFiles(t testing.TB, groups []libkrun.Group) {
	t.Helper()
	for i, g := range groups {
		if g.File != nil {
			groups[i].FD = duplicate(t, g.File)
		}
	}
}

// meter lets this process measure with counters.
func meter(t *testing.T, c *Counters, iterations int) (*libkrun.Buffer, *libkrun.Meter) {
	t.Helper()
	spec := must.Get(c.Apply(libkrun.Spec{Iterations: iterations}, 3))(t)
	keepFiles(t, spec.Groups)
	buffer := must.Get(libkrun.Create(spec))(t)
	t.Cleanup(func() { _ = buffer.Close() })
	t.Setenv(libkrun.EnvFD, strconv.Itoa(duplicate(t, buffer.File())))
	m := must.Get(libkrun.NewMeter())(t)
	t.Cleanup(m.Close)
	return buffer, m
}

// TestNothingToRead: the source none gives a buffer without columns.
func TestNothingToRead(t *testing.T) {
	c, _ := Open(t.Context(), sysroot.New(t.TempDir()), Want{Sources: []string{None}, Scope: PerCore})
	buffer, m := meter(t, c, 1)
	must.Do(t, m.Begin())
	must.Do(t, m.End())
	s, err := buffer.Read()
	must.Be(t, err == nil && s.Done == 1 && len(s.Columns) == 0 && s.Error == libkrun.OK, s, err)
}
