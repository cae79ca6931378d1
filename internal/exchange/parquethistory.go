package exchange

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"

	"krund/internal/analysis/history"
)

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
