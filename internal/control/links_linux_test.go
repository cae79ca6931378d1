package control

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// inEmptyNetwork runs f on a thread with a network of its own, which goes away with it. Such a
// network needs root and ip(8).
func inEmptyNetwork(t *testing.T, f func(ip func(args ...string) string)) {
	t.Helper()
	must.Root(t, "a network namespace needs root")
	program, err := exec.LookPath("ip")
	if err != nil {
		t.Skip("no ip(8)")
	}
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and the network with it
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return
		}
		f(func(args ...string) string {
			out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
			must.Be(t, err == nil, "ip", strings.Join(args, " "), err, out)
			return string(out)
		})
	}()
	if err := <-done; err != nil {
		t.Skipf("no network namespace: %v", err)
	}
}

// configuredNetwork returns the configured addresses and routes, without states that change with
// time.
func configuredNetwork(ip func(args ...string) string) []string {
	var lines []string
	for _, args := range [][]string{
		{"-o", "addr", "show", "scope", "global"}, {"route", "show"},
		{"-6", "route", "show", "proto", "boot"}, {"-6", "route", "show", "proto", "static"},
		{"neigh", "show", "nud", "permanent"},
	} {
		for line := range strings.Lines(ip(args...)) {
			line = strings.NewReplacer(" tentative", "", " dadfailed", "", " linkdown", "").Replace(line)
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestInterfaceDownAndUp takes a real interface down and up: its routes and addresses must be what
// they were.
func TestInterfaceDownAndUp(t *testing.T) {
	inEmptyNetwork(t, func(ip func(args ...string) string) {
		for _, args := range []string{
			"link add k0 type veth peer name k1", "link set k1 up", "link set k0 up",
			"addr add 192.0.2.1/24 dev k0", "addr add 2001:db8::1/64 dev k0 nodad",
			"route add default via 192.0.2.254 dev k0",
			"route add 198.51.100.0/24 via 192.0.2.2 metric 50 proto static",
			"route add 203.0.113.0/24 dev k0 table 77", "route add 203.0.113.7 via 10.1.1.1 dev k0 onlink",
			"neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 dev k0 nud permanent",
			"neigh add 2001:db8::77 lladdr 02:00:00:00:00:77 dev k0 nud permanent",
			"-6 route add default via 2001:db8::ff dev k0",
			"-6 route add 2001:db8:9::/48 dev k0 proto static",
		} {
			ip(strings.Fields(args)...)
		}
		if t.Failed() {
			return
		}
		before, table := configuredNetwork(ip), ip("route", "show", "table", "77")
		m := &Machine{Boot: boot, Links: netlinkLinks{}}
		f, restore, err := required(network, "down", []string{"k0", "lo"}).Apply(t.Context(), m,
			openJournal(t, m))
		must.Be(t, err == nil && f.Status == setting.StatusSet && f.Found == "k0 up", f, err)
		got := configuredNetwork(ip)
		must.Be(t, len(got) < len(before), "with the interface down", got)
		must.Do(t, restore(t.Context()))
		if got := configuredNetwork(ip); !slices.Equal(got, before) {
			t.Errorf("afterwards\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(before, "\n"))
		}
		must.Equal(t, ip("route", "show", "table", "77"), table, "table 77 afterwards")
		if outcome, err := (linkApplier{m.Links}).restore(t.Context(),
			Step{Target: "k0"}); outcome != Already || err != nil {
			t.Errorf("undone twice: %s, %v", outcome, err)
		}
		outcome, err := (linkApplier{m.Links}).restore(t.Context(), Step{Target: "k9"})
		must.Be(t, outcome == Gone && err == nil, "unplugged", outcome, err)
	})
}

func TestMachineAtHandCanBeChecked(t *testing.T) {
	root := NewMachine(t.Context(), sysrootMachine())
	findings := CheckAll(t.Context(), root, Defaults())
	if want := len(Linux()) - 1; len(findings) != want { // frequency is one row for two parts
		t.Errorf("%d findings, want %d: %+v", len(findings), want, findings)
	}
	for _, f := range findings {
		must.Be(t, f.Status != "" && f.Wanted != "" && f.Why != "", "incomplete", f)
	}
}

func FuzzNetlink(f *testing.F) {
	f.Add([]byte{10, 64, 0x80, 0, 2, 0, 0, 0},
		[]byte{2, 24, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0, 8, 0, 4, 0, 2, 0, 0, 0}, "")
	f.Add([]byte{}, []byte{2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0, 20, 0, 9, 0, 16, 0, 0, 0, 2, 0, 0, 0},
		`{"routes":["AAAA"]}`)
	f.Fuzz(func(t *testing.T, address, route []byte, text string) {
		routes := selectRoutes([][]byte{route, route}, 2)
		saved := must.Get(encodeSaved(bodies{selectAddresses([][]byte{address}, 2),
			selectNeighbours([][]byte{address, route}, 2), routes}))(t)
		if back, err := decodeSaved(saved); err != nil || len(back.Routes) != len(routes) {
			t.Errorf("saved %d routes, read %d, %v", len(routes), len(back.Routes), err)
		}
		_, _ = decodeSaved(text)
		_ = parseAnswer(route)
	})
}
