package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The sweep removes what a hostile account has left on the disk: trees of any depth and width.
//
// It walks on descriptors, one directory after the other, and never follows a symbolic link or
// enters another mount. It holds a bounded number of descriptors and a bounded amount of memory,
// whatever the tree looks like: a directory that is nested too deep to be entered is first moved up
// into one that will be removed anyway. Names that change meanwhile do no harm: an entry is
// removed by its name in an open directory, and an open directory is judged by its own owner.
//
// A device number is no mount: on btrfs each subvolume, which any user can make, has one of its
// own, and on an overlay each layer. Subvolumes are removed like directories, those that their
// owner has made read-only, too. Directories cannot be renamed from one to another, so a subvolume
// is moved up before it is entered: there is never one inside another on the way down.
//
// It does not clear flags that forbid removal (chattr +i), which only root can set.

const (
	maxOpen = 200 // directories open at a time
	batch   = 128 // names of a directory in memory
	anyone  = -1
)

// errMount is in the error when another file system is mounted inside the tree. That file system is
// not touched.
var errMount = errors.New("a file system is mounted there; unmount it")

// removeTree removes name with everything below it, regardless of the owner. A name that does not
// exist, and entries that others remove meanwhile, are no errors. It returns how many entries it
// removed, and stops with the cause of ctx when ctx ends.
func removeTree(ctx context.Context, name string) (removed int, err error) {
	return again(ctx, name, func(w *walk) (bool, error) {
		parent, err := openRoot(filepath.Dir(name))
		if err != nil {
			return true, err
		}
		st, err := parent.stat()
		if err != nil {
			return true, errors.Join(err, parent.close())
		}
		w.push(frame{directory: parent, device: deviceOf(st), names: []string{filepath.Base(name)},
			whole: true})
		w.run()
		return w.failures == 0, nil
	})
}

// removeOwned removes everything below dir that belongs to the user uid, where that user can have
// created it. It removes neither other users' files in the user's directories, which then stay too,
// nor anything below another mount: one where the user can have written is an error. dir itself
// stays; it may be a symbolic link, unlike entries below it. A dir that does not exist is empty.
// The results are those of removeTree.
func removeOwned(ctx context.Context, dir string, uid int) (removed int, err error) {
	return again(ctx, dir, func(w *walk) (bool, error) {
		w.uid = uid
		top, err := openRoot(dir)
		if err != nil {
			return true, err
		}
		st, err := top.stat()
		if err != nil {
			return true, errors.Join(err, top.close())
		}
		const others = 0o002
		w.shortcuts = st.Mode&others != 0
		w.push(frame{directory: top, device: deviceOf(st)})
		before := w.removed
		w.run()
		// Removing entries of a directory during its reading may hide other entries from the
		// reader.
		return w.removed == before, nil
	})
}

// again repeats a walk until it is done or makes no progress.
func again(ctx context.Context, name string, once func(*walk) (done bool, err error)) (int, error) {
	w := &walk{ctx: ctx, name: name, uid: anyone}
	for {
		// The mark cannot be guessed, so no entry can pass for one that was moved up.
		w.mark, w.failed, w.failures = ".krund-"+rand.Text()+"-", nil, 0
		before := w.removed
		done, err := once(w)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return w.removed, nil
		case err != nil:
			return w.removed, fmt.Errorf("%s: %w", shorten(name), err)
		case ctx.Err() != nil:
			return w.removed, fmt.Errorf("%s: not all is removed: %w", shorten(name), context.Cause(ctx))
		case done || w.removed == before:
			return w.removed, w.failed
		}
	}
}

// walk is one depth-first walk through a tree. Its stack is the path to the current directory.
type walk struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one call
	name    string
	uid     int // owner of the entries to remove, or anyone
	mark    string
	stack   []frame
	removed int

	shortcuts bool // see shut

	failed   error // the first
	failures int
}

// frame is an open directory on the path.
type frame struct {
	*directory
	device uint64
	name   string   // in its parent
	goes   bool     // remove the directory itself, too
	names  []string // read but not processed
	whole  bool     // all names have been read
	moved  int      // directories moved up into this one
	taken  int      // of these, how many were processed
	shut   bool     // see walk.shut
}

// shut reports whether the user cannot have created entries in a directory: it belongs to another
// user, and neither its group nor others may write to it (access control lists show in the bits of
// the group). This is assumed only below directories for everyone, such as /tmp: in spools,
// programs with privileges create files for users. Of such a directory only the subdirectories are
// examined, because reading the owner of each of a hundred thousand files in /tmp takes many
// seconds after a boot.
func (w *walk) shut(st unix.Stat_t) bool {
	const writable = 0o022
	return w.shortcuts && int(st.Uid) != w.uid && st.Mode&writable == 0
}

// barred reports whether the user cannot reach anything below a directory.
func (w *walk) barred(st unix.Stat_t) bool {
	const passable = 0o011
	return w.shut(st) && st.Mode&passable == 0
}

// list returns further entries of the directory, and none at the end.
func (f *frame) list() ([]string, error) {
	if f.shut {
		return f.directories()
	}
	return f.read(batch)
}

func (w *walk) push(f frame) { w.stack = append(w.stack, f) }

func (w *walk) run() {
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		name, ok := "", false
		if w.ctx.Err() == nil {
			name, ok = w.next(top)
		}
		if !ok {
			w.pop()
			continue
		}
		w.entry(top, name)
	}
}

