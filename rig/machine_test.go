package rig

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/rig/must"
)

// These tests run machines whose QEMU is this test binary under another name. It uses the same
// three descriptors and interprets the commands that it is given:
//
//	say TEXT   prints a line on the console
//	end REASON ends as QEMU does after that SHUTDOWN event
//	exit N     ends with that exit status
//	boots      answers with its own start's number
//	hang       answers when the command's limit is over, as timeout(1) does
//	status N   answers with that exit status

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "qemu-system-x86_64" {
		standIn(os.Args[1:])
	}
	os.Exit(m.Run())
}

// standIn never returns.
func standIn(args []string) {
	channel := func(fd uintptr) *os.File { return os.NewFile(fd, "channel") }
	qmp, console, agent := channel(qmpFD), channel(consoleFD), channel(agentFD)
	disk := strings.TrimSuffix(strings.TrimPrefix(args[slices.IndexFunc(args,
		func(a string) bool { return strings.HasPrefix(a, "file=") })], "file="),
		",if=virtio,format=raw,cache=unsafe")
	if slices.Contains(args, "-broken-option") {
		fmt.Fprintln(os.Stderr, "-broken-option: invalid option")
		os.Exit(1)
	}
	running := make(chan bool)
	go standInQMP(qmp, running)
	<-running
	starts, _ := os.ReadFile(disk)
	starts = append(starts, '.')
	_ = os.WriteFile(disk, starts, 0o600)
	if strings.Contains(args[len(args)-1], "rig.payload") {
		fmt.Fprint(console, "RIG-PAYLOAD-OK\n")
	}
	fmt.Fprintf(console, "kernel %s\n", args[len(args)-1])
	fmt.Fprintf(agent, "noise\nRIG-UP boot-%d 2.5\n", len(starts))
	lines := bufio.NewScanner(agent)
	for lines.Scan() {
		limit, encoded, _ := strings.Cut(lines.Text(), " ")
		command, _ := base64.StdEncoding.DecodeString(encoded)
		verb, rest, _ := strings.Cut(string(command), " ")
		out, status := "", 0
		switch verb {
		case "say":
			fmt.Fprintln(console, rest)
		case "end":
			fmt.Fprintf(qmp, `{"event": "SHUTDOWN", "data": {"guest": true, "reason": %q}}`+"\n", rest)
			os.Exit(0)
		case "exit":
			fmt.Sscan(rest, &status)
			os.Exit(status)
		case "hang":
			seconds, _ := strconv.Atoi(limit)
			time.Sleep(time.Duration(seconds) * time.Second)
			out, status = "half", statusTimedOut
		case "status":
			fmt.Sscan(rest, &status)
		case "boots":
			out = fmt.Sprintf("  %d\n", len(starts))
		default:
			out, status = "what?", 127
		}
		fmt.Fprintf(agent, "\x01%s\x02%d\n", base64.StdEncoding.EncodeToString([]byte(out)), status)
	}
	os.Exit(1) // the driver has exited
}

// standInQMP greets and answers: ports store what is written to them; cont starts the machine.
func standInQMP(conn io.ReadWriter, running chan<- bool) {
	fmt.Fprintln(conn, `{"QMP": {}}`)
	ports := map[uint16]uint8{0x82: 0x28}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var command struct {
			Execute   string
			Arguments map[string]string
		}
		_ = json.Unmarshal(lines.Bytes(), &command)
		answer := any(struct{}{})
		switch command.Execute {
		case "cont":
			defer func() { select {} }() // block until the process ends
			running <- true
		case "system_reset":
			fmt.Fprintln(conn, `{"return": {}}`)
			fmt.Fprintln(conn, `{"event": "SHUTDOWN", "data": {"reason": "guest-reset"}}`)
			os.Exit(0)
		case "human-monitor-command":
			var port uint16
			var value uint8
			if n, _ := fmt.Sscanf(command.Arguments["command-line"], "o /b %v %v", &port, &value); n == 2 {
				ports[port] = value
				answer = ""
			} else if n, _ := fmt.Sscanf(command.Arguments["command-line"], "i /b %v", &port); n == 1 {
				answer = fmt.Sprintf("portb[%#04x] = %#02x\r\n", port, ports[port])
			}
		}
		text, _ := json.Marshal(map[string]any{"return": answer})
		fmt.Fprintf(conn, "%s\n", text)
	}
}

