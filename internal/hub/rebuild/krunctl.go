package rebuild

import (
	"context"
	"os"
	"strconv"
	"time"

	"krund/internal/machine/command"
)

// Bounds of Krunctl.
const (
	Longest = 10 * time.Minute
	Memory  = 4 << 20 // KiB
)

// Krunctl runs the program with bounded memory and time, and returns what it printed. What machines
// have shipped is hostile: krunctl reads it, in a process of its own that may fail without harm to
// the hub.
func Krunctl(ctx context.Context, program, dir string, args []string) (string, error) {
	const limited = `ulimit -d "$0" && ulimit -c 0 && exec "$@"`
	argv := append([]string{"sh", "-c", limited, strconv.Itoa(Memory), program}, args...)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"GOMEMLIMIT=" + strconv.Itoa(Memory/2) + "KiB"}
	return command.Run(ctx, command.Cmd{Argv: argv, Dir: dir, Env: env, Timeout: Longest})
}
