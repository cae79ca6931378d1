package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killTime bounds the killing. Only processes that the kernel itself holds (state D: a dead disk, a dead network file
// system) outlast it.
const killTime = 10 * time.Second

// userID is a user with its main group.
type userID struct{ uid, gid int }

// killUser ends every process of the account, at once: a copy of krund becomes that user and sends SIGKILL to all it is
// allowed to, which the kernel does in one step that no fork can slip through. Only for accounts that are krund's own.
func killUser(ctx context.Context, a Account) error {
	if !a.Own || a.UID <= 0 {
		return fmt.Errorf("end the processes of %s: not an account that krund made", a)
	}
	program, err := selfPath()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = []string{stageName, fmt.Sprintf("%s%d:%d", stageKill, a.UID, a.GID)}
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("end the processes of %s: %w: %s", a, err, out)
	}
	for limit := now() + int64(killTime); ; {
		left := userProcesses(a.UID)
		if len(left) == 0 {
			return nil
		}
		if now() >= limit || ctx.Err() != nil {
			return fmt.Errorf("end the processes of %s: %v are still there", a, left)
		}
		readable(-1, now()+int64(time.Millisecond))
	}
}

// killArgs recognises the command line of that copy.
func killArgs(args []string) (userID, bool) {
	if len(args) != 2 || args[0] != stageName {
		return userID{}, false
	}
	text, found := strings.CutPrefix(args[1], stageKill)
	uid, gid, both := strings.Cut(text, ":")
	if !found || !both {
		return userID{}, false
	}
	u, errU := strconv.Atoi(uid)
	g, errG := strconv.Atoi(gid)
	return userID{u, g}, errU == nil && errG == nil && u > 0 && g >= 0
}

// killAll is what that copy does; it returns the exit status.
func killAll(id userID) int {
	err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(id.gid), syscall.Setuid(id.uid))
	if err != nil {
		return stageFailed
	}
	// Not the sender itself, and nothing of any other user.
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return stageFailed
	}
	return 0
}