// useStandIn makes this test boot stand-ins instead of machines.
func useStandIn(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("the rig's machines run on Linux only, this is %s", runtime.GOOS)
	}
	self := must.Get(os.Executable())(t)
	bin, image := t.TempDir(), t.TempDir()
	for _, name := range []string{"complete", "root.img", "vmlinux", "initrd.img", "rig.aml"} {
		write(t, filepath.Join(image, name), "")
	}
	write(t, filepath.Join(image, "rigmsr.missing"), "no compiler")
	for _, name := range []string{"debugfs", "e2fsck"} {
		write(t, filepath.Join(bin, name), "#!/bin/sh\nexit 1\n")
		must.Do(t, os.Chmod(filepath.Join(bin, name), 0o755))
	}
	must.Do(t, os.Symlink(self, filepath.Join(bin, "qemu-system-x86_64")))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	// with the race detector every exit of a stand-in would take a second
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	t.Setenv(envImage, image)
	for _, name := range []string{envLogs, envSummary, envPatience, envRequired, envSeed, envPace,
		envDeadline} {
		t.Setenv(name, "")
	}
}

func TestMachineRebootsAndCounts(t *testing.T) {
	useStandIn(t)
	logs := t.TempDir()
	t.Setenv(envLogs, logs)
	summary := filepath.Join(logs, "summary")
	t.Setenv(envSummary, summary)
	t.Run("machine", func(t *testing.T) {
		var files Payload
		files.Text("/x", "y")
		m := New(t, Options{Payload: &files, Kernel: "first=1"})
		m.PowerOn()
		must.Equal(t, m.WaitUp(), (Up{"boot-1", 2.5}), "up")
		must.Equal(t, m.WaitUp(), (Up{"boot-1", 2.5}), "up, asked again")
		m.WaitConsole(`first=1 rig\.payload$`)
		must.Equal(t, m.Sh("boots"), "1", "output")
		out, status := m.Try("nonsense")
		must.Be(t, out == "what?" && status == 127, "nonsense", string(out), "status", status)
		m.SetKernelArguments("second=1")
		m.Send("end guest-reset")
		off := m.WaitOff()
		must.Be(t, off.Reason == OffRebooted && !m.On(), "off", off, "on", m.On())
		m.PowerOn()
		m.WaitConsole(`commit=300 second=1$`) // and no longer a payload
		m.WaitUp()
		m.PowerCut()
		m.PowerCut() // nothing to cut
		must.Be(t, !m.On() && m.Starts() == 2, "on", m.On(), "starts", m.Starts())
		if lines := m.ConsoleOfThisStart(); len(lines) != 1 || lines[0].Boot != 2 || len(m.Console()) != 3 {
			t.Errorf("console of start 2: %+v, of all: %+v", lines, m.Console())
		}
	})
	text, err := os.ReadFile(summary)
	fields := strings.Split(string(text), "\t")
	must.Be(t, err == nil && len(fields) == 9 && fields[0] == t.Name()+"/machine" &&
		strings.Join(fields[1:5], " ") == "ok 1 2 1", "summary", text, err)
	log, err := os.ReadFile(filepath.Join(logs, "TestMachineRebootsAndCounts-machine.console"))
	must.Be(t, err == nil && strings.Contains(string(log), "--- power on 2\n"), "console file", log, err)
}

