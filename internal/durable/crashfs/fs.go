package crashfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"krund/internal/durable"
)

// ErrPowerCut is the error of every operation from the cut onward.
var ErrPowerCut = errors.New("crashfs: the power was cut")

// FS is a simulated file system. It implements durable.FS and is safe for concurrent use.
type FS struct {
	mu     sync.Mutex
	root   *inode
	inodes int // created so far; numbers them for the order in which Reboot decides

	log     []Op
	crashAt int // number of the operation in which the power fails; 0: none
	panics  bool
	cut     bool
	faults  []*Fault
	unread  map[string]error
}

var _ durable.FS = (*FS)(nil)

// New returns a file system with the given directories and their parents, all durable. Relative
// names are relative to "/".
func New(dirs ...string) *FS {
	fsys := &FS{unread: make(map[string]error)}
	fsys.root = fsys.newInode(fs.ModeDir | 0o755)
	for _, dir := range dirs {
		fsys.makeDirs(dir)
	}
	return fsys
}

func clean(name string) string { return path.Clean("/" + name) }

// makeDirs creates durable directories without counting operations.
func (fsys *FS) makeDirs(dir string) *inode {
	at := fsys.root
	for _, part := range strings.FieldsFunc(clean(dir), func(r rune) bool { return r == '/' }) {
		next := at.entries[part]
		if next == nil {
			next = fsys.newInode(fs.ModeDir | 0o755)
			at.entries[part], at.stableEntries[part] = next, next
		}
		at = next
	}
	return at
}

// Put creates a durable file and its parent directories without counting operations: the initial
// state of a test.
func (fsys *FS) Put(name string, data []byte) {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	dir, base := path.Split(clean(name))
	at := fsys.makeDirs(dir)
	node := fsys.newInode(0o644)
	node.data, node.stable = slices.Clone(data), slices.Clone(data)
	at.entries[base], at.stableEntries[base] = node, node
}

// Files returns the content of every file as a program sees it now, by full name. It also works
// after a cut.
func (fsys *FS) Files() map[string][]byte {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	files := make(map[string][]byte)
	fsys.root.collect("", files)
	return files
}

// State describes every file and directory, with its mode, as a program sees them now. File systems
// after a Reboot of which it is the same cannot be told apart.
func (fsys *FS) State() string {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	var text strings.Builder
	fsys.root.describe(&text, "/")
	return text.String()
}

func (n *inode) describe(text *strings.Builder, name string) {
	fmt.Fprintf(text, "%q %v %q %d\n", name, n.mode, n.data, len(n.entries))
	for _, base := range slices.Sorted(maps.Keys(n.entries)) {
		n.entries[base].describe(text, base)
	}
}

func (n *inode) collect(at string, files map[string][]byte) {
	for name, child := range n.entries {
		if child.mode.IsDir() {
			child.collect(at+"/"+name, files)
		} else {
			files[at+"/"+name] = slices.Clone(child.data)
		}
	}
}

// find returns the inode of name.
func (fsys *FS) find(name string) (*inode, error) {
	at := fsys.root
	for _, part := range strings.FieldsFunc(clean(name), func(r rune) bool { return r == '/' }) {
		if !at.mode.IsDir() {
			return nil, syscall.ENOTDIR
		}
		if at = at.entries[part]; at == nil {
			return nil, fs.ErrNotExist
		}
	}
	return at, nil
}

// findDir returns the parent directory of name, and the last component of name.
func (fsys *FS) findDir(name string) (*inode, string, error) {
	dir, base := path.Split(clean(name))
	at, err := fsys.find(dir)
	if err == nil && !at.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil && base == "" {
		err = fs.ErrInvalid
	}
	return at, base, err
}

