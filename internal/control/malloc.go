package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"krund/internal/setting"
)

// MallocSettings asks for the least random memory allocation of OpenBSD's malloc(3).
type MallocSettings struct {
	Policy setting.Policy
	Flags  string // MALLOC_OPTIONS for the benchmark; lower-case letters switch a protection off
}

// mallocForm is the form of options of malloc(3): "<" and ">" are among them.
var mallocForm = regexp.MustCompile(`^[A-Za-z0-9<>+-]{1,100}$`)

// malloc checks that no system-wide options of malloc(3) get in the way of the benchmark's own, which are set in its environment
// (MallocEnv): /etc/malloc.conf, a symbolic link whose text is the options, up to OpenBSD 6.4, and vm.malloc_conf since.
func malloc(s MallocSettings) Control {
	return Control{
		Name: "malloc", Policy: s.Policy,
		targets: []target{
			{kind: KindSysctl, name: is("vm.malloc_conf"), values: from(mallocForm.MatchString)},
		},
		Why: "with its protections on, OpenBSD's malloc moves and unmaps memory at random",
		plan: func(ctx context.Context, m *Machine) Plan {
			wanted := "none, MALLOC_OPTIONS=" + s.Flags
			link, err := m.Root.ReadLink("/etc/malloc.conf")
			if err == nil {
				return cannot("/etc/malloc.conf -> "+link, wanted, "", "rm /etc/malloc.conf")
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return unreadable(wanted, err)
			}
			conf, err := sysctlGet(ctx, m.Commands, "vm.malloc_conf")
			switch {
			case errors.Is(err, errNoVariable):
				return ok("none", wanted)
			case err != nil:
				return unreadable(wanted, err)
			case conf == "":
				return ok("none", wanted)
			}
			return willSet("vm.malloc_conf="+conf, wanted, Step{Kind: KindSysctl, Target: "vm.malloc_conf", Old: conf, New: ""})
		},
	}
}

// MallocEnv returns the environment entry that gives a benchmark its malloc options, "" when the control is off.
func MallocEnv(s MallocSettings) string {
	if s.Policy == setting.Off || s.Flags == "" {
		return ""
	}
	return fmt.Sprintf("MALLOC_OPTIONS=%s", strings.TrimSpace(s.Flags))
}
