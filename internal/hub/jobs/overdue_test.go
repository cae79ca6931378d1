package jobs

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/hub/database/dbtest"
	"krund/rig/must"
)

// restart runs the job that restarts a machine by a command, and returns what the hub stored.
func restart(t *testing.T, b *bench, machine string, cycle ...string) (stored string, err error) {
	t.Helper()
	p := Power{Machines: "lab*", Cycle: cycle, Timeout: time.Minute}
	err = p.check()
	must.Need(t, err == nil || strings.Contains(err.Error(), "times"), err)
	w := &workers{db: b.DB, log: slog.New(slog.DiscardHandler), config: Config{Power: []Power{p}}}
	err = w.power(t.Context(), powerArgs{Machine: machine})
	m, missing := b.DB.Machine(t.Context(), machine)
	must.Need(t, missing == nil, missing)
	if n := len(m.Power); n > 0 {
		stored = m.Power[n-1].Text
	}
	return stored, err
}

// TestPower: the command is run without a shell, with the machine's name, and its failure is an
// error, so that River tries it again. The hub keeps what was done, the newest ten.
func TestPower(t *testing.T) {
	b := newBench(t, dbtest.SQLite(t), "lab1", "lab2", "desk")
	dir := t.TempDir()
	script, trace := filepath.Join(dir, "cycle"), filepath.Join(dir, "trace")
	text := "#!/bin/sh\necho \"$@\" >>" + trace + "\necho broken >&2\ntest \"$1\" != lab2\n"
	must.Do(t, os.WriteFile(script, []byte(text), 0o755))
	for _, c := range []struct{ machine, stored, err string }{
		{"lab1", "restarted by " + script, ""},
		{"lab2", "not restarted: " + script + ": exit status 1: broken", "broken"},
		{"desk", "", ""}, // without power control
	} {
		stored, err := restart(t, b, c.machine, script, "{machine}", "$(reboot); `reboot`")
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) ||
			stored != c.stored { // without arguments, which may have a password
			t.Errorf("%s: %q, %v", c.machine, stored, err)
		}
	}
	got, _ := os.ReadFile(trace)
	must.Equal(t, string(got), "lab1 $(reboot); `reboot`\nlab2 $(reboot); `reboot`\n", "ran")
	for range 12 {
		_, _ = restart(t, b, "lab1", "/bin/true")
	}
	m, err := b.DB.Machine(t.Context(), "lab1")
	must.Be(t, len(m.Power) == 10 && m.Power[9].At.Equal(b.now), m.Power, err)
}

// programs returns the paths of programs; the test is skipped unless all are installed.
func programs(t *testing.T, names ...string) []string {
	t.Helper()
	for i, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip("install ", name, ": ", err)
		}
		names[i] = path
	}
	return names
}

// start runs a program until the test ends, and returns the file of its output.
func start(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	out := must.Get(os.Create(filepath.Join(dir, "out")))(t)
	c := exec.Command(program, args...)
	c.Dir, c.Stdout, c.Stderr = dir, out, out
	must.Do(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait(); _ = out.Close() })
	return out.Name()
}

