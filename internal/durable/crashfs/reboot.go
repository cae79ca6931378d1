package crashfs

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// sectorBytes is the unit that a disk writes atomically.
const sectorBytes = 512

// inode is a file or a directory without its name. The first field of each pair is what programs
// see, the second what is guaranteed to survive; between them are the changes that may survive.
type inode struct {
	number int
	mode   fs.FileMode
	locked *file // holder of the lock

	data, stable []byte
	sizes        []int             // sizes since the last Sync, oldest first
	sectors      map[int][]version // contents of sectors since the last Sync, oldest first

	entries, stableEntries map[string]*inode
	names                  []nameChange // since the last SyncDir, oldest first
}

// version is a content of a sector that may survive.
type version struct {
	data  []byte // sectorBytes, zeros beyond the end of the file
	limbo bool   // a Sync failed to write it, and later ones skip it
}

// nameChange is one change of a directory: node gets the name to, unless that is empty, and loses
// the name from.
type nameChange struct {
	from, to string
	node     *inode
}

func (fsys *FS) newInode(mode fs.FileMode) *inode {
	fsys.inodes++
	n := &inode{number: fsys.inodes, mode: mode, sectors: make(map[int][]version)}
	if mode.IsDir() {
		n.entries, n.stableEntries = make(map[string]*inode), make(map[string]*inode)
	}
	return n
}

// write changes what programs see and records the affected sectors.
func (n *inode) write(p []byte, offset int) {
	if len(p) == 0 {
		return
	}
	if end := offset + len(p); end > len(n.data) {
		n.data = append(n.data, make([]byte, end-len(n.data))...)
		n.sizes = append(n.sizes, end)
	}
	copy(n.data[offset:], p)
	n.touch(offset/sectorBytes, (offset+len(p)-1)/sectorBytes)
}

// touch adds the current content of the sectors first to last as versions.
func (n *inode) touch(first, last int) {
	for s := first; s <= last; s++ {
		n.sectors[s] = append(n.sectors[s], version{data: sector(n.data, s)})
	}
}

// sector returns a copy of a sector, zeros beyond the end.
func sector(data []byte, s int) []byte {
	content := make([]byte, sectorBytes)
	if at := s * sectorBytes; at < len(data) {
		copy(content, data[at:])
	}
	return content
}

func (n *inode) truncate() {
	last := (len(n.data) - 1) / sectorBytes
	n.data = nil
	n.sizes = append(n.sizes, 0)
	n.touch(0, last)
}

// sync makes everything durable except what an earlier Sync failed to write.
func (n *inode) sync() {
	n.stable = resize(n.stable, len(n.data))
	for s, versions := range n.sectors {
		latest := versions[len(versions)-1]
		if latest.limbo {
			continue
		}
		if at := s * sectorBytes; at < len(n.stable) {
			copy(n.stable[at:], latest.data)
		}
		delete(n.sectors, s)
	}
	n.sizes = nil
}

// failSync leaves everything that was to be written in limbo.
func (n *inode) failSync() {
	for _, versions := range n.sectors {
		for i := range versions {
			versions[i].limbo = true
		}
	}
}

func resize(data []byte, size int) []byte {
	if size <= len(data) {
		return data[:size:size]
	}
	return append(slices.Clip(data), make([]byte, size-len(data))...)
}

// change performs a change of a directory, which may not survive.
func (n *inode) change(c nameChange) {
	c.apply(n.entries)
	n.names = append(n.names, c)
}

// apply works even if earlier changes were lost: a name that belongs to another file by then is
// kept.
func (c nameChange) apply(entries map[string]*inode) {
	if c.from != "" && entries[c.from] == c.node {
		delete(entries, c.from)
	}
	if c.to != "" {
		entries[c.to] = c.node
	}
}

func (n *inode) syncEntries() {
	n.stableEntries = maps.Clone(n.entries)
	n.names = nil
}

// info describes the inode under a name.
func (n *inode) info(name string) fs.FileInfo {
	return info{name: name, mode: n.mode, size: int64(len(n.data))}
}

