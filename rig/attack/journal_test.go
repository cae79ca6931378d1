package attack

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// journalOf returns a journal with valid checksums that requests a change of a file of root.
func journalOf(bootID string) string {
	var text strings.Builder
	for _, line := range []string{
		`{"op":"journal","version":1}`,
		fmt.Sprintf(
			`{"op":"set","n":1,"boot":%q,"control":"aslr","step":{"kind":"file","target":"/srv/shadow.copy","old":"root::0::::::","new":"x"}}`, bootID),
		fmt.Sprintf(
			`{"op":"set","n":2,"boot":%q,"control":"overcommit","step":{"kind":"file","target":"/proc/sys/vm/overcommit_memory","old":"1","new":"0"}}`, bootID),
	} {
		fmt.Fprintf(&text, "%08x %s\n", crc32.Checksum([]byte(line), crc32.MakeTable(crc32.Castagnoli)), line)
	}
	return text.String()
}

// hostileJournal: mallory writes a journal in a directory that all users can write. Neither the
// unit nor a user who restores as root changes anything because of it. Even a journal written by
// root only changes what a control can have changed.
func hostileJournal(t *testing.T, m *rig.Machine) {
	m.Sh("echo root:secret >/srv/shadow.copy && mkdir -p /srv/krund/x.krun/results && chmod 777 " +
		"/srv/krund/x.krun")
	m.Put("/tmp/journal", 0o644, []byte(journalOf(m.Sh("cat /proc/sys/kernel/random/boot_id"))))
	m.Sh(asMallory("cp /tmp/journal /srv/krund/x.krun/journal"))
	before := m.Sh("cat /proc/sys/vm/overcommit_memory")
	untouched := func(when string) {
		t.Helper()
		must.Equal(t, m.Sh("cat /srv/shadow.copy"), "root:secret", when,
			"mallory's journal has made root write")
		must.Equal(t, m.Sh("cat /proc/sys/vm/overcommit_memory"), before, when, "overcommit_memory")
	}
	ended := m.RunExperiment("x")
	must.Be(t, ended.Result != "success", "the unit accepts the directory", ended)
	log := m.Log("x")
	must.Be(t, strings.Contains(log, "can be changed by others") && !strings.Contains(log, "restored"),
		"the unit's log", log)
	untouched("by the unit")
	out, status := m.Try("krunctl repair --machine /srv/krund/x.toml")
	must.Be(t, status != 0 && strings.Contains(out, "can be changed by others"),
		"krunctl repair --machine: status",
		status, out)
	untouched("by krunctl repair --machine")

	m.Sh("chown -R root:root /srv/krund/x.krun && chmod 755 /srv/krund/x.krun && chmod 644 " +
		"/srv/krund/x.krun/journal")
	out, status = m.Try("krunctl repair --machine /srv/krund/x.toml")
	must.Be(t, status != 0 && strings.Contains(out, "aslr: /srv/shadow.copy not restored"),
		"krunctl repair --machine of a journal that root has put there: status", status, out)
	must.Equal(t, m.Sh("cat /srv/shadow.copy"), "root:secret", "a journal makes root write")
	must.Equal(t, m.Sh("cat /proc/sys/vm/overcommit_memory"), "1", "what the control can have changed",
		"want it restored to 1")
}
