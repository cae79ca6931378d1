package boot

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
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

var noSpace = crashfs.Fault{Err: syscall.ENOSPC, Permanent: true, Short: 100}

// TestFilledDisk has a benchmark that fills the disk of the results in each execution, and cuts the
// power in every operation in turn. The disk stays full across a restart. Only the cut may lose an
// attempt, and the space that krund frees is enough.
func TestFilledDisk(t *testing.T) {
	must.Long(t)
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			t.Parallel()
			cfg := parse(t, experimentText("executions = 2\nattempts = 2\nreboot = \""+reboot+"\""))
			cutEverywhere(t, cfg, fills)
		})
	}
}

func fills(s *simulated) {
	s.during = func(context.Context) {
		s.full = true
		s.filled++
		s.disk.Inject(noSpace)
	}
	s.clear = func() (int, error) {
		if !s.full {
			return 0, nil
		}
		s.full = false
		s.cleared++
		s.disk.Heal()
		return 5, nil
	}
}

// madeRoom checks that the space was freed each time, and that the log says so.
func (s *simulated) madeRoom() error {
	n := strings.Count(s.log.String(), "removed the benchmark's files")
	if n != s.cleared || s.cleared < s.filled {
		return fmt.Errorf("filled %d times, cleared %d times, %d of them logged", s.filled, s.cleared, n)
	}
	return nil
}

// reserved is a disk that another program has filled: only the reserve frees space.
type reserved struct{ *crashfs.FS }

func (d reserved) Remove(name string) error {
	if path.Base(name) == "reserve" {
		d.Heal()
	}
	return d.FS.Remove(name)
}

// TestReserve: the reserve makes room for the record, and is recreated for the next one.
func TestReserve(t *testing.T) {
	cfg := parse(t, experimentText("executions = 2\nattempts = 1\nreboot = \"none\""))
	s := newSimulated(t)
	disk := reserved{crashfs.New("/lab")}
	s.during = func(context.Context) { disk.Inject(noSpace) }
	must.Get(Run(t.Context(), cfg, dir, config.RebootNone, s.system(disk)))(t)
	must.Do(t, audit(disk, cfg, nil))
	must.Equal(t, strings.Count(s.log.String(), "released the reserve"), cfg.Slots(), "the reserve was used",
		"times")
	must.Refused(disk.Lstat(dir+"/reserve"))(t, "", "the reserve is still there")
}

// TestNoReserve: nothing is run without space for the reserve.
func TestNoReserve(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s := newSimulated(t)
	disk := crashfs.New("/lab")
	fault := noSpace
	fault.Match = func(op crashfs.Op) bool { return strings.HasSuffix(op.Name, "/reserve") }
	disk.Inject(fault)
	_, err := Run(t.Context(), cfg, dir, config.RebootNone, s.system(disk))
	must.Be(t, durable.IsFull(err) && strings.Contains(err.Error(), "keep 700 bytes free for the results"),
		err)
	if _, err := disk.Lstat(dir + "/reserve"); err == nil || len(records(disk)) > 0 {
		t.Errorf("a part of the reserve, or a record, is there: %v, %v", err, records(disk))
	}
	checkAttempts(t, disk, 0)
}

// TestRecordWithoutRoom: without space for a record of that size, the attempts count nevertheless,
// and the experiment ends.
func TestRecordWithoutRoom(t *testing.T) {
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		cfg := parse(t, experimentText("executions = 1\nattempts = 2\nreboot = \""+reboot+"\""))
		s := newSimulated(t)
		s.outcome = func(j execution.Job, boot int) execution.Measured {
			m := good(j, boot)
			r := random(1)
			for range 3000 { // which no compression makes smaller than the limit
				m.Process.Stdout.Text += string(rune('0' + r.IntN(64)))
			}
			return m
		}
		disk := crashfs.New("/lab")
		fault := noSpace
		fault.Match = func(op crashfs.Op) bool {
			return op.Bytes > 2000 && strings.Contains(op.Name, "/results/")
		}
		disk.Inject(fault)
		starts := 1
		for ; starts <= 20; starts++ {
			ending, err := Run(t.Context(), cfg, dir, reboot, s.system(disk))
			if ending == Finished && err == nil {
				break
			}
			must.Need(t, err == nil || durable.IsFull(err), reboot, "start", starts, err)
			if reboot == config.RebootHardware {
				s.boot++
			}
		}
		must.Do(t, audit(disk, cfg, nil), reboot, "after", starts, "starts")
		checkAttempts(t, disk, 2)
		n := 0
		for r, err := range results.NewReader(disk, dir+"/results").All() {
			if n++; err != nil || len(r.Reasons) == 0 || !strings.Contains(r.Reasons[0],
				"could not be stored") {
				t.Errorf("%s: record %+v, %v", reboot, r, err)
			}
		}
		must.Equal(t, n, 4, reboot, "records, want two of each slot")
	}
}

// checkAttempts demands the same number of attempts of each slot.
func checkAttempts(t *testing.T, fsys durable.FS, want int) {
	t.Helper()
	s := must.Get(schedule.Open(fsys, dir+"/schedule", false))(t)
	for slot, err := range s.Slots() {
		must.Be(t, err == nil && slot.Attempts == want, "slot", slot, err, want, "attempts")
	}
	must.Do(t, s.Close())
}
