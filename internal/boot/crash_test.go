package boot

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"krund/internal/config"
	"krund/internal/durable/crashfs"
)

var seed = flag.Uint64("seed", 1, "of the simulated power cuts")

// TestEveryCut cuts the power once, in each operation on the disk of a whole experiment in turn,
// with every policy of what survives; then the machine boots and continues. Afterwards nothing may
// be missing or duplicated.
func TestEveryCut(t *testing.T) {
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			cfg := parse(t, experimentText("executions = 2\nattempts = 2\nreboot = \""+reboot+"\""))
			for _, policy := range crashfs.Policies(*seed) {
				t.Run(policy.String(), func(t *testing.T) {
					t.Parallel()
					cutEverywhere(t, cfg, policy)
				})
			}
		})
	}
}

// cutEverywhere cuts the power in each operation in turn, until there are no more.
func cutEverywhere(t *testing.T, cfg *config.Config, policy crashfs.Policy) {
	t.Helper()
	for op := 1; ; op++ {
		ended, err := cutOnce(t, cfg, op, policy)
		if err != nil {
			t.Fatalf("cut in operation %d, %s survives: %v", op, policy, err)
		}
		if ended { // the experiment ended before that operation
			t.Logf("%d power cuts", op-1)
			return
		}
	}
}

// cutOnce runs an experiment with one cut in the op-th operation counted over all its boots. ended
// reports that there was no such operation.
func cutOnce(t *testing.T, cfg *config.Config, op int, policy crashfs.Policy) (ended bool, err error) {
	s := newSimulated(t)
	fsys := crashfs.New("/lab")
	fsys.CrashAt(op)
	left, cut := op, false
	survived := map[string]string{}
	last, err := s.lifetime(cfg, fsys, 40, func(old *crashfs.FS) *crashfs.FS {
		if old.IsCut() {
			cut = true
			maps.Copy(survived, records(old))
			return old.Reboot(policy)
		}
		left -= old.Ops()
		next := old.Reboot(crashfs.Nothing) // an orderly restart: what is not durable by now is krund's fault
		if !cut {
			next.CrashAt(left)
		}
		return next
	})
	if err != nil {
		return false, err
	}
	return !cut, audit(last, cfg, survived)
}

// TestManyCuts cuts the power at random, repeatedly, in experiments of several boots. Attempts may
// be lost only by the cuts, and the experiment ends nevertheless.
func TestManyCuts(t *testing.T) {
	cfg := parse(t, experimentText("executions = 5\nattempts = 100\nreboot = \"hardware\"\nmax_reboots = "+
		"100000"))
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		r := random(*seed + uint64(round)) //nolint:gosec // small
		policies := crashfs.Policies(r.Uint64())
		s := newSimulated(t)
		fsys := crashfs.New("/lab")
		fsys.CrashAt(1 + r.IntN(60))
		survived := map[string]string{}
		last, err := s.lifetime(cfg, fsys, 2000, func(old *crashfs.FS) *crashfs.FS {
			policy := crashfs.Nothing
			if old.IsCut() {
				policy = policies[r.IntN(len(policies))]
				maps.Copy(survived, records(old))
			}
			next := old.Reboot(policy)
			next.CrashAt(1 + r.IntN(60))
			return next
		})
		if err == nil {
			err = audit(last, cfg, survived)
		}
		if err != nil {
			t.Fatalf("round %d of seed %d: %v", round, *seed, err)
		}
	}
}

// TestFullDisk fills the disk, or breaks it, at each operation in turn, for good or once. krund
// must report it, lose nothing, and finish when it is started again on an intact disk.
func TestFullDisk(t *testing.T) {
	cfg := parse(t, experimentText("executions = 2\nreboot = \"none\""))
	for _, broken := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
		for _, permanent := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, permanent %t", broken, permanent), func(t *testing.T) {
				for op := 1; ; op++ {
					s := newSimulated(t)
					fsys := crashfs.New("/lab")
					fsys.Inject(crashfs.Fault{Op: op, Err: broken, Permanent: permanent, Short: 100})
					survived, err := brokenOnce(s, cfg, fsys, broken)
					if err != nil {
						t.Fatalf("fault in operation %d: %v", op, err)
					}
					if survived {
						return
					}
				}
			})
		}
	}
}

// brokenOnce runs an experiment into a fault and, after the repair, to its end. whole reports that
// it never met the fault.
func brokenOnce(s *simulated, cfg *config.Config, fsys *crashfs.FS,
	broken syscall.Errno) (whole bool, err error) {
	_, first := Run(s.t.Context(), cfg, dir, config.RebootNone, s.system(fsys))
	if first != nil && !errors.Is(first, broken) {
		return false, fmt.Errorf("the error does not say what happened: %w", first)
	}
	if s.applied != 0 {
		return false, fmt.Errorf("settings were left behind after %w", first)
	}
	before := records(fsys)
	fsys.Heal()
	if _, err := Run(s.t.Context(), cfg, dir, config.RebootNone, s.system(fsys)); err != nil {
		return false, fmt.Errorf("after the disk was repaired: %w", err)
	}
	return first == nil && !strings.Contains(s.log.String(), broken.Error()), audit(fsys, cfg, before)
}

// TestBootLoop has a benchmark that takes the machine down each time. The attempts bound it: errors
// are recorded, and the experiment ends.
func TestBootLoop(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nattempts = 3\nreboot = \"hardware\""))
	s := newSimulated(t)
	var fsys *crashfs.FS
	s.during = func(ctx context.Context) { fsys.CrashAt(fsys.Ops() + 1) }
	fsys = crashfs.New("/lab")
	last, err := s.lifetime(cfg, fsys, 50,
		func(old *crashfs.FS) *crashfs.FS { fsys = old.Reboot(crashfs.Nothing); return fsys })
	if err != nil {
		t.Fatal(err)
	}
	if err := audit(last, cfg, nil); err != nil {
		t.Error(err)
	}
	if !s.retired {
		t.Error("the next boots are not ordinary ones")
	}
	if s.boot != 1+1+2*3 {
		t.Errorf("%d boots, want the first, and three for each of two slots", s.boot)
	}
}
