// Package hub lets several machines with reboots ship their records to one hub that is killed, with
// networks that are cut, a machine that dies, and clocks that are wrong.
package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/hub/database"
	"krund/internal/hub/ship"
	"krund/rig"
	"krund/rig/must"
)

const (
	name      = "quick"
	directory = rig.ExperimentHome + "/" + name + ".krun"
	slots     = 6
)

// quick has one benchmark in C with six executions, and nothing to wait for.
var quick = "[experiment]\nexecutions = 6\n" + rig.Limits("3m", "256MiB") + rig.NBody(50) + rig.WarnOnly

// kills is how often the hub is killed: KRUND_RIG_KILLS, or fewer than a campaign would.
func kills(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("KRUND_RIG_KILLS")
	if text == "" {
		return 20
	}
	n, err := strconv.ParseInt(text, 10, 64)
	must.Need(t, err == nil && n >= 0, "KRUND_RIG_KILLS", text, "is no number of kills")
	return n
}

// lab is one hub and its machines.
type lab struct {
	*testHub
	machines map[string]kept // at their end, by name
}

// kept is what a machine has on its disk.
type kept struct {
	records   map[string]string // SHA-256 by the name of the file
	confirmed ship.Memory       // what the hub has received
}

// harm is what happens to a machine. It returns when the experiment has ended, or the machine has
// died.
type harm struct {
	devices []string // arguments of QEMU
	happen  func(t *testing.T, m *rig.Machine)
	dies    bool
}

var harms = map[string]harm{
	"alone": {happen: toEnd},
	"past":  {devices: []string{"-rtc", "base=2001-01-01T00:00:00"}, happen: toEnd},
	"ahead": {devices: []string{"-rtc", "base=2035-06-01T00:00:00"}, happen: toEnd},
	"cut": {happen: func(t *testing.T, m *rig.Machine) {
		t.Helper()
		m.SetNetwork(false)
		m.RunAndCut(rig.Scaled(20 * time.Second))
		m.SetNetwork(true)
		toEnd(t, m)
	}},
	"dead": {dies: true, happen: func(_ *testing.T, m *rig.Machine) {
		m.RunAndCut(rig.Scaled(40 * time.Second))
	}},
}

func toEnd(t *testing.T, m *rig.Machine) {
	t.Helper()
	if ended := m.RunToEnd(rig.UnitOf(name), 2*slots); ended.Result != "success" {
		m.WaitUp()
		t.Errorf("krund ended with %+v; its log:\n%s", ended, m.Sh("journalctl -o cat -u "+rig.UnitOf(name)))
	}
}

// TestMachinesShipToOneHub: whatever happens to hub, network and machines, the hub has each record
// that a living machine has, once, and of a dead machine each that it had confirmed.
func TestMachinesShipToOneHub(t *testing.T) {
	rig.Long(t, "five machines with six boots take minutes; make rig runs them")
	rig.FindImage(t) // skips without one
	random := rig.Rand(t)
	l := lab{testHub: startHub(t, built(t), random, kills(t)), machines: map[string]kept{}}
	t.Run("machines", func(t *testing.T) {
		for name, h := range harms {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				has := l.live(t, name, h)
				l.mu.Lock()
				defer l.mu.Unlock()
				l.machines[name] = has
			})
		}
	})
	l.stop()
	must.Need(t, l.err == nil, l.err)
	if t.Failed() {
		return
	}
	l.compare(t)
	must.Be(t, l.testHub.kills.Load() != 0 || kills(t) <= 0, "the hub was not killed")
	t.Logf("the hub was killed %d times", l.testHub.kills.Load())
}

// live is the life of one machine. It returns what the machine has.
func (l *lab) live(t *testing.T, host string, h harm) kept {
	t.Helper()
	var files rig.Payload
	files.Experiment(name, quick)
	files.Text("/etc/hostname", host+"\n")
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless, Network: true, Devices: h.devices,
		Time: 10 * time.Minute})
	m.Await("joined", func() (string, bool) { // the hub may be killed while it answers
		out, status := m.Try(fmt.Sprintf("krunctl hub join http://%s:%s --token %s --name %s --pool lab",
			rig.HostAddress, l.port(), l.token, host))
		return out, status == 0 || strings.Contains(out, "joined")
	})
	m.Send("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	h.happen(t, m)
	if !h.dies {
		m.WaitUp()
		m.Await("shipped", func() (string, bool) {
			out, status := m.Try("krunctl hub ship " + directory)
			return out, status == 0
		})
		m.Shutdown()
		e := m.Experiment(directory)
		e.Check(t)
		must.Be(t, len(e.Records) >= slots, len(e.Records), "records, want at least", slots)
	}
	return contents(t, m.Disk())
}

// contents reads what is on a disk.
func contents(t *testing.T, disk *rig.Disk) kept {
	t.Helper()
	k := kept{records: map[string]string{}}
	list := must.Get(disk.List(directory + "/results"))(t)
	for _, entry := range list {
		if _, ok := results.ParseName(entry.Name); !ok {
			continue
		}
		text := must.Get(disk.Read(directory + "/results/" + entry.Name))(t)
		sum := sha256.Sum256(text)
		k.records[entry.Name] = hex.EncodeToString(sum[:])
	}
	text, err := disk.Read(directory + "/hub.json")
	if errors.Is(err, fs.ErrNotExist) {
		return k // it died before the hub had confirmed anything
	}
	if err == nil {
		err = json.Unmarshal(text, &k.confirmed)
	}
	must.Do(t, err)
	return k
}

// compare compares the hub's records with those on the disks.
func (l *lab) compare(t *testing.T) {
	t.Helper()
	db := must.Get(database.Open(t.Context(), filepath.Join(l.data, "hub.sqlite"), time.Now))(t)
	defer func() {
		must.Do(t, db.Close())
	}()
	experiments := must.Get(db.Experiments(t.Context(), 100))(t)
	total := 0
	for host, kept := range l.machines {
		machine := must.Get(db.Machine(t.Context(), host))(t)
		has := map[string]string{}
		for _, x := range experiments {
			rows := must.Get(db.Records(t.Context(), x.ID, machine.ID, 0, 1000))(t)
			for _, row := range rows {
				id := results.Name{Slot: int(row.Slot), Attempt: int(row.Attempt)}.String()
				must.Equal(t, has[id], "", host, "the hub", "twice")
				has[id] = row.Blob
			}
		}
		total += len(has)
		check(t, host, kept, has)
	}
	t.Logf("%d records of %d machines", total, len(l.machines))
}

// check compares the hub's records of a machine with those on its disk.
func check(t *testing.T, host string, k kept, has map[string]string) {
	t.Helper()
	for file, hash := range k.records {
		name, _ := results.ParseName(file)
		switch received := has[file]; {
		case received == "" && (k.confirmed.Has(name) || !harms[host].dies):
			t.Errorf("%s: the hub lacks %s; it had confirmed it: %v", host, file, k.confirmed.Has(name))
		case received != "" && received != hash:
			t.Errorf("%s: %s is not the same on the hub", host, file)
		}
		delete(has, file)
	}
	must.Be(t, len(has) <= 0, host, "the hub has records that the machine", has)
	t.Logf("%s: %d records, of which the hub had confirmed %v", host, len(k.records), k.confirmed.Received)
}
