// Package hold finds out whether somebody wants this boot to be an ordinary one, so that a person can log in to a machine that otherwise
// restarts again and again. It only reads. There are three ways, and any of them will do:
//
//   - the file hold in the experiment's folder: `krunctl hold` and `krunctl resume`;
//   - the file /etc/krund/hold: for all experiments of the machine, also while its disk is mounted elsewhere;
//   - the kernel argument krund.hold, typed into the boot loader's menu: for that boot only.
//
// Start reading at Find.
package hold

import (
	"fmt"
	"path/filepath"
	"strings"

	"krund/internal/durable"
	"krund/internal/folder"
	"krund/internal/shellword"
	"krund/internal/sysroot"
)

// The ways that do not depend on an experiment.
const (
	File     = "/etc/krund/hold"
	Argument = "krund.hold"
)

// Find says why the experiment in the folder dir is held, and how that ends; "" when it is not. The folder need not exist. The error is one
// of looking into the folder; a machine without /proc/cmdline has no kernel argument.
func Find(fsys durable.FS, dir string, root sysroot.Root) (why string, err error) {
	asked, err := folder.Asked(fsys, dir, folder.Hold)
	switch {
	case err != nil:
		return "", err
	case asked:
		return fmt.Sprintf("held by %s; `krunctl resume %s` ends that", filepath.Join(dir, string(folder.Hold)), shellword.Path(dir)), nil
	case root.Exists(File):
		return fmt.Sprintf("held by %s, as all experiments of this machine; remove that file to go on", File), nil
	}
	cmdline, err := root.Read("/proc/cmdline")
	if err == nil && HasArgument(cmdline) {
		return fmt.Sprintf("held by the kernel argument %s, for this boot; restart without it to go on", Argument), nil
	}
	return "", nil
}

// HasArgument says whether a kernel's command line asks to hold: krund.hold, or krund.hold=VALUE unless the value is 0, n, no or off. The last
// one counts, as with the kernel's own arguments. What comes after "--" is for init, and no argument of the kernel's.
func HasArgument(cmdline string) bool {
	held := false
	for _, word := range strings.Fields(cmdline) {
		name, value, _ := strings.Cut(strings.Trim(word, `"`), "=")
		if name == "--" {
			break
		}
		if name != Argument {
			continue
		}
		switch strings.ToLower(value) {
		case "0", "n", "no", "off", "false":
			held = false
		default:
			held = true
		}
	}
	return held
}
