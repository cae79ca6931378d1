package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

func TestPlanServices(t *testing.T) {
	units := []Unit{
		{Name: "cron.service", Active: true},
		{Name: "ssh.service", Active: true, TriggeredBy: []string{"ssh.socket", "gone.socket"}},
		{Name: "ssh.socket", Active: true},
		{Name: "apt-daily.service", TriggeredBy: []string{"apt-daily.timer"}},
		{Name: "apt-daily.timer", Active: true},
		{Name: "dbus.service", Active: true},
		{Name: "krund.service", Active: true},
		{Name: "home.mount", Active: true},
		{Name: "db.service", Active: true, NeededBy: []string{"app.service", "idle.service"}},
		{Name: "app.service", Active: true, NeededBy: []string{"db.service", "web.service"}}, // a circle
		{Name: "web.service", Active: true},
		{Name: "idle.service"},
		{Name: "base.service", Active: true, NeededBy: []string{"some.target"}},
		{Name: "some.target", Active: true},
		{Name: "by-hand.service", Active: true, Transient: true},
		{Name: "under.service", Active: true, NeededBy: []string{"by-hand.service"}},
	}
	tests := []struct {
		name     string
		patterns []string
		want     string // targets in order
		remark   string
	}{
		{"one", []string{"cron.service"}, "cron.service", ""},
		{"what would start it again goes last, to be started first", []string{"ssh.service"},
			"ssh.service ssh.socket", ""},
		{"an idle one whose timer runs", []string{"apt-daily.service"}, "apt-daily.timer", ""},
		{"all but what must not be stopped", []string{"*"},
			"cron.service ssh.service web.service app.service db.service ssh.socket apt-daily.timer",
			"base.service is left running, since some.target would stop with it: some.target must not be " +
				"stopped; by-hand.service is left running: it was created by systemd-run and could not be " +
				"started again; under.service is left running, since by-hand.service would stop with it: " +
				"by-hand.service is left running: it was created by systemd-run and could not be started " +
				"again"},
		{"what stops with it goes first, to be started last", []string{"db.service"},
			"web.service app.service db.service", ""},
		{"a target would stop with it", []string{"base.service"}, "",
			"base.service is left running, since some.target would stop with it: some.target must " +
				"not be stopped"},
		{"made by hand", []string{"by-hand.service"}, "",
			"by-hand.service is left running: it was created by systemd-run and could not be started again"},
		{"something made by hand stops with it", []string{"under.service", "cron*"}, "cron.service",
			"under.service is left running, since by-hand.service would stop with it: by-hand.service is " +
				"left running: it was created by systemd-run and could not be started again"},
		{"none", []string{"nothing*"}, "", "nothing*: no such unit is loaded"},
	}
	for _, tt := range tests {
		p := planServices(units, tt.patterns, "")
		must.Equal(t, targetsOf(p.Steps), tt.want, tt.name, "stops")
		must.Equal(t, p.Detail, tt.remark, tt.name, "remark")
		must.Be(t, (p.Status == setting.StatusOK) == (tt.want == ""), tt.name, p.Status)
	}
}

func TestServicesRefuseThePillars(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	for _, name := range []string{"dbus.service", "krund.service", "user.slice", "["} {
		f := required(services, "stop", []string{name}).Check(t.Context(), m)
		must.Be(t, f.Status == setting.StatusCannot && f.Fix != "", name, f)
	}
	m.Units = nil
	f := required(services, "stop", []string{"x.service"}).Check(t.Context(), m)
	must.Equal(t, f.Status, setting.StatusCannot, "no service manager", f)
}

// TestServicesAllOrNothing: if a unit does not stop, the others are started again, in reverse
// order.
func TestServicesAllOrNothing(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	units := m.Units.(*fakeUnits)
	units.fail = map[string]error{"stop ssh.service": errors.New("job failed")}
	c := required(services, "stop", []string{"cron.service", "ssh.service"})
	f, _, err := c.Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err != nil && f.Status == setting.StatusCannot && strings.Contains(f.Detail, "job failed"),
		f, err)
	want := []string{"stop cron.service", "stop ssh.service", "start cron.service"}
	must.EqualList(t, units.log, want, "did")
}

