package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/machine/command"
)

const (
	// killTime bounds the killing. Only processes that the kernel itself holds (state D: a dead
	// disk, a dead network file system) outlast it.
	killTime = 10 * time.Second
	killPoll = time.Millisecond // between two looks for what is left

	// killName and killFlag are the arguments of the copy of the program that ends a user's
	// processes. The second one looks like a flag: a program that did not call Stage, such as a
	// test binary, refuses it and exits instead of starting itself without end.
	killName   = "krund-kill"
	killFlag   = "-krund-kill-v1="
	killFailed = 127
)

// userID is a user with its main group.
type userID struct{ uid, gid int }

// Stage must be called first in main. It returns at once unless this process was started by
// KillProcesses; then it ends all processes of a user and never returns.
func Stage() {
	if id, ok := killArgs(os.Args); ok {
		os.Exit(killAll(id))
	}
}

// KillProcesses ends every process of the account at once: a copy of krund becomes that user and
// sends SIGKILL to everything it may signal. The kernel does that in one step, which no fork can
// evade. It is only for accounts that are krund's own.
func (a Account) KillProcesses(ctx context.Context) error { return killUser(ctx, a) }

func killUser(ctx context.Context, a Account) error {
	if !a.Own || a.UID <= 0 {
		return fmt.Errorf("end the processes of %s: not an account that krund made", a)
	}
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	program, err := command.Self()
	if err == nil {
		argv := []string{killName, fmt.Sprintf("%s%d:%d", killFlag, a.UID, a.GID)}
		_, err = command.Run(ctx, command.Cmd{Path: program, Argv: argv, Env: []string{"GOMAXPROCS=1"},
			Dir: "/", Timeout: killTime})
	}
	poll := time.NewTicker(killPoll)
	defer poll.Stop()
	for err == nil {
		left := userProcesses(a.UID)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			err = fmt.Errorf("%v are still there", left)
		}
	}
	return fmt.Errorf("end the processes of %s: %w", a, err)
}

// killArgs recognizes the command line of the copy that KillProcesses starts.
func killArgs(args []string) (userID, bool) {
	if len(args) != 2 || args[0] != killName {
		return userID{}, false
	}
	text, found := strings.CutPrefix(args[1], killFlag)
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
		return killFailed
	}
	// This signals neither the sender itself nor any other user's process.
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return killFailed
	}
	return 0
}
