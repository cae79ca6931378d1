package exchange

import (
	"bytes"
	"encoding/json"
	"strings"
)

// SniffSize is how much of a file Sniff wants to see; less is no harm.
const SniffSize = 1 << 16

// Sniff tells from the beginning of a file what wrote it: one of FormatKrun, FormatJMH,
// FormatPyperf, FormatHyperfine and FormatGo; "" when it is none of these. It looks at what only
// one of them begins with, so that the reader's errors, not this guess, tell what is wrong with a
// damaged file. CSV files cannot be told from other tables, and are known by their name.
func Sniff(head []byte) string {
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("BZh")):
		return FormatKrun
	case bytes.HasPrefix(text, []byte("[")):
		return FormatJMH // the others are objects
	case bytes.HasPrefix(text, []byte("{")):
		return sniffObject(text)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "goos: ") || strings.HasPrefix(line, "pkg: ") ||
			strings.HasPrefix(line, "pexec: ") {
			return FormatGo
		}
		if fields := strings.Fields(line); len(fields) >= 4 && strings.HasPrefix(line, "Benchmark") &&
			strings.Contains(line, " ns/op") {
			return FormatGo
		}
	}
	return ""
}

// sniffObject tells objects apart by the first key that only one format has. Krun's come first in
// its files, because they are sorted.
func sniffObject(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		switch name {
		case "benchmarks", "metadata", "version":
			return FormatPyperf
		case "results":
			return FormatHyperfine
		case "wallclock_times", "core_cycle_counts", "aperf_counts", "mperf_counts", "config", "audit",
			"pexec_flags",
			"eta_estimates", "error_flag", "all_outliers", "changepoints", "changepoint_means",
			"changepoint_vars", "classifications", "classifier",
			"common_outliers", "unique_outliers", "window_size", "reboots", "starting_temperatures":
			return FormatKrun
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "" // longer than what there is to see
		}
	}
	return ""
}
