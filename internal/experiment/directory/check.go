package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"krund/internal/durable"
	"krund/internal/durable/trust"
)

// OpenChecked opens the existing experiment directory dir for modification. It judges the path by
// rule and the contents by Check, and the returned Directory uses an FS that is bound to the
// directory that was checked. The error is that of Open if dir does not exist.
func OpenChecked(fsys durable.FS, dir string, rule func(trust.Verdict) error) (Directory, error) {
	verdict, err := trust.Look(dir)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := Open(fsys, dir) // fsys may be simulated
		if err != nil {
			return Directory{}, err
		}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = rule(verdict)
	}
	if err != nil {
		return Directory{}, fmt.Errorf("check the path of the experiment's directory: %w", err)
	}
	inside, err := durable.Inside(fsys, dir)
	if err != nil {
		return Directory{}, fmt.Errorf("open the experiment's directory: %w", err)
	}
	f, err := Open(inside, dir)
	if err == nil {
		err = f.Check()
	}
	return f, err
}

// Check returns an error if the directory cannot be trusted: krund runs as root and relies on its
// contents. The directory, the results directory and each file beside it must belong to root or to
// the caller and must not be writable by group or others. For root, they must not contain symbolic
// links, pipes or devices. All problems are reported together, each with the command that fixes it.
//
// The records are not checked individually: no other user can add files to a results directory that
// passes. The cost does not depend on the size of the experiment.
func (f Directory) Check() error { return f.check(os.Geteuid()) }

func (f Directory) check(caller int) error {
	entries, err := f.fsys.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("check the experiment's directory: %w", err)
	}
	// "/." resolves f.dir if it is a link: the caller chooses the path, and its target is what
	// matters.
	problems := []error{f.checkOne(f.dir+"/.", caller, true)}
	for _, e := range entries {
		path := filepath.Join(f.dir, e.Name())
		problems = append(problems, f.checkOne(path, caller, path == f.Results()))
	}
	return errors.Join(problems...)
}

// checkOne checks one path.
func (f Directory) checkOne(path string, caller int, wantDir bool) error {
	info, err := f.fsys.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a temporary file that has been renamed
	}
	if err != nil {
		return fmt.Errorf("check the experiment's directory: %w", err)
	}
	owner, known := ownerOf(info)
	if !known {
		owner = caller
	}
	return judge(strings.TrimSuffix(path, "/."), info.Mode(), owner, caller, wantDir)
}

// ownerOf returns the owner of a file. Simulated files have none.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// judge returns what is wrong with one entry.
func judge(path string, mode fs.FileMode, owner, caller int, wantDir bool) error {
	const root = 0
	if mode&fs.ModeSymlink != 0 {
		// The mode of a link has no effect; that of its target matters, but the target is
		// elsewhere.
		if caller != root {
			return nil
		}
		return fmt.Errorf("%s is a symbolic link, which root must not follow; replace it with its target",
			path)
	}
	if caller == root && wantDir && !mode.IsDir() {
		return fmt.Errorf("%s is not a directory; move it away", path)
	}
	if caller == root && !mode.IsRegular() && !mode.IsDir() {
		return fmt.Errorf("%s is neither a file nor a directory; move it away", path)
	}
	if owner != root && owner != caller {
		return fmt.Errorf("%s belongs to user %d, who could change it; `chown %d` it, or run krund as that "+
			"user", path, owner, caller)
	}
	const groupOrOthers = 0o022
	if mode.Perm()&groupOrOthers != 0 {
		return fmt.Errorf("%s can be changed by others besides its owner (mode %04o); `chmod go-w` it", path,
			mode.Perm())
	}
	return nil
}
