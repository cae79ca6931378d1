package exchange

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/rig/must"
)

// TestManyKeys: a small file with very many keys is refused before they are analyzed, in every way
// of reading keys: each of its own, and one after the other.
func TestManyKeys(t *testing.T) {
	for name, text := range map[string]func(keys int) string{
		"krun.json": func(keys int) string {
			var list []string
			for i := range keys {
				list = append(list, fmt.Sprintf(`"b%d:C:default": [[1.5]]`, i))
			}
			return `{"wallclock_times": {` + strings.Join(list, ", ") + `}}`
		},
		"bench.txt": func(keys int) string {
			var b strings.Builder
			b.WriteString("goos: linux\ngoarch: amd64\npkg: x\n")
			for i := range keys {
				fmt.Fprintf(&b, "BenchmarkB%d-2 \t 1\t 1000 ns/op\n", i)
			}
			return b.String() + "PASS\n"
		},
		"plain.csv": func(keys int) string { // all look alike: what a name costs does not grow
			var b strings.Builder
			b.WriteString(plainHeader + "\n")
			for i := range keys {
				fmt.Fprintf(&b, "%c%c,1,0,1,ns\n", 0x4e00+i%100, 0x4e00+i/100)
			}
			return b.String()
		},
	} {
		path := filepath.Join(t.TempDir(), name)
		for keys, want := range map[int]string{3: "", dataset.MaxKeys + 1: "more than 10000 keys",
			5 * dataset.MaxKeys: "more than 10000 keys"} {
			must.Do(t, os.WriteFile(path, []byte(text(keys)), 0o600))
			_, err := ReadFile(path, FileOptions{})
			must.Be(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
				name, "of", keys, "keys", err)
		}
	}
}