// free returns a free port.
func free(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// TestIPMI restarts a machine by ipmitool and the simulator of OpenIPMI, which calls a program for
// what a real controller would do.
func TestIPMI(t *testing.T) {
	p := programs(t, "ipmitool", "ipmi_sim")
	dir, port := t.TempDir(), free(t)
	trace := filepath.Join(dir, "trace")
	for name, text := range map[string]string{
		"control": "#!/bin/sh\necho \"$@\" >>" + trace + "\necho power:1\n",
		"state": "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\n" +
			"mc_enable 0x20\n",
		"lan.conf": "name \"lab1\"\nset_working_mc 0x20\nstartlan 1\naddr 127.0.0.1 " + port +
			"\npriv_limit admin\nallowed_auths_admin none md2 md5 straight\n" +
			"guid a123456789abcdefa123456789abcdef\nendlan\n" +
			"user 2 true \"krunhub\" \"secret\" admin 10\n" +
			"chassis_control \"" + dir + "/control\"\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	start(t, dir, p[1], "-c", "lan.conf", "-f", "state", "-s", dir, "-n")
	b := newBench(t, dbtest.SQLite(t), "lab1")
	// ipmitool repeats what was not answered, so that the simulator need not be awaited.
	cycle := []string{p[0], "-I", "lanplus", "-C", "3", "-H", "127.0.0.1", "-p", port, "-U", "krunhub",
		"-P"}
	stored, err := restart(t, b, "lab1", append(cycle, "secret", "chassis", "power", "cycle")...)
	got, _ := os.ReadFile(trace)
	must.Need(t, err == nil && strings.HasPrefix(stored, "restarted") &&
		strings.HasPrefix(string(got), "set power 0\n"), stored, err, "the controller was asked to", got)
	stored, err = restart(t, b, "lab1", append(cycle, "wrong", "chassis", "power", "cycle")...)
	must.Be(t, err != nil && strings.Contains(stored, "not restarted"), "with a wrong password", stored, err)
}

// TestPDUDaemon restarts a machine by pdudaemon, whose driver localcmdline calls a command.
func TestPDUDaemon(t *testing.T) {
	p := programs(t, "curl", "pdudaemon")
	dir, port := t.TempDir(), free(t)
	text := fmt.Sprintf(`{"daemon": {"hostname": "127.0.0.1", "port": %s, "listener": "http"},
		"pdus": {"rack1": {"driver": "localcmdline", "cmd_on": "echo %%s on >> trace",
		"cmd_off": "echo %%s off >> trace"}}}`, port)
	must.Do(t, os.WriteFile(filepath.Join(dir, "conf"), []byte(text), 0o644))
	start(t, dir, p[1], "--conf", "conf", "--logfile", "log")
	b := newBench(t, dbtest.SQLite(t), "lab1")
	const begins = "60" // it takes seconds to start
	reboot := "http://127.0.0.1:" + port + "/power/control/reboot?delay=0&port=3&hostname="
	stored, err := restart(t, b, "lab1", p[0], "-fsS", "--retry", begins, "--retry-delay", "1",
		"--retry-connrefused", reboot+"rack1")
	got, _ := os.ReadFile(filepath.Join(dir, "trace"))
	must.Need(t, err == nil && string(got) == "3 off\n3 on\n", stored, err, "the outlets", got)
	if stored, err = restart(t, b, "lab1", p[0], "-fsS", reboot+"rack9"); err == nil {
		t.Errorf("a rack that there is not: %q", stored)
	}
}

// TestRedfish restarts a machine by curl and the action that DMTF's mockup of a rack server has
// (public-rackmount1, /redfish/v1/Systems/437XR1138R2).
func TestRedfish(t *testing.T) {
	curl := programs(t, "curl")[0]
	const reset = "/redfish/v1/Systems/437XR1138R2/Actions/ComputerSystem.Reset"
	asked := make(chan string, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		asked <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(body)
		switch {
		case user != "krunhub" || password != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != reset:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer web.Close()
	netrc := filepath.Join(t.TempDir(), "netrc")
	text := "machine 127.0.0.1 login krunhub password secret\n"
	must.Do(t, os.WriteFile(netrc, []byte(text), 0o600))
	b := newBench(t, dbtest.SQLite(t), "lab1")
	argv := []string{curl, "-fsS", "--netrc-file", netrc, "-H", "Content-Type: application/json", "-d",
		`{"ResetType": "ForceRestart"}`, web.URL + reset}
	stored, err := restart(t, b, "lab1", argv...)
	want := "POST " + reset + ` application/json {"ResetType": "ForceRestart"}`
	must.Need(t, err == nil && len(asked) == 1, stored, err, len(asked), "requests")
	must.Equal(t, <-asked, want, "asked")
	argv[3] = "/dev/null"
	if stored, err = restart(t, b, "lab1", argv...); err == nil || !strings.Contains(stored, "401") {
		t.Errorf("without a password: %q, %v", stored, err)
	}
}
