package console

import (
	"testing"
	"time"

	"krund/internal/analysis/warmup"
	"krund/rig/must"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		p    warmup.Progress
		want string
	}{
		{warmup.Progress{Of: 40}, "x [....................] 0 of 40 executions"},
		{warmup.Progress{Executions: 20, Of: 40}, "x [##########..........] 20 of 40 executions, 10s left"},
		{warmup.Progress{Executions: 20, Of: 40, Reused: 10},
			"x [##########..........] 20 of 40 executions, 20s left"},
		{warmup.Progress{Executions: 40, Of: 40}, "x [####################] 40 of 40 executions"},
		{warmup.Progress{}, "x [....................] 0 of 0 executions"},
	} {
		must.Equal(t, progressLine("x", c.p, 10*time.Second), c.want, c.p)
	}
}
