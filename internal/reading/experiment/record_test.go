package experiment

import (
	"testing"

	"krund/rig/must"
)

func FuzzParseRecord(f *testing.F) {
	for _, s := range []string{"17", "17-2", "0000017-001.json.gz", "-1", "1-", "1-0", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slot, attempt, err := ParseRecord(s)
		must.Be(t, err != nil || slot >= 0 && attempt >= 0, s, slot, "-", attempt)
	})
}
