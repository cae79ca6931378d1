package child

import (
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func reportLine(t testing.TB, r report) string {
	t.Helper()
	text := must.Get(json.Marshal(r))(t)
	return string(text) + "\n"
}

func TestParseStatus(t *testing.T) {
	ready := report{Ready: true, Remarks: []string{"nice"}, Seen: Seen{UID: 5},
		Cost: unix.Rusage{Maxrss: 7}}
	late := func(step string, errno int) report {
		r := ready
		r.Ready, r.Step, r.Errno = false, step, errno
		return r
	}
	for name, c := range map[string]struct {
		text string
		want report
	}{
		"died early": {"", report{}},
		"executed":   {reportLine(t, ready), ready},
		"failed": {reportLine(t, report{Step: "user", Errno: 1, Text: "no"}),
			report{Step: "user", Errno: 1, Text: "no"}},
		"not found": {reportLine(t, ready) + "x\x02\x00", late("exec", 2)},
		"limits":    {reportLine(t, ready) + "l\x01\x01", late("limits", 257)},
		"stamp":     {reportLine(t, ready) + "s\x09\x00", late("stamp", 9)},
	} {
		got, err := parseStatus([]byte(c.text))
		must.Be(t, err == nil && reflect.DeepEqual(got, c.want), name, "got", got, err)
	}
	for _, text := range []string{"x", "{}", "\n", "hello\n", reportLine(t, ready) + "x",
		reportLine(t, ready) + "?\x00\x00"} {
		got, err := parseStatus([]byte(text))
		must.Be(t, err != nil, text, "got", got)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(reportLine(f, report{Ready: true}) + "x\x02\x00"))
	f.Add([]byte(reportLine(f, report{Step: "user"})))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseStatus(text)
		must.Be(t, err != nil || !r.Ready || !strings.HasSuffix(string(text), "}\nx\x02\x00"), text,
			"a failure is lost")
	})
}

func TestOrderKeepsBytes(t *testing.T) {
	c := Command{
		Path: "/\xff", Args: []string{"\xfe", ""}, Env: []string{"A=\x80\n\"",
			""}, Dir: "/ä", User: User{UID: 1, Groups: []int{4}},
		Limits: Limits{Heap: 1, Stack: 2}, Nice: -3, CPUs: []int{5}, StampOffset: 8,
	}
	text := must.Get(newStartRequest(c, 42).encode())(t)
	o, err := decodeStartRequest(text)
	must.Be(t, err == nil && reflect.DeepEqual(o, newStartRequest(c, 42)), o, err)
	must.Be(t, string(o.Path) == c.Path && reflect.DeepEqual(toStrings(o.Args), c.Args) &&
		reflect.DeepEqual(toStrings(o.Env), c.Env), "bytes were changed", o)
	must.Refused(decodeStartRequest([]byte("{")))(t, "", "half a request is accepted")
}

func TestStageArgs(t *testing.T) {
	for _, c := range []struct {
		args []string
		n    int
		ok   bool
	}{
		{[]string{stageName, stageFlag + "3"}, 3, true},
		{[]string{stageName, stageFlag + "0"}, 0, true},
		{[]string{stageName, stageFlag + "-1"}, -1, false},
		{[]string{stageName, stageFlag}, 0, false},
		{[]string{stageName, stageFlag + "3", "x"}, 0, false},
		{[]string{"krund", stageFlag + "3"}, 0, false},
		{[]string{stageName, "run"}, 0, false},
		{nil, 0, false},
	} {
		n, ok := stageArgs(c.args)
		must.Be(t, ok == c.ok && (!ok || n == c.n), c.args, "got", n, ok)
	}
}

func TestExplain(t *testing.T) {
	gone := func(string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }
	c := Command{Path: "/opt/vm", Dir: "/srv", User: User{Name: "krun", UID: 1000}, CPUs: []int{3}}
	for _, x := range []struct {
		r    report
		want string
	}{
		{report{Step: stepExec, Errno: int(syscall.ENOENT)},
			"execute /opt/vm: no such file or directory; check the path"},
		{report{Step: stepExec, Errno: int(syscall.EACCES)}, "open to krun (uid 1000)"},
		{report{Step: stepExec, Errno: int(syscall.ENOMEM)}, "limits.heap and limits.stack leave no room"},
		{report{Step: stepExec, Errno: int(syscall.ELOOP)},
			"execute /opt/vm: too many levels of symbolic links"},
		{report{Step: stepDirectory, Text: "no"}, "enter the working directory /srv as krun (uid 1000): no"},
		{report{Step: stepUser, Text: "no"}, "become user krun (uid 1000): no; only root"},
		{report{Step: stepProcessors, Text: "no"}, "run on processors [3] only: no"},
		{report{Step: stepPrivileges, Text: "no"}, "privileges: no"},
	} {
		f := explain(x.r, c, gone)
		must.Be(t, strings.Contains(f.Text, x.want) && f.Step == x.r.Step, x.r, f)
	}
	if f := explain(report{Step: stepUser}, c,
		func(string) (fs.FileInfo, error) { return nil, errors.ErrUnsupported }); f.Errno != "" {
		t.Errorf("errno %q", f.Errno)
	}
}

func TestStageEnd(t *testing.T) {
	const exited2, killed9 = 2 << 8, 9 // as wait(2) encodes them
	for _, c := range []struct {
		run    Run
		status unix.WaitStatus
		want   string
	}{
		{Run{}, exited2, "exit status 2 and without a report; does main call child.Stage first?"},
		{Run{}, killed9, "killed by SIGKILL"},
		{Run{Process: results.Process{TimedOut: true}}, killed9, "the time limit passed"},
		{Run{Process: results.Process{Interrupted: true}}, killed9, "interrupted"},
	} {
		must.Contain(t, stageEnd(c.run, c.status), c.want)
	}
}
