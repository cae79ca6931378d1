package exchange

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/history"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// WriteParquet writes the executions of one pair as a Parquet file: a row per
// iteration, with the columns
//
//	benchmark, vm, variant   strings, and arm in an experiment with arms
//	pexec                    int32, number of the execution, from 1
//	outcome                  string: completed, error, timeout, rerun
//	iteration                int32, from 0
//	wall_ns                  int64, when the source has nanoseconds; and
//	wall                     double, in seconds (or the source's unit)
//
// and for each other column NAME or NAME_coreN: uint64 for counters, int64 for a benchmark's own,
// double for anything else; null where there is no value. The file's key-value section holds
// experiment, machine, source, and the unit of each column ("krund.unit.NAME"). Columns are sorted
// by name.
func WriteParquet(w io.Writer, d *dataset.Dataset, pair *dataset.Pair) error {
	t, err := newParquetTable(pair)
	if err != nil {
		return fmt.Errorf("write Parquet: %s: %w", pair.Key, err)
	}
	options := []parquet.WriterOption{
		parquet.NewSchema("krund", t.group), parquet.Compression(&parquet.Snappy),
		parquet.KeyValueMetadata("krund.format", "iterations 1"), parquet.KeyValueMetadata("krund.experiment",
			d.Experiment),
		parquet.KeyValueMetadata("krund.machine", d.Machine), parquet.KeyValueMetadata("krund.source",
			d.Format),
	}
	for _, name := range slices.Sorted(maps.Keys(t.units)) {
		options = append(options, parquet.KeyValueMetadata("krund.unit."+name, t.units[name]))
	}
	config, err := parquet.NewWriterConfig(options...)
	if err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	out := parquet.NewGenericWriter[any](w, config)
	for i := range pair.Executions {
		if err := t.write(out, pair, &pair.Executions[i]); err != nil {
			return fmt.Errorf("write Parquet: %s: %w", pair.Key, err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

// ParquetFile returns the name of a pair's file, with slashes, in the partition layout of Parquet
// tools: benchmark=B/vm=V/variant=X/iterations.parquet, with /arm=A after the variant if there are
// arms. Characters that are not allowed in a path are percent-encoded. A part too long for a file
// system is truncated and ends in a hash of the full name, which is stored in the file.
func ParquetFile(k key.Key) string {
	parts := []string{partition("benchmark", k.Benchmark), partition("vm", k.VM),
		partition("variant", k.Variant)}
	if k.Arm != "" {
		parts = append(parts, partition("arm", k.Arm))
	}
	return strings.Join(parts, "/") + "/iterations.parquet"
}

// longestName is the maximum length of a file name in common file systems, in bytes.
const longestName = 255

func partition(name, value string) string {
	part := name + "=" + strings.ReplaceAll(url.PathEscape(value), "/", "%2F")
	if len(part) <= longestName {
		return part
	}
	sum := fmt.Sprintf("~%x", sha256.Sum256([]byte(value)))
	const digits = 17
	part = part[:longestName-digits]
	if at := strings.LastIndexByte(part, '%'); at > len(part)-3 { // half of an escape
		part = part[:at]
	}
	return part + sum[:digits]
}

// parquetTable is the schema of a pair: the columns of its executions.
type parquetTable struct {
	group parquet.Group
	units map[string]string
	index map[string]int // of each column in Parquet's order
}

// fixed are the columns of every file; "arm" only of an experiment with arms.
var fixed = map[string]parquet.Node{
	"benchmark": parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
	"vm":        parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
	"variant":   parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
	"arm":       parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
	"outcome":   parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
	"pexec":     parquet.Int(32), "iteration": parquet.Int(32),
	"wall": parquet.Optional(parquet.Leaf(parquet.DoubleType)),
}

func newParquetTable(pair *dataset.Pair) (*parquetTable, error) {
	t := &parquetTable{group: parquet.Group{}, units: map[string]string{"wall": dataset.Seconds},
		index: map[string]int{}}
	maps.Copy(t.group, fixed)
	if pair.Key.Arm == "" {
		delete(t.group, "arm")
	}
	kinds := map[string]string{}
	for i := range pair.Executions {
		e := &pair.Executions[i]
		if err := e.Check(); err != nil {
			return nil, err
		}
		own := map[string]bool{}
		for j := range e.Columns {
			c := &e.Columns[j]
			name := parquetName(c)
			kind, node := parquetKind(c)
			if own[name] {
				return nil, fmt.Errorf("execution %d: two columns would be called %s; rename one in the "+
					"benchmark", e.Number, name)
			}
			own[name] = true
			if before, seen := kinds[name]; seen && before != kind {
				return nil, fmt.Errorf("execution %d: column %s is %s, and was %s before", e.Number, name,
					kind, before)
			}
			kinds[name] = kind
			t.units[name] = c.Unit
			t.group[name] = node
		}
	}
	for i, name := range slices.Sorted(maps.Keys(t.group)) {
		t.index[name] = i
	}
	return t, nil
}

// parquetName is the name of a column in the file. Wall times in nanoseconds are called wall_ns,
// because wall is in seconds in every file. A benchmark's column whose name is taken is called
// user_NAME.
func parquetName(c *dataset.Column) string {
	name := c.Name
	switch {
	case c.Core != dataset.NoCore:
		return fmt.Sprintf("%s_core%d", name, c.Core)
	case name == dataset.Wall && c.Unit == dataset.Nanoseconds:
		return "wall_ns"
	case name == dataset.Wall:
		return name
	}
	if _, taken := fixed[name]; taken || name == "wall_ns" {
		return "user_" + name
	}
	return name
}

func parquetKind(c *dataset.Column) (string, parquet.Node) {
	switch {
	case c.Counts != nil:
		return "uint64", parquet.Optional(parquet.Uint(64))
	case c.Ints != nil:
		return "int64", parquet.Optional(parquet.Int(64))
	}
	return "double", parquet.Optional(parquet.Leaf(parquet.DoubleType))
}

// write adds the rows of an execution.
func (t *parquetTable) write(out parquet.RowWriter, pair *dataset.Pair, e *dataset.Execution) error {
	if len(e.Columns) == 0 {
		return nil
	}
	text := func(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }
	own := map[string]parquet.Value{"benchmark": text(pair.Key.Benchmark), "vm": text(pair.Key.VM),
		"variant": text(pair.Key.Variant), "arm": text(pair.Key.Arm),
		"outcome": text(cmp.Or(string(e.Outcome), string(results.Completed))),
		"pexec":   parquet.Int32Value(int32(e.Number))}
	var seconds []float64
	if c, ok := e.Column(dataset.Wall, dataset.NoCore); ok && c.Unit == dataset.Nanoseconds {
		seconds, _ = c.Floats()
	}
	rows := make([]parquet.Row, e.Columns[0].Len())
	for i := range rows {
		own["iteration"] = parquet.Int32Value(int32(i))
		row := make(parquet.Row, len(t.index))
		for name, at := range t.index {
			row[at] = own[name].Level(0, 0, at) // null for the others
		}
		set := func(name string, v parquet.Value) { row[t.index[name]] = v.Level(0, 1, t.index[name]) }
		if seconds != nil {
			set("wall", parquet.DoubleValue(seconds[i]))
		}
		for j := range e.Columns {
			c := &e.Columns[j]
			switch name := parquetName(c); {
			case c.Counts != nil:
				set(name, parquet.Int64Value(int64(c.Counts[i])))
			case c.Ints != nil && c.Ints[i] != dataset.MissingInt:
				set(name, parquet.Int64Value(c.Ints[i]))
			case c.Ints == nil && !math.IsNaN(c.Reals[i]):
				set(name, parquet.DoubleValue(c.Reals[i]))
			}
		}
		rows[i] = row
	}
	_, err := out.WriteRows(rows)
	return err
}

// WriteParquetDirectory writes a file for each key below dir, in the partition layout.
func WriteParquetDirectory(fsys durable.FS, d *dataset.Dataset, dir string) error {
	for i := range d.Pairs {
		p := &d.Pairs[i]
		file := filepath.Join(dir, filepath.FromSlash(ParquetFile(p.Key)))
		if err := durable.MkdirAll(fsys, filepath.Dir(file)); err != nil {
			return fmt.Errorf("write Parquet: %w", err)
		}
		write := func(w io.Writer) error { return WriteParquet(w, d, p) }
		if err := durable.WriteUserFile(file, write); err != nil {
			return err
		}
	}
	return nil
}

// WriteHistory writes the points of all keys of a history as a Parquet file, with the columns of
// `krunctl history -f csv` up to the change.
func WriteHistory(w io.Writer, h *history.History) error {
	type row struct {
		Key        string   `parquet:"key,dict"`
		Machine    string   `parquet:"machine,dict"`
		Version    string   `parquet:"version,dict"`
		Executions int32    `parquet:"executions"`
		Value      float64  `parquet:"value"` // geometric mean
		Low        float64  `parquet:"low"`
		High       float64  `parquet:"high"`
		Change     *float64 `parquet:"change_ratio,optional"` // at the version with which it most probably came
	}
	out := parquet.NewGenericWriter[row](w, parquet.Compression(&parquet.Snappy),
		parquet.KeyValueMetadata("krund.format", "history 1"))
	for _, k := range h.Keys {
		changes := map[int]*float64{}
		for i := range k.Changes {
			changes[k.Changes[i].Version] = &k.Changes[i].Ratio
		}
		rows := make([]row, len(k.Points))
		for i, p := range k.Points {
			rows[i] = row{k.Key, k.Machine, h.Versions[p.Version].Label, int32(p.Executions), p.Value, p.Low,
				p.High, changes[p.Version]}
		}
		if _, err := out.Write(rows); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return out.Close()
}
