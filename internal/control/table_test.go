package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"krund/internal/experiment/config/setting"
)

// TestTableGolden prints the check of each machine under the study's settings, and what was found
// of the controls that are off, which the table only names.
func TestTableGolden(t *testing.T) {
	for _, name := range machines {
		m, _ := fakeMachine(t, name)
		table := setting.Table{Findings: CheckAll(t.Context(), m, Defaults())}
		var out bytes.Buffer
		if err := table.Print(&out, 0); err != nil {
			t.Fatal(err)
		}
		for _, f := range table.Findings {
			if f.Policy == setting.Off {
				fmt.Fprintf(&out, "%s: found %s, wanted %s; %s\n", f.Name, f.Found, f.Wanted, f.Detail)
			}
		}
		golden := filepath.Join("testdata", "tables", name+".txt")
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: printed\n%s\nwant\n%s", name, out.Bytes(), want)
		}
	}
}

func TestTableJSON(t *testing.T) {
	m, _ := fakeMachine(t, "kvm-guest")
	table := setting.Table{Findings: CheckAll(t.Context(), m, Defaults())}
	data, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var back setting.Table
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, table) {
		t.Errorf("%v: %s", err, data)
	}
}
