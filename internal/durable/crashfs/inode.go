package crashfs

import (
	"io/fs"
	"maps"
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

func (n *inode) link(name string, node *inode) {
	n.change(nameChange{to: name, node: node})
}

func (n *inode) unlink(name string) {
	n.change(nameChange{from: name, node: n.entries[name]})
}

func (n *inode) rename(from, to string, node *inode) {
	n.change(nameChange{from: from, to: to, node: node})
}

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