// TestRestoreContinuesPastErrors: one service that does not start again must not keep the others
// down.
func TestRestoreContinuesPastErrors(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	units := m.Units.(*fakeUnits)
	c := required(services, "stop", []string{"cron.service", "ssh.service", "apt-daily.timer"})
	j := openJournal(t, m)
	_, restore := must.Get2(c.Apply(t.Context(), m, j))(t)
	units.fail = map[string]error{"start ssh.service": errors.New("job failed")}
	must.Refuse(t, restore(t.Context()), "ssh.service", "restore")
	got := units.active()
	must.Be(t, !slices.Contains(got, "ssh.service") && slices.Contains(got, "cron.service") &&
		slices.Contains(got, "apt-daily.timer"), "running", got)
	p := j.Pending()
	must.Be(t, len(p) == 1 && p[0].Step.Target == "ssh.service", "journal holds", p)
	units.fail = nil
	err := restore(t.Context())
	must.Be(t, err == nil && len(j.Pending()) == 0 && slices.Contains(units.active(), "ssh.service"),
		"second restore", err, j.Pending(), units.active())
}

// stubborn is a service manager whose units start again at once, every time.
type stubborn struct{ *fakeUnits }

func (stubborn) Stop(context.Context, string) error { return nil }

func TestServiceThatComesBack(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	m.Units = stubborn{m.Units.(*fakeUnits)}
	s := everything()
	s.Demands = s.With(demand(services, setting.Require, "stop", []string{"cron.service"}))
	_, _, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	must.Be(t, len(problems) == 1 &&
		strings.Contains(problems[0].What, "does not stay set: is cron.service running"), problems)
}

// TestSocketWhoseServiceRuns: systemd does not start a socket whose service is running.
func TestSocketWhoseServiceRuns(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	units := m.Units.(*fakeUnits)
	// systemd drops the triggers of a service that is stopped
	units.units = []Unit{{Name: "ssh.service", Active: true}, {Name: "ssh.socket"}}
	outcome, err := unitApplier{m.Units}.restore(t.Context(),
		Step{Kind: KindUnit, Target: "ssh.socket", Old: "active", New: "inactive"})
	must.Be(t, outcome == Restored && err == nil && len(units.active()) == 2, outcome, err, "running",
		units.active())
}

func TestParseUnits(t *testing.T) {
	// systemctl list-units --all --plain --full --no-legend of systemd 252; the mark as older
	// versions print it.
	const text = `  apt-daily.timer       loaded    active   waiting Daily apt download activities
  cron.service          loaded    active   running Regular background program processing daemon
● exim4.service         loaded    failed   failed  LSB: exim Mail Transport Agent
● auditd.service        not-found inactive dead    auditd.service
  dev-sda1.device       loaded    activating tentative dev-sda1.device
rubbish
`
	got := parseUnits(text)
	want := []Unit{{Name: "apt-daily.timer", Active: true}, {Name: "cron.service", Active: true},
		{Name: "exim4.service"}, {Name: "auditd.service"}, {Name: "dev-sda1.device", Active: true}}
	same := func(a, b Unit) bool { return a.Name == b.Name && a.Active == b.Active }
	must.Be(t, slices.EqualFunc(got, want, same), got)
}

func TestPlanNetwork(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	f := required(network, "down", []string{"*"}).Check(t.Context(), m)
	must.Be(t, f.Status == setting.StatusWillSet && f.Found == "eth0 up", f,
		"the loopback interface and one that is down are no concern")
	f = required(network, "down", []string{"eno1", "eth1", "wl*"}).Check(t.Context(), m)
	must.Be(t, f.Status == setting.StatusOK && f.Detail == "eno1, wl*: no such interface", "misspelt", f)
	m.Links = nil
	f = required(network, "down", []string{"*"}).Check(t.Context(), m)
	must.Equal(t, f.Status, setting.StatusCannot, "no way to switch interfaces", f)
}

