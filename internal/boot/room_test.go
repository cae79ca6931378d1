package boot

import (
	"context"
	"fmt"
	"path"
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
