package attack

import (
	"fmt"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// exchange repeatedly exchanges two directories as fast as it can.
const exchange = `import ctypes, sys
rename = ctypes.CDLL(None, use_errno=True).renameat2
a, b = (name.encode() for name in sys.argv[1:])
while True:
    if rename(-100, a, -100, b, 2) != 0:  # AT_FDCWD, RENAME_EXCHANGE
        sys.exit("renameat2: errno %d" % ctypes.get_errno())
`

// TestPathRace: a parent directory of the configuration belongs to mallory, who exchanges root's
// directory for his own while root checks it. His configuration is never accepted, at whatever
// moment he does it.
func TestPathRace(t *testing.T) {
	rig.Long(t, "the short selection has three attacks")
	good := strings.Replace(held("", ""), `reboot = "none"`, `reboot = "hardware"`, 1)
	evil := strings.Replace(good, "executions = 2", "executions = 7", 1)
	var files rig.Payload
	files.Held()
	files.Script("/usr/local/rig/exchange.py", exchange)
	m := machine(t, &files)
	m.Sh("install -d -o mallory /srv/above && mkdir /srv/above/exp && install -d -o mallory /srv/above/evil")
	m.Put("/srv/above/exp/x.toml", 0o644, []byte(good))
	m.Put("/srv/above/evil/x.toml", 0o644, []byte(evil))
	m.Sh("chown mallory /srv/above/evil/x.toml && ln -s /srv/krund/benchmarks /srv/above/exp/ && ln -s " +
		"/srv/krund/benchmarks /srv/above/evil/")
	racer := m.Start(asMallory("python3 /usr/local/rig/exchange.py /srv/above/exp /srv/above/evil"))
	const tries = 40
	out := m.Sh(fmt.Sprintf("for i in $(seq %d); do krund check /srv/above/exp/x.toml 2>&1; krunctl enable "+
		"--root /tmp/image /srv/above/exp/x.toml 2>&1; done; :", tries))
	racer.Kill()
	must.Be(t, !strings.Contains(out, "7 process executions") && !strings.Contains(out, "installed"),
		"mallory's configuration was accepted", out)
	n := strings.Count(out, "belongs to user")
	must.Be(t, n >= tries, n, "refusals, want one of each of", tries, "tries", out)
}

// hookExchanged: the hook's directory becomes writable for all users after the experiment has
// started, and mallory replaces the hook. Root does not run his hook.
func hookExchanged(t *testing.T, m *rig.Machine) {
	m.Sh("mkdir /srv/hooks && printf '#!/bin/sh\\necho \"$0\" >>/srv/ran\\n' >/srv/hooks/hook && chmod 755 " +
		"/srv/hooks/hook")
	m.Hold()
	krund := m.Start("krund run /srv/krund/hook.toml")
	m.WaitHeld()
	m.Sh("chmod 777 /srv/hooks")
	m.Put("/tmp/evil", 0o755, []byte("#!/bin/sh\nid >/srv/evil\n"))
	m.Sh(asMallory("cp /tmp/evil /srv/hooks/new") + " && " +
		asMallory("mv -f /srv/hooks/new /srv/hooks/hook"))
	m.LetGo()
	out, status := krund.Wait()
	must.Be(t, status != 0 &&
		strings.Contains(out+m.Sh("cat /srv/krund/hook.krun/log"), "/srv/hooks can be changed by others"),
		"krund: status", status, out)
	must.Equal(t, m.Sh("cat /srv/ran; cat /srv/evil 2>/dev/null; :"), "/srv/hooks/hook", "ran",
		"want root's hook once")
}