func TestNetworkThatDoesNotComeUp(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	links := m.Links.(*fakeLinks)
	j := openJournal(t, m)
	_, restore, err := required(network, "down", []string{"eth0"}).Apply(t.Context(), m, j)
	must.Need(t, err == nil && !links.links[1].Up, links.links, err)
	links.fail = errors.New("no carrier")
	must.Refuse(t, restore(t.Context()), "bring eth0 up: no carrier", "restore")
	links.fail = nil
	if err := restore(t.Context()); err != nil || !links.links[1].Up || links.routes["eth0"] != "default" {
		t.Errorf("second restore: %v, %+v, %v", err, links.links, links.routes)
	}
}

// scripted answers commands from a table of "name args".
type scripted map[string]string

func (s scripted) Output(_ context.Context, name string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	out, there := s[line]
	if !there {
		return nil, errors.New("unexpected: " + line)
	}
	return []byte(out), nil
}

func TestSystemctl(t *testing.T) {
	s := Systemctl{scripted{
		"systemctl list-units --all --plain --full --no-legend --no-pager -- *": "ssh.service loaded " +
			"active running OpenBSD Secure Shell server\nssh.socket loaded active running x\n",
		"systemctl show --property=Id,Transient,TriggeredBy,RequiredBy,RequisiteOf,BoundBy,ConsistsOf -- " +
			"ssh.service ssh.socket": "TriggeredBy=ssh.socket other.socket\nId=ssh.service\n" +
			"RequiredBy=a.service b.target\nConsistsOf=c.service\nTransient=no\n\nId=ssh.socket\n" +
			"Transient=yes\n",
		"systemctl show --value --property=Triggers -- ssh.socket": "ssh.service\n",
		"systemctl stop -- ssh.service":                            "",
		"systemctl start -- ssh.service":                           "",
	}}
	units, err := s.List(t.Context(), []string{"*"})
	must.Be(t, err == nil && len(units) == 2 &&
		slices.Equal(units[0].TriggeredBy, []string{"ssh.socket", "other.socket"}) &&
		units[1].TriggeredBy == nil &&
		slices.Equal(units[0].NeededBy, []string{"a.service", "b.target", "c.service"}) &&
		!units[0].Transient && units[1].Transient, units, err)
	names, err := s.Triggers(t.Context(), "ssh.socket")
	must.Be(t, err == nil && slices.Equal(names, []string{"ssh.service"}), names, err)
	must.Do(t, errors.Join(s.Stop(t.Context(), "ssh.service"), s.Start(t.Context(), "ssh.service")))
	must.Refuse(t, s.Stop(t.Context(), "cron.service"), "", "no error from a unit that does not stop")
}

// TestTimers: timers stop, and with them the running services that they have started; a service
// that is at work to start, and one that has ended, are left alone.
func TestTimers(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	units := m.Units.(*fakeUnits)
	units.units = []Unit{
		{Name: "apt-daily.timer", Active: true}, {Name: "backup.timer", Active: true},
		{Name: `dev-sda\x2d1.timer`, Active: true}, {Name: "idle.timer"},
		{Name: "run-r1.timer", Active: true, Transient: true},
		{Name: "krund-x.timer", Active: true},
		{Name: "apt-daily.service", Active: true, TriggeredBy: []string{"apt-daily.timer"}}, // activating
		{Name: "backup.service", Active: true, Running: true, TriggeredBy: []string{"backup.timer"}},
		{Name: "exited.service", Active: true, TriggeredBy: []string{"idle.timer"}},
		{Name: "ssh.service", Active: true, Running: true, TriggeredBy: []string{"ssh.socket"}},
		{Name: "ssh.socket", Active: true},
	}
	before := units.active()
	f, restore, err := required(timers).Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err == nil && f.Status == setting.StatusSet &&
		strings.Contains(f.Detail, "run-r1.timer is left running"), f, err)
	want := []string{"stop backup.service", "stop apt-daily.timer", "stop backup.timer",
		`stop dev-sda\x2d1.timer`}
	must.EqualList(t, units.log, want, "did")
	if err := restore(t.Context()); err != nil || !slices.Equal(units.active(), before) {
		t.Errorf("%v, active %q, want %q", err, units.active(), before)
	}
}