func TestPayloadIsOfferedAgainUntilItIsDurable(t *testing.T) {
	useStandIn(t)
	m := New(t, Options{})
	var files Payload
	files.Text("/x", "y")
	m.Install(&files)
	m.power = nil
	m.begun = 0
	_ = m.console.startBoot()
	_, _ = m.console.Write([]byte("cut before anything\n"))
	m.PowerOn()
	m.WaitConsole(`rig\.payload$`)
	m.PowerCut()
	m.Install(&files) // a second one, after a start that had the first
	m.PowerOn()
	m.WaitConsole(`rig\.payload$`)
	m.PowerCut()
	m.PowerOn()
	m.WaitConsole(`commit=300$`)
}

func TestWaitOffOrALine(t *testing.T) {
	useStandIn(t)
	m := Boot(t, Options{})
	m.Send("say RIG-UNIT x.service success 0 running")
	if _, ended := m.WaitOffOrEnded("x.service"); !ended || !m.On() {
		t.Errorf("ended %v, on %v", ended, m.On())
	}
	m.WaitUp()
	m.Send("end guest-reset")
	off, ended := m.WaitOffOrEnded("x.service")
	must.Be(t, !ended && off.Reason == OffRebooted, "ended", ended, "off", off)
}

func TestWhyAMachineIsOff(t *testing.T) {
	useStandIn(t)
	for _, c := range []struct {
		command, reason string
		code            int
	}{{"end guest-reset", OffRebooted, 0}, {"end guest-shutdown", OffShutdown, 0}, {"exit 85", OffPort, 42}} {
		m := Boot(t, Options{})
		m.Send(c.command)
		if off := m.WaitOff(); off.Reason != c.reason || off.Code != c.code {
			t.Errorf("%s: %+v, want %s, code %d", c.command, off, c.reason, c.code)
		}
	}
	m := Boot(t, Options{})
	off := m.ResetButton()
	must.Equal(t, off.Reason, OffRebooted, "reset button", off)
	m.PowerOn()
	m.PowerCutAfter(time.Nanosecond)
	off = m.WaitOff()
	must.Equal(t, off.Reason, OffCut, "power cut", off)
}

func TestRunUntilKeepsThePowerOn(t *testing.T) {
	useStandIn(t)
	m := New(t, Options{})
	got := m.RunUntil(`^kernel (\w+)`, 0)
	must.Equal(t, got[1], "rw", "groups", got)
	m.WaitUp()
	m.Sh("say step 1")
	m.Send("end guest-reset")
	<-m.power.off // it ends while nothing waits for it
	got = m.RunUntil(`^step (\d)$`, 0)
	must.Be(t, got[1] == "1" && m.Starts() == 1, "a line from before the reboot", got, "in start", m.Starts())
	m.RunUntil(`^kernel `, 1)
	m.WaitUp()
	m.Send("end guest-reset")
	m.WaitOff()
	m.RunUntil(`^kernel `, 0)
	m.PowerCut()
	m.RunUntil(`^kernel `, 0)
	must.Equal(t, m.Starts(), 4, "starts, want 4")
}

func TestRunAndCutGoesOnOverReboots(t *testing.T) {
	useStandIn(t)
	m := Boot(t, Options{})
	m.Send("end guest-reset")
	<-m.power.off
	m.RunAndCut(time.Millisecond)
	must.Be(t, !m.On() && m.Starts() == 2 && m.figures.cuts == 1, "on", m.On(), m.Starts(), "starts",
		m.figures.cuts, "cuts; want off, 2, 1")
	got := failure(t, func(tb testing.TB) {
		m := Boot(t, Options{})
		m.Send("end guest-shutdown")
		m.For(tb).RunAndCut(time.Hour)
	})
	must.Contain(t, got, "guest-shutdown before the cut", "machine powers itself off: failed with")
}

func TestPortsHoldOverPowerCuts(t *testing.T) {
	useStandIn(t)
	m := New(t, Options{})
	m.SetTemperature(0, 41.5)
	m.PowerOn()
	m.SetTemperature(1, 127.5)
	for range 2 {
		a, b := m.port(portTemperature), m.port(portTemperature+1)
		must.Be(t, a == 83 && b == 255, "ports hold", a, "and", b, "want 83 and 255")
		m.PowerCut()
		m.PowerOn()
	}
	a, b := m.PState(0), m.PState(1)
	must.Be(t, a == 0 && b == 800, "P-states are", a, "and", b, "want 0 and 800")
}

