package exchange

import (
	"krund/internal/analysis/dataset"
	"krund/internal/results"
)

// KrundExecution gives the series of one record with all its columns, which
// share their values with the record.
func KrundExecution(r *results.Record) dataset.Execution {
	return krundExecution(r, nil)
}
