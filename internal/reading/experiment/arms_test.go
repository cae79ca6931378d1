package experiment

import (
	"path/filepath"
	"reflect"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/rig/must"
)

const armsText = `[experiment]
negative_controls = ["b:C:v@again"]
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
[arms.base]
revision = "1a2b"
[arms.same]
[arms.again]
null = true
`

// TestArmsOfAnExperiment: the order, the null arm and the revision come from the configuration, and
// the records of an arm are a pair of their own.
func TestArmsOfAnExperiment(t *testing.T) {
	d := created(t, filepath.Join(t.TempDir(), "ab.krun"), armsText,
		keyed("again", 0, 1), keyed("base", 1, 1), keyed("base", 2, 2), keyed("again", 3, 2))
	in, err := Reader{FS: durable.OS()}.Read(d.Dir(), Selection{Column: dataset.Wall, Key: "*:*:*@base"})
	must.Do(t, err)
	want := []dataset.Arm{{Name: "base", Revision: "1a2b"}, {Name: "same", Twins: []string{"base"}},
		{Name: "again", Null: true}}
	must.Be(t, in.Data.Blocked && reflect.DeepEqual(in.Data.Arms, want) && len(in.Data.Problems) == 1,
		in.Data.Info, in.Data.Problems)
	got := in.Data.NegativeControls
	must.Be(t, len(got) == 1 && got[0] == "b:C:v@again", "negative controls", got)
	all, err := Reader{FS: durable.OS()}.Read(d.Dir(), Selection{Column: dataset.Wall})
	must.Be(t, err == nil && len(all.Data.Pairs) == 2 && all.Data.Pairs[0].Key.Arm == "base", err,
		all.Data.Pairs)
	if p := in.Data.Pairs; len(p) != 1 || p[0].Key.Arm != "base" || len(p[0].Executions) != 2 ||
		p[0].Executions[1].Number != 2 {
		t.Errorf("%+v", p)
	}
}