type info struct {
	name string
	mode fs.FileMode
	size int64
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// Policy decides which of the changes that were not durable survive a cut. Policies are values and
// deterministic: the same policy decides the same way about the same cut.
type Policy struct {
	name  string
	names keep // creations, renamings, removals
	data  keep // sectors and sizes
	torn  bool // sectors may be mixtures of old and new bytes
	seed  uint64
}

type keep int

const (
	none keep = iota
	some
	all
)

// The deterministic policies.
var (
	// Nothing survives except what was promised.
	Nothing = Policy{name: "nothing"}
	// Everything survives: the process died, not the machine.
	Everything = Policy{name: "everything", names: all, data: all}
	// Names survive, contents do not: metadata is written first.
	Names = Policy{name: "names", names: all}
	// Contents survive, names do not.
	Contents = Policy{name: "contents", data: all}
)

// Random decides randomly about each sector, size and name.
func Random(seed uint64) Policy {
	return Policy{name: fmt.Sprintf("random %d", seed), names: some, data: some, seed: seed}
}

// Torn is Random with a disk that does not write its 512-byte sectors atomically: bytes of old and
// new content mix within a sector. Disks promise not to do this; checksums should detect it.
func Torn(seed uint64) Policy {
	p := Random(seed)
	p.name, p.torn = fmt.Sprintf("torn %d", seed), true
	return p
}

// Policies returns all policies except Torn, with three Random ones that differ by seed.
func Policies(seed uint64) []Policy {
	return []Policy{Nothing, Everything, Names, Contents, Random(3*seed + 1), Random(3*seed + 2),
		Random(3*seed + 3)}
}

// String returns the name of the policy with its seed.
func (p Policy) String() string { return p.name }

// Reboot cuts the power, unless that has already happened, and returns the file system found
// afterwards: everything in it is durable, no file is open, there are no faults, and operations
// count from 1. It may be called again with another policy for the same cut.
func (fsys *FS) Reboot(p Policy) *FS {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	fsys.cut = true
	return fsys.survivor(p)
}

// Survivor returns what Reboot would, and does not affect fsys.
func (fsys *FS) Survivor(p Policy) *FS {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return fsys.survivor(p)
}

func (fsys *FS) survivor(p Policy) *FS {
	b := boot{
		policy: p,
		chance: rand.New(rand.NewPCG(p.seed, uint64(len(fsys.log)))),
		after:  &FS{unread: make(map[string]error)},
		moved:  make(map[*inode]*inode),
	}
	b.after.root = b.node(fsys.root)
	return b.after
}

// boot is the state of Reboot while it traverses the directories.
type boot struct {
	policy Policy
	chance *rand.Rand
	after  *FS
	moved  map[*inode]*inode // from before the cut to after it
}

// node returns what remains of n.
func (b *boot) node(n *inode) *inode {
	if seen := b.moved[n]; seen != nil {
		return seen
	}
	left := b.after.newInode(n.mode)
	b.moved[n] = left
	if !n.mode.IsDir() {
		left.data = b.content(n)
		left.stable = slices.Clone(left.data)
		return left
	}
	entries := maps.Clone(n.stableEntries)
	for _, c := range n.names {
		if b.survives(b.policy.names) {
			c.apply(entries)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(entries), func(x, y string) int {
		return cmp.Or(entries[x].number-entries[y].number, cmp.Compare(x, y))
	}) {
		child := b.node(entries[name])
		left.entries[name], left.stableEntries[name] = child, child
	}
	return left
}

func (b *boot) survives(k keep) bool {
	return k == all || k == some && b.chance.IntN(2) == 1
}

// content decides about the size and each sector of a file.
func (b *boot) content(n *inode) []byte {
	data := resize(slices.Clone(n.stable), b.size(n))
	b.rubbish(data, len(n.stable))
	for _, s := range slices.Sorted(maps.Keys(n.sectors)) {
		at := s * sectorBytes
		if at >= len(data) {
			break
		}
		versions := n.sectors[s]
		pick := len(versions) // 0 is what was promised
		switch b.policy.data {
		case none:
			pick = 0
		case some:
			pick = b.chance.IntN(len(versions) + 1)
		}
		if pick > 0 {
			b.put(data[at:], versions[pick-1].data)
		}
	}
	return data
}

// size chooses between the guaranteed size and the others.
func (b *boot) size(n *inode) int {
	switch {
	case len(n.sizes) == 0 || b.policy.data == none:
		return len(n.stable)
	case b.policy.data == all:
		return len(n.data)
	}
	if pick := b.chance.IntN(len(n.sizes) + 1); pick > 0 {
		return n.sizes[pick-1]
	}
	return len(n.stable)
}

// rubbish randomly fills the new part of a file with what the disk contained before: most systems
// show zeros there, some do not.
func (b *boot) rubbish(data []byte, from int) {
	if b.policy.data != some || from >= len(data) || b.chance.IntN(2) == 0 {
		return
	}
	for i := from; i < len(data); i++ {
		data[i] = byte(b.chance.Uint32())
	}
}

// put writes a sector or, under Torn, its first or last part.
func (b *boot) put(to, content []byte) {
	to = to[:min(len(to), sectorBytes)]
	from, end := 0, len(to)
	if b.policy.torn && b.chance.IntN(2) == 1 {
		cut := b.chance.IntN(len(to))
		if b.chance.IntN(2) == 1 {
			from = cut
		} else {
			end = cut
		}
	}
	copy(to[from:end], content[from:])
}
