package exchange

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/durable"
)

// SteadyState is an annotation of a fork, in the format of Traini et al. (EMSE 2023): where its
// steady state begins, and where a technique ended warm-up.
type SteadyState struct {
	Benchmark string
	Number    int // of the execution, from 1
	Steady    bool
	Start     int     // first steady iteration, from 0
	Technique string  // "" if the row is about none
	Seconds   float64 // error of the technique's end of warm-up; negative: too early
	Low, High float64 // interval of the ratio of the technique's result to the steady one
}

// mostAnnotations limits the number of rows of a file of annotations.
const mostAnnotations = 5_000_000

// ReadSteadyStates reads a CSV table with the columns benchmark, fork (from 0), classification
// ("steady state" or another) and steady_state_starts (from 0), and for the rows of techniques
// technique, timewaste (seconds) and interval ("(low, high)"). Other columns may occur. The errors
// wrap ErrFormat and name the line, or are those of r.
func ReadSteadyStates(r io.Reader) ([]SteadyState, error) {
	t, err := newTable(r, "the annotations")
	if err != nil {
		return nil, err
	}
	required := []string{"benchmark", "fork", "classification", "steady_state_starts"}
	at, err := t.columns("needed are "+strings.Join(required, ", "), required...)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"technique", "timewaste", "interval"} {
		at[name] = slices.Index(t.head, name)
	}
	var list []SteadyState
	err = t.each(func(row []string) error {
		s, err := steadyStateOf(row, at)
		if err == nil && len(list) == mostAnnotations {
			err = fmt.Errorf("there are more than %d rows", mostAnnotations)
		}
		list = append(list, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// steadyStateOf parses a row. at has the indexes of the columns; -1 if there is none.
func steadyStateOf(row []string, at map[string]int) (s SteadyState, err error) {
	s.Benchmark = strings.Clone(row[at["benchmark"]])
	if err := tooLong("benchmark", s.Benchmark); err != nil {
		return s, err
	}
	fork, err := strconv.Atoi(row[at["fork"]])
	if err != nil || fork < 0 || fork >= mostRepetitions {
		return s, fmt.Errorf("fork %q is not a number; forks count from 0", row[at["fork"]])
	}
	s.Number = fork + 1
	if s.Steady = row[at["classification"]] == "steady state"; s.Steady {
		text := row[at["steady_state_starts"]]
		if s.Start, err = strconv.Atoi(text); err != nil || s.Start < 0 || s.Start > math.MaxInt32 {
			return s, fmt.Errorf("steady_state_starts %q is not a number of iterations", text)
		}
	}
	if at["technique"] < 0 || at["timewaste"] < 0 || at["interval"] < 0 {
		return s, nil
	}
	s.Technique = strings.Clone(row[at["technique"]])
	if s.Seconds, err = finite(row[at["timewaste"]]); err != nil {
		return s, fmt.Errorf("timewaste %w", err)
	}
	low, high, found := strings.Cut(strings.Trim(row[at["interval"]], "() "), ",")
	if s.Low, err = finite(low); err != nil || !found {
		return s, fmt.Errorf("interval %q is not (low, high)", row[at["interval"]])
	}
	if s.High, err = finite(strings.TrimSpace(high)); err != nil {
		return s, fmt.Errorf("interval %w", err)
	}
	return s, nil
}

func finite(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return v, nil
}

// ReadSteadyStatesFile reads the named file with ReadSteadyStates.
func ReadSteadyStatesFile(name string) ([]SteadyState, error) {
	return readNamed(name, "the annotations",
		func(f durable.File) ([]SteadyState, error) { return ReadSteadyStates(f) })
}
