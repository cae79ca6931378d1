package control

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"krund/internal/experiment/config/setting"
)

// mallocForm matches options of malloc(3), which include "<" and ">".
var mallocForm = regexp.MustCompile(`^[A-Za-z0-9<>+-]{1,100}$`)

// mallocFlags matches the options that a configuration may request.
var mallocFlags = regexp.MustCompile(`^[A-Za-z<>]*$`)

// malloc checks that no system-wide options of malloc(3) interfere with the benchmark's own, which
// are set in its environment: /etc/malloc.conf, a symbolic link whose text is the options, up to
// OpenBSD 6.4, and vm.malloc_conf since.
var malloc = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "malloc", Policy: setting.Require,
		Brief: "OpenBSD: predictable malloc(3)",
		Why:   "with its protections on, OpenBSD's malloc moves and unmaps memory at random",
		Options: []setting.Option{{
			Name: "flags", Default: "cfgrux", Shape: mallocFlags, Example: "cfgrux", Values: "letters",
			Doc: "`MALLOC_OPTIONS` for the benchmark; lower-case letters switch a protection off",
		}},
		What:  "`vm.malloc_conf` empty (6.5 and later); `/etc/malloc.conf` must not exist",
		Notes: "the benchmark gets `MALLOC_OPTIONS=cfgrux`",
	},
	targets: []target{{kind: KindSysctl, name: is("vm.malloc_conf"), values: from(mallocForm.MatchString)}},
	plan:    planMalloc,
	environ: mallocEnv,
}

func planMalloc(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	wanted := "none, MALLOC_OPTIONS=" + d.Text("flags")
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
	return willSet("vm.malloc_conf="+conf, wanted,
		Step{Kind: KindSysctl, Target: "vm.malloc_conf", Old: conf, New: ""})
}

// mallocEnv returns the environment entry that gives a benchmark its malloc options, "" when the
// control is off.
func mallocEnv(d setting.Demand) string {
	flags := strings.TrimSpace(d.Text("flags"))
	if d.Policy == setting.Off || flags == "" {
		return ""
	}
	return "MALLOC_OPTIONS=" + flags
}
