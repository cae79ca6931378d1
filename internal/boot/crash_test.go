package boot

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

var seed = flag.Uint64("seed", 1, "of the simulated power cuts")

// TestEveryCut cuts the power once, in each operation on the disk of a whole experiment in turn,
// with every policy of what survives; then the machine boots and continues. Afterwards nothing may
// be missing or duplicated.
func TestEveryCut(t *testing.T) {
	must.Long(t)
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			t.Parallel()
			cfg := parse(t, experimentText("executions = 2\nattempts = 2\nreboot = \""+reboot+"\""))
			cutEverywhere(t, cfg, func(*simulated) {})
		})
	}
}

// cutEverywhere cuts the power in each operation of each boot in turn, until the experiment ends
// before that, and continues with what each policy lets survive. prepare makes a machine what it is
// in this test. It returns the disk at the end without a cut, and those after the cuts.
func cutEverywhere(t *testing.T, cfg *config.Config, prepare func(*simulated)) (whole *crashfs.FS,
	ends map[string]*crashfs.FS) {
	t.Helper()
	return cutEvery(t, 1, cfg, prepare)
}

// cutEvery is cutEverywhere with a cut in every step-th operation only, from another one in each
// boot.
func cutEvery(t *testing.T, step int, cfg *config.Config, prepare func(*simulated)) (whole *crashfs.FS,
	ends map[string]*crashfs.FS) {
	t.Helper()
	c := cutter{t: t, cfg: cfg, prepare: prepare, ends: map[string]*crashfs.FS{}, audited: map[string]bool{}}
	s, start := newSimulated(t), crashfs.New("/lab")
	for ended := false; !ended; {
		for op := 1 + s.boot%step; ; op += step {
			boot, disk := c.continued(s), start.Survivor(crashfs.Nothing)
			disk.CrashAt(op)
			ending, err := boot.start(cfg, disk)
			if disk.IsCut() {
				c.afterCut(boot, op)
				continue
			}
			if err = errors.Join(err, boot.madeRoom()); err != nil {
				t.Fatalf("boot %d: %v", s.boot, err)
			}
			// An orderly restart: what is not durable by now is krund's fault.
			s, start, ended = boot, disk.Reboot(crashfs.Nothing), ending != Rebooting
			break
		}
	}
	must.Do(t, audit(start, cfg, nil), "without a cut")
	t.Logf("%d power cuts, %d different disks after them", c.cuts, len(c.ends))
	return start, c.ends
}

// A cutter continues experiments after a power cut.
type cutter struct {
	t       *testing.T
	cfg     *config.Config
	prepare func(*simulated)
	cuts    int
	ends    map[string]*crashfs.FS // by what the machine was after a cut: the disk at the end
	audited map[string]bool        // of these, with the records that had to be there
}

// continued is the machine in its next boot. Its disk is the only other thing that survives.
func (c *cutter) continued(s *simulated) *simulated {
	next := newSimulated(c.t)
	next.boot, next.now, next.full = s.boot, s.now, s.full
	c.prepare(next)
	return next
}

// afterCut continues the experiment with what each policy lets survive. It does not repeat what is
// known: how an experiment ends that finds the same disk, in the same boot, at the same time.
func (c *cutter) afterCut(cut *simulated, op int) {
	c.t.Helper()
	survived := records(cut.disk)
	names := fmt.Sprint(slices.Sorted(maps.Keys(survived)))
	for _, policy := range crashfs.Policies(*seed) {
		c.cuts++
		disk := cut.disk.Survivor(policy)
		state := fmt.Sprint(cut.boot, cut.now, cut.full, disk.State())
		var err error
		if c.ends[state] == nil {
			c.ends[state], err = c.toTheEnd(cut, disk)
		}
		if err == nil && !c.audited[state+names] {
			err = audit(c.ends[state], c.cfg, maps.Clone(survived))
			c.audited[state+names] = true
		}
		must.Do(c.t, err, "cut in operation", op, "of boot", cut.boot-1, policy, "survives")
	}
}

func (c *cutter) toTheEnd(cut *simulated, disk *crashfs.FS) (*crashfs.FS, error) {
	s := c.continued(cut)
	last, err := s.lifetime(c.cfg, disk, 40, func(old *crashfs.FS) *crashfs.FS {
		return old.Reboot(crashfs.Nothing)
	})
	return last, errors.Join(err, s.madeRoom())
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
		must.Do(t, err, "round", round, "of seed", *seed)
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
					survived := must.Get(brokenOnce(s, cfg, fsys, broken))(t, "fault in operation", op)
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
	last := must.Get(s.lifetime(cfg, fsys, 50,
		func(old *crashfs.FS) *crashfs.FS { fsys = old.Reboot(crashfs.Nothing); return fsys }))(t)
	must.Do(t, audit(last, cfg, nil))
	must.Be(t, s.retired, "the next boots are not ordinary ones")
	must.Equal(t, s.boot, 1+1+2*3, "boots, want the first, and three for each of two slots")
}
