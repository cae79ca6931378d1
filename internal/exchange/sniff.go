package exchange

import (
	"bytes"
	"encoding/json"
	"strings"
)

// SniffSize is the number of bytes from the beginning of a file that Sniff needs; fewer are
// allowed.
const SniffSize = 1 << 16

// Sniff determines the tool that wrote a file from the beginning of its content: it returns one of
// FormatKrun, FormatJMH, FormatPyperf, FormatHyperfine and FormatGo, or "" for anything else. It
// looks only at features unique to one format at its start, so that errors in a damaged file come
// from the reader. CSV files cannot be distinguished from other tables and are recognized by their
// name.
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

// sniffObject distinguishes objects by the first key that is unique to a format. Krun's unique keys
// come first in its files, because the keys are sorted.
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
			return "" // longer than the sniffed text
		}
	}
	return ""
}
