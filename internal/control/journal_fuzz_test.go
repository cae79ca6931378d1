package control

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"krund/rig/must"
)

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