// OpenFile opens a file. It counts as an operation if it creates or truncates one.
func (fsys *FS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	var node *inode
	err := fsys.change("open", name, func(dir *inode, base string) (err error) {
		node, err = fsys.open(dir, base, name, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &file{fsys: fsys, node: node, name: clean(name), flag: flag}, nil
}

func (fsys *FS) open(dir *inode, base, name string, flag int, perm fs.FileMode) (*inode, error) {
	node := dir.entries[base]
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case node == nil && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case node == nil:
		return fsys.create(dir, name, base, perm.Perm())
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, fs.ErrExist
	case node.mode.IsDir() && writes:
		return nil, syscall.EISDIR
	case flag&os.O_TRUNC != 0 && writes && len(node.data) > 0:
		err := fsys.do(Op{Kind: Truncate, Name: clean(name)}, func(int) { node.truncate() })
		return node, err
	}
	return node, nil
}

// create adds a new inode to dir.
func (fsys *FS) create(dir *inode, name, base string, mode fs.FileMode) (*inode, error) {
	kind := Create
	if mode.IsDir() {
		kind = Mkdir
	}
	node := fsys.newInode(mode)
	err := fsys.do(Op{Kind: kind, Name: clean(name), grows: true}, func(int) {
		dir.change(nameChange{to: base, node: node})
	})
	return node, err
}

// Mkdir creates a directory.
func (fsys *FS) Mkdir(name string, perm fs.FileMode) error {
	return fsys.change("mkdir", name, func(dir *inode, base string) error {
		if dir.entries[base] != nil {
			return fs.ErrExist
		}
		_, err := fsys.create(dir, name, base, fs.ModeDir|perm.Perm())
		return err
	})
}

// Remove removes a file or an empty directory.
func (fsys *FS) Remove(name string) error {
	return fsys.change("remove", name, func(dir *inode, base string) error {
		node := dir.entries[base]
		switch {
		case node == nil:
			return fs.ErrNotExist
		case len(node.entries) > 0:
			return syscall.ENOTEMPTY
		}
		return fsys.do(Op{Kind: Remove, Name: clean(name)}, func(int) {
			dir.change(nameChange{from: base, node: node})
		})
	})
}

// Rename moves a file within its directory.
func (fsys *FS) Rename(oldName, newName string) error {
	return fsys.change("rename", oldName, func(dir *inode, oldBase string) error {
		to, newBase, err := fsys.findDir(newName)
		if err != nil {
			return err
		}
		node, replaced := dir.entries[oldBase], to.entries[newBase]
		switch {
		case node == nil:
			return fs.ErrNotExist
		case to != dir:
			return syscall.EXDEV
		case replaced != nil && replaced.mode.IsDir():
			return fs.ErrExist // package os refuses to replace directories
		case replaced != nil && node.mode.IsDir():
			return syscall.ENOTDIR
		case replaced == node:
			return nil
		}
		op := Op{Kind: Rename, Name: clean(oldName), To: clean(newName)}
		return fsys.do(op, func(int) { dir.change(nameChange{oldBase, newBase, node}) })
	})
}

// call locks the file system for one call, unless the power is cut.
func (fsys *FS) call(op, name string, act func() error) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	err := error(ErrPowerCut)
	if !fsys.cut {
		err = act()
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// change is a call that may change a directory.
func (fsys *FS) change(op, name string, act func(dir *inode, base string) error) error {
	return fsys.call(op, name, func() error {
		dir, base, err := fsys.findDir(name)
		if err == nil {
			err = act(dir, base)
		}
		return err
	})
}

// SyncDir makes the names in a directory durable.
func (fsys *FS) SyncDir(name string) error {
	return fsys.call("sync", name, func() error {
		node, err := fsys.find(name)
		if err == nil && !node.mode.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return err
		}
		return fsys.do(Op{Kind: SyncDir, Name: clean(name)}, func(int) { node.syncEntries() })
	})
}

// ReadDir lists a directory, sorted by name.
func (fsys *FS) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = fsys.call("readdir", name, func() error {
		node, err := fsys.look(name)
		if err == nil && !node.mode.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return err
		}
		for _, base := range slices.Sorted(maps.Keys(node.entries)) {
			list = append(list, fs.FileInfoToDirEntry(node.entries[base].info(base)))
		}
		return nil
	})
	return list, err
}

// Lstat describes a file or directory. Times are zero and Sys is nil.
func (fsys *FS) Lstat(name string) (found fs.FileInfo, err error) {
	err = fsys.call("lstat", name, func() error {
		node, err := fsys.look(name)
		if err == nil {
			found = node.info(path.Base(clean(name)))
		}
		return err
	})
	return found, err
}

// look is find for read operations.
func (fsys *FS) look(name string) (*inode, error) {
	if err := fsys.unread[clean(name)]; err != nil {
		return nil, err
	}
	return fsys.find(name)
}