// next returns the next entry of a directory: first its own entries, then those moved into it.
func (w *walk) next(f *frame) (name string, ok bool) {
	for {
		for len(f.names) > 0 {
			name, f.names = f.names[0], f.names[1:]
			if !strings.HasPrefix(name, w.mark) {
				return name, true
			}
		}
		if f.whole {
			break
		}
		var err error
		if f.names, err = f.list(); err != nil {
			w.fail(f.name, err)
		}
		f.whole = len(f.names) == 0
	}
	if f.taken == f.moved {
		return "", false
	}
	f.taken++
	return w.mark + strconv.Itoa(f.taken), true
}

// pop leaves a directory and removes it if frame.goes is set.
func (w *walk) pop() {
	last := len(w.stack) - 1
	f := w.stack[last]
	w.stack = w.stack[:last]
	if err := f.close(); err != nil {
		w.fail(f.name, err)
	}
	if f.goes && w.ctx.Err() == nil {
		w.unlink(&w.stack[last-1], f.name, unix.AT_REMOVEDIR)
	}
}

func (w *walk) entry(in *frame, name string) {
	st, err := in.lstat(name)
	if err != nil {
		w.fail(name, err)
		return
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		w.enter(in, name, w.takes(int(st.Uid)))
	case w.takes(int(st.Uid)):
		w.unlink(in, name, 0)
	}
}

func (w *walk) takes(uid int) bool { return w.uid == anyone || w.uid == uid }

// enter makes a directory the next one to be read. goes reports whether its entry belongs to the
// user; once it is open, its own owner decides.
func (w *walk) enter(in *frame, name string, goes bool) {
	if len(w.stack) >= maxOpen {
		w.moveUp(in, name, goes, fmt.Errorf("more than %d nested directories", maxOpen))
		return
	}
	d, err := in.open(name)
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		w.moveUp(in, name, goes, err)
		return
	case errors.Is(err, unix.EXDEV):
		w.mounted(in, name)
		return
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		w.replaced(in, name, err)
		return
	case err != nil:
		w.fail(name, err)
		return
	}
	st, err := d.stat()
	if err != nil {
		w.fail(name, errors.Join(err, d.close()))
		return
	}
	goes = w.takes(int(st.Uid))
	subvolume := deviceOf(st) != in.device // it is on the same mount
	if subvolume && goes {
		d.permitWriting()
	}
	up := w.above(in, goes, subvolume)
	if w.barred(st) || subvolume && up != nil && w.move(in, name, up) == nil {
		if err := d.close(); err != nil {
			w.fail(name, err)
		}
		return
	}
	w.push(frame{directory: d, device: deviceOf(st), name: name, goes: goes, shut: w.shut(st)})
}

// replaced handles an entry that was a directory a moment ago.
func (w *walk) replaced(in *frame, name string, why error) {
	st, err := in.lstat(name)
	switch {
	case err != nil:
		w.fail(name, err)
	case st.Mode&unix.S_IFMT == unix.S_IFDIR: // again one
		w.fail(name, why)
	case w.takes(int(st.Uid)):
		w.unlink(in, name, 0)
	}
}

// moveUp moves a directory that cannot be entered here into the first directory on the path that is
// to be removed, from where it is removed. why is the reason, and the error when there is no such
// directory.
func (w *walk) moveUp(in *frame, name string, goes bool, why error) {
	up := w.above(in, goes, false)
	if up == nil {
		w.fail(name, why)
	} else if err := w.move(in, name, up); err != nil {
		w.fail(name, fmt.Errorf("%w; %w", why, err))
	}
}

// above returns the first directory on the path, above in, that is to be removed and into which an
// entry can be moved; nil if there is none. A subvolume can be moved into each.
func (w *walk) above(in *frame, goes, subvolume bool) *frame {
	for i := range w.stack[:len(w.stack)-1] {
		if up := &w.stack[i]; goes && up.goes && (subvolume || up.device == in.device) {
			return up
		}
	}
	return nil
}

// move moves an entry up.
func (w *walk) move(in *frame, name string, up *frame) error {
	err := in.rename(name, up.directory, w.mark+strconv.Itoa(up.moved+1))
	if err == nil {
		up.moved++
	}
	return err
}

// mounted handles another mount. It is an error where everything is to be removed, and where the
// user can have written.
func (w *walk) mounted(in *frame, name string) {
	const others = 0o002
	st, err := in.lstat(name)
	if w.uid == anyone || in.goes || err == nil && (w.takes(int(st.Uid)) || st.Mode&others != 0) {
		w.fail(name, errMount)
	}
}

func deviceOf(st unix.Stat_t) uint64 {
	return uint64(st.Dev) //nolint:unconvert // its type differs between systems
}

func (w *walk) unlink(in *frame, name string, flags int) {
	switch err := in.unlink(name, flags); {
	case errors.Is(err, unix.EBUSY):
		w.mounted(in, name)
	case err != nil:
		w.fail(name, err)
	default:
		w.removed++
	}
}

// fail keeps the first error. Entries that others remove meanwhile are none.
func (w *walk) fail(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w.failures++
	if w.failed == nil {
		w.failed = fmt.Errorf("%s: %s, %d directories down: %w",
			shorten(w.name), shorten(name), len(w.stack), err)
	}
}

// shorten bounds and quotes a name that another user has chosen.
func shorten(name string) string {
	const most = 80
	if len(name) > most {
		return fmt.Sprintf("%.*q...", most, name)
	}
	return strings.Trim(strconv.Quote(name), `"`)
}
