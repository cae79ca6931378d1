package control

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

var update = flag.Bool("update", false, "write golden files")

// sample is a journal with a bit of everything.
func sample() []Entry {
	return []Entry{
		{N: 1, Time: "2026-01-02T03:04:05Z", Boot: boot, Control: "aslr", Got: "2",
			Step: Step{Kind: KindFile, Target: "/proc/sys/kernel/randomize_va_space", Old: "1", New: "2"}},
		{N: 2, Time: "2026-01-02T03:04:05Z", Boot: boot, Control: "thp", Undone: true,
			Step: Step{Kind: KindFile, Target: "/sys/kernel/mm/transparent_hugepage/enabled",
				Old: "madvise", New: "never", Form: FormChoice}},
		{N: 5, Time: "2026-01-02T03:04:06Z", Boot: boot, Control: "network",
			Step: Step{Kind: KindLink, Target: "eth0", Old: "up", New: "down",
				Data: "{\"routes\":[\"AgAA\\u00e9\"]}\n"}},
	}
}

// TestJournalGolden holds the format: a journal of version 1 must be readable for ever.
func TestJournalGolden(t *testing.T) {
	golden := filepath.Join("testdata", "v1", "journal")
	data := must.Get(encodeJournal(sample()))(t)
	if *update {
		must.Do(t, os.WriteFile(golden, data, 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	must.Be(t, bytes.Equal(data, want), "written", data, want)
	text, err := parseJournal(want)
	must.Be(t, err == nil && !text.torn && len(text.damage) <= 0 && reflect.DeepEqual(text.entries, sample()),
		"read", text, err)
}

func TestParseJournalDamage(t *testing.T) {
	good := must.Get(encodeJournal(sample()))(t)
	safe := must.Get(encodeLines([]journalLine{{Op: "got", N: 5, Got: "down", Safe: int64(len(good))}}))(t)
	newer := must.Get(encodeLines([]journalLine{{Op: "journal", Version: 2}}))(t)
	flip := func(data []byte, at int) []byte {
		data = bytes.Clone(data)
		data[at] ^= 1
		return data
	}
	tests := []struct {
		name    string
		data    []byte
		entries int
		torn    bool
		damage  int
		err     error
	}{
		{"empty", nil, 0, false, 0, nil},
		{"whole", good, 3, false, 0, nil},
		{"last line cut", good[:len(good)-9], 2, true, 0, nil},
		{"newline missing", good[:len(good)-1], 2, true, 0, nil},
		{"rubbish after the end", append(bytes.Clone(good), 0, 0, '\n', 7), 3, true, 0, nil},
		{"first change flipped, nothing known to be synced", flip(good, 150), 2, true, 0, nil},
		// and what read back of it,
		{"first change flipped, known to be synced", append(flip(good, 150), safe...), 2, false, 2, nil},
		{"later version", newer, 0, false, 0, ErrJournalVersion},
		{"another file", []byte("<html>\n</html>\n"), 0, true, 0, nil},
	}
	for _, tt := range tests {
		text, err := parseJournal(tt.data)
		must.Be(t, len(text.entries) == tt.entries && text.torn == tt.torn && len(text.damage) == tt.damage &&
			errors.Is(err, tt.err), tt.name, len(text.entries), "entries, torn", text.torn, "damage",
			text.damage, err, "want", tt.entries, tt.torn, tt.damage, tt.err)
	}
}

func TestDamagedJournalIsReportedAndKept(t *testing.T) {
	fsys := crashfs.New("/x")
	data := must.Get(encodeJournal(sample()))(t)
	more := must.Get(encodeLines([]journalLine{{Op: "got", N: 5, Got: "down", Safe: int64(len(data))}}))(t)
	data = append(data, more...)
	data[150] ^= 1
	fsys.Put(journalPath, data)
	m, _ := fakeMachine(t, "arm64")
	j := must.Get(OpenJournal(fsys, journalPath, m.Boot, epoch))(t)
	must.Be(t, len(j.Damage()) == 2 && len(j.Pending()) == 1, "damage", j.Damage(), "pending", j.Pending())
	got := fsys.Files()[journalPath+".damaged"]
	must.Be(t, bytes.Equal(got, data), "the damaged journal was not kept")
	must.Refused(Restore(t.Context(), m, j))(t, "damaged", "restore", "want the damage in it")
}

// TestFullDisk: without an entry on the disk nothing may be changed.
func TestFullDisk(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EIO} {
		for _, kind := range []crashfs.Kind{crashfs.Write, crashfs.Sync} {
			fsys := crashfs.New("/x")
			m, k := fakeMachine(t, "intel-acpi-cpufreq")
			j := must.Get(OpenJournal(fsys, journalPath, m.Boot, epoch))(t)
			fsys.Inject(crashfs.Fault{Err: errno, Permanent: true, Short: 40,
				Match: func(op crashfs.Op) bool { return op.Kind == kind }})
			s := everything()
			s = under(s, setting.Require, "frequency")
			_, restore, problems := ApplyAll(t.Context(), m, s, j)
			if kind == crashfs.Sync && errors.Is(errno, syscall.ENOSPC) {
				continue // a sync needs no space
			}
			must.Be(t, len(problems) == 1 && strings.Contains(problems[0].What, errno.Error()), errno, kind,
				"problems", problems)
			must.Equal(t, len(k.writes), 0, errno, kind, "wrote", k.writes, "without a journal")
			must.Do(t, restore(t.Context()))
		}
	}
}

func TestJournalDoesNotGrow(t *testing.T) {
	fsys := crashfs.New("/x")
	m, _ := fakeMachine(t, "intel-acpi-cpufreq")
	var sizes []int
	for range 4 {
		must.Do(t, session(t.Context(), m, fsys))
		sizes = append(sizes, len(fsys.Files()[journalPath]))
	}
	must.Equal(t, sizes[3], sizes[0], "sizes after each session")
}

func TestOpenJournalErrors(t *testing.T) {
	fsys := crashfs.New("/x")
	fsys.Put(journalPath, []byte("x"))
	fsys.FailReads(journalPath, syscall.EIO)
	_, err := OpenJournal(fsys, journalPath, boot, epoch)
	must.Fail(t, err, syscall.EIO, "unreadable")
	_, err = ReadJournal(fsys, journalPath)
	must.Fail(t, err, syscall.EIO, "unreadable")
	must.Refused(OpenJournal(fsys, "/none/journal", boot, epoch))(t, "", "no directory: no error")
	pending, err := ReadJournal(fsys, "/x/none")
	must.Be(t, err == nil && pending == nil, "no journal", pending, err)
}

func TestReportPrint(t *testing.T) {
	r := RestoreReport{
		{Control: "a", Target: "/a", Value: "1", Outcome: Restored},
		{Control: "b", Target: "/b", Value: "2", Outcome: Void},
		{Control: "c", Target: "/c", Value: "3", Outcome: Gone},
		{Control: "d", Target: "/d", Value: "4", Outcome: Failed, Error: "read-only"},
		{Control: "e", Target: "/e", Value: "5", Outcome: Already},
	}
	const want = `restored  a: /a = 1
void      b: /b (the machine has been rebooted since)
gone      c: /c (no longer exists)
failed    d: /d not restored to 4: read-only
already   e: /e = 5
`
	var out strings.Builder
	err := r.Print(&out)
	must.Be(t, err == nil && out.String() == want, err, out.String())
	err = r.Err()
	must.Be(t, err != nil && err.Error() == "restore /d to 4: read-only", "Err =", err)
	out.Reset()
	err = (RestoreReport{}).Print(&out)
	must.Be(t, err == nil && out.String() == "nothing to restore\n", err, out.String())
}

// sealed gives each line its checksum, which a fuzzer would hardly find.
func sealed(lines string) []byte {
	var text []byte
	for line := range strings.SplitSeq(lines, "\n") {
		text = fmt.Appendf(text, "%08x %s\n", crc32.Checksum([]byte(line), castagnoli), line)
	}
	return text
}

// unsealed is sealed's inverse.
func unsealed(data []byte) string {
	var lines []string
	for line := range bytes.Lines(data) {
		lines = append(lines, string(line[9:len(line)-1]))
	}
	return strings.Join(lines, "\n")
}

// FuzzJournalLines reads lines whose checksums are right, whatever they say, and any bytes.
func FuzzJournalLines(f *testing.F) {
	data := must.Get(encodeJournal(sample()))(f)
	f.Add(unsealed(data))
	f.Add(string(data))
	f.Add(`{"op":"journal","version":2}`)
	f.Add(`{"op":"set","n":9223372036854775807,"step":{"kind":"file"}}
{"op":"undone","n":-9223372036854775808}`)
	f.Add(`{"op":"got","n":1,"safe":9223372036854775807}` + "\n{}\n")
	f.Fuzz(func(t *testing.T, lines string) {
		for _, data := range [][]byte{sealed(lines), []byte(lines)} {
			text, err := parseJournal(data)
			if err != nil {
				continue
			}
			for i, e := range text.entries {
				must.Be(t, e.N >= 1 && (i <= 0 || e.N > text.entries[i-1].N), "changes out of order",
					text.entries)
			}
			again := must.Get(encodeJournal(text.entries))(t)
			back, err := parseJournal(again)
			must.Be(t, err == nil && !back.torn && len(back.damage) == 0 &&
				reflect.DeepEqual(back.entries, text.entries), "read", text.entries, "wrote it, read", back,
				err)
		}
	})
}

// TestJournalOfRubbish: what is said of a damaged journal stays short, however much of it there is,
// and the good line after it counts.
func TestJournalOfRubbish(t *testing.T) {
	const lines = 1 << 18
	good := sealed(fmt.Sprintf(`{"op":"set","safe":%d,"n":1,"step":{"kind":"file","target":"/x"}}`, 1<<40))
	text, err := parseJournal(append(bytes.Repeat([]byte("\n"), lines), good...))
	said := strings.Join(text.damage, "\n")
	rest := fmt.Sprint(lines - maxDamage)
	must.Be(t, err == nil && len(text.entries) == 1 && len(said) <= 1<<16 && strings.Contains(said, rest),
		err, len(text.entries), "changes, damage of", len(said), "bytes", said)
}
