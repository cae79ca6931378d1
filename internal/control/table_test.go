package control

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestTableGolden prints the check of each machine under the study's settings, and what was found
// of the controls that are off, which the table only names.
func TestTableGolden(t *testing.T) {
	for _, name := range append(machines.Names(), machines.More()...) {
		m, _ := fakeMachine(t, name)
		table := setting.Table{Findings: CheckAll(t.Context(), m, Defaults())}
		var out bytes.Buffer
		must.Do(t, table.Print(&out, 0))
		for _, f := range table.Findings {
			if f.Policy == setting.Off {
				fmt.Fprintf(&out, "%s: found %s, wanted %s; %s\n", f.Name, f.Found, f.Wanted, f.Detail)
			}
		}
		golden := filepath.Join("testdata", "tables", path.Base(name)+".txt")
		if *update {
			must.Do(t, os.WriteFile(golden, out.Bytes(), 0o644))
		}
		want := must.Get(os.ReadFile(golden))(t)
		must.Be(t, bytes.Equal(out.Bytes(), want), name, "printed", out.Bytes(), "want", want)
	}
}