// failure runs f with a substitute for the test, and returns the message with which it failed.
func failure(t *testing.T, f func(tb testing.TB)) string {
	t.Helper()
	failed := &failingTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(failed)
	}()
	<-done
	return failed.message
}

// failingTB records a fatal failure and ends its goroutine, like package testing.
type failingTB struct {
	testing.TB
	message string
}

func (f *failingTB) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestFailuresSayWhatHappenedAndShowTheConsole(t *testing.T) {
	useStandIn(t)
	for _, c := range []struct {
		name string
		run  func(*Machine)
		want []string
	}{
		{"command fails", func(m *Machine) { m.WaitConsole("^kernel"); m.Sh("nonsense") },
			[]string{"nonsense: exit status 127: what?", "boot 1| kernel rw"}},
		{"machine gone", func(m *Machine) { m.Sh("exit 3") }, []string{"exit 3: no answer from the guest"}},
		{"already on", func(m *Machine) { m.PowerOn() }, []string{"PowerOn: the machine is on"}},
		{"disk of a running machine", func(m *Machine) { m.Disk() }, []string{"Disk: the machine is on"}},
		{"off without the line", func(m *Machine) { m.Send("end guest-shutdown"); m.WaitConsole("^never$") },
			[]string{"^never$", "the machine went off"}},
		{"powered off instead", func(m *Machine) { m.Send("end guest-shutdown"); m.RunUntil("^never$", 5) },
			[]string{"^never$ not seen", "guest-shutdown"}},
		{"too many starts", func(m *Machine) { m.Send("end guest-reset"); m.RunUntil("^never$", 0) },
			[]string{"not seen in 1 starts"}},
		{"wrong temperature", func(m *Machine) { m.SetTemperature(0, 0) },
			[]string{"no zone 0 with 0 degrees"}},
		{"wrong zone", func(m *Machine) { m.SetTemperature(2, 50) }, []string{"no zone 2"}},
		{"wrong CPU", func(m *Machine) { m.PState(2) }, []string{"no CPU 2"}},
		{"emulator breaks", func(m *Machine) { m.Send("exit 1"); m.WaitOff() },
			[]string{"the emulator ended: exit status 1"}},
	} {
		got := failure(t, func(tb testing.TB) { c.run(Boot(t, Options{}).For(tb)) })
		for _, want := range c.want {
			must.Contain(t, got, want, c.name, "failed with", "in it")
		}
	}
	got := failure(t, func(tb testing.TB) {
		m := New(t, Options{Devices: []string{"-broken-option"}})
		m.For(tb).PowerOn()
	})
	must.Contain(t, got, "-broken-option: invalid option", "broken option: failed with")
	got = failure(t, func(tb testing.TB) {
		m := Boot(t, Options{})
		m.options.Limit = 50 * time.Millisecond
		m.For(tb).WaitConsole("^never$")
	})
	must.Be(t, strings.Contains(got, "no progress for 50ms") && strings.Contains(got, envPatience),
		"too late: failed with", got)
}

func TestMSRModuleMissingSkipsWithTheReason(t *testing.T) {
	useStandIn(t)
	t.Run("skipped", func(t *testing.T) {
		t.Cleanup(func() {
			must.Be(t, t.Skipped(), "not skipped")
		})
		New(t, Options{MSR: true})
	})
}

func TestStartFailsWithoutTheProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p, err := startPower(t.Context(), nil, io.Discard)
	if err == nil {
		p.kill()
		t.Fatal("started a machine without QEMU")
	}
	must.Refuse(t, copyDisk(t.Context(), "/none", filepath.Join(t.TempDir(), "x")), "copy the disk",
		"copy without cp")
}
