package exchange

import (
	"fmt"
	"io"
)

// readHyperfine reads hyperfine's results (--export-json). Every time is a process execution of one
// iteration, in seconds; an execution with a nonzero exit status is an error.
func readHyperfine(in io.Reader, g *gatherer) error {
	var f struct {
		Results []struct {
			Command   *string
			Times     []float64
			ExitCodes []*int `json:"exit_codes"`
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	executions := 0
	for i, result := range f.Results {
		if result.Command == nil {
			return fmt.Errorf("%w: result %d has no command", ErrFormat, i+1)
		}
		at := place{benchmark: *result.Command, vm: g.vm, unit: "s"}
		if err := g.add(at); err != nil {
			return err
		}
		for i, t := range result.Times {
			executions++
			at.execution, at.failed = executions, ""
			if i < len(result.ExitCodes) {
				switch code := result.ExitCodes[i]; {
				case code == nil:
					at.failed = "terminated by a signal"
				case *code != 0:
					at.failed = fmt.Sprintf("exit status %d", *code)
				}
			}
			if err := g.add(at, t); err != nil {
				return err
			}
		}
	}
	return nil
}
