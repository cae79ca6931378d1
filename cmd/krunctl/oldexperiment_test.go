package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// The directory testdata/d505b153 was written by the programs of that commit: an experiment with
// two arms, three VMs, columns, events and [stop], and what its krunctl printed of it.
const oldVersion = "testdata/d505b153"

// TestOldExperiment: what was printed then is printed now: each field of JSON is still there with
// its value, and each column of CSV. Fields may be added.
func TestOldExperiment(t *testing.T) {
	work := t.TempDir()
	must.Do(t, os.CopyFS(work, os.DirFS(oldVersion)))
	t.Chdir(work)
	for name, args := range map[string][]string{
		"summary.json":    {"show", "--format", "json", "old.krun"},
		"status.json":     {"status", "--format", "json", "old.krun"},
		"startup.json":    {"show", "--startup", "--format", "json", "old.krun"},
		"show.json":       {"show", "--format", "json", "old.krun", "3"},
		"plan.json":       {"check", "--plan", "--format", "json", "old.toml"},
		"check-data.json": {"check", "--format", "json", "old.krun"},
		"analyze.json":    {"analyze", "--format", "json", "old.krun"},
		"compare.json":    {"compare", "--fail-on", "never", "--format", "json", "old.krun"},
		"explain.json":    {"explain", "--format", "json", "old.krun"},
		"stability.json":  {"enough", "stability", "--format", "json", "old.krun"},
		"similarity.json": {"analyze", "--similarity", "--format", "json", "old.krun"},
		"optimize.json":   {"enough", "optimize", "--format", "json", "old.krun"},
		"simulate.json":   {"enough", "simulate", "--format", "json", "old.krun"},
	} {
		t.Run(name, func(t *testing.T) {
			r := krunctl(t, args...)
			must.Need(t, r.code == exitOK || r.code == exitLeftOut, r.text())
			var old, now any
			must.Do(t, json.Unmarshal(oldText(t, name), &old))
			must.Do(t, json.Unmarshal([]byte(r.stdout), &now))
			var lost []string
			compared := missing(old, now, "", &lost)
			must.Be(t, len(lost) == 0, len(lost), "of", compared, "values differ", strings.Join(lost, "\n"))
			must.Be(t, compared >= 10, "compared only", compared, "values")
		})
	}
	for name, args := range map[string][]string{
		"long.csv.gz":    {"convert", "--to", "csv", "old.krun"},
		"executions.csv": {"convert", "--to", "csv", "--rows", "executions", "old.krun"},
		"events.csv.gz":  {"convert", "--to", "csv", "--rows", "events", "old.krun"},
		"rows.jsonl":     {"convert", "--to", "jsonl", "--iterations", "0-4", "--key", "*:C:*", "old.krun"},
	} {
		t.Run(name, func(t *testing.T) {
			if r := krunctl(t, args...); r.stdout != string(oldText(t, name)) {
				t.Errorf("differs: %d bytes, was %d\n%s", len(r.stdout), len(oldText(t, name)), r.stderr)
			}
		})
	}
}

// oldText returns a file of the old version, decompressed.
func oldText(t *testing.T, name string) []byte {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	if filepath.Ext(name) != ".gz" {
		return text
	}
	r := must.Get(gzip.NewReader(bytes.NewReader(text)))(t)
	text = must.Get(io.ReadAll(r))(t)
	return text
}

// missing appends the values of old that now does not have, and returns how many it compared.
// Numbers may differ in the last digits.
func missing(old, now any, path string, lost *[]string) (compared int) {
	switch o := old.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		if !ok {
			*lost = append(*lost, fmt.Sprintf("%s: an object was here, now %v", path, now))
			return 1
		}
		for name, value := range o {
			if changes[name] || corrected(path+"."+name) {
				if _, ok := n[name]; !ok {
					*lost = append(*lost, path+"."+name+": is not there")
				}
				continue
			}
			compared += missing(value, n[name], path+"."+name, lost)
		}
		return compared
	case []any:
		n, ok := now.([]any)
		if !ok || len(n) != len(o) {
			*lost = append(*lost, fmt.Sprintf("%s: %d values, were %d", path, len(n), len(o)))
			return 1
		}
		for i := range o {
			compared += missing(o[i], n[i], fmt.Sprintf("%s[%d]", path, i), lost)
		}
		return compared
	case float64:
		const digits = 1e-9
		if n, ok := now.(float64); ok && math.Abs(n-o) <= digits*math.Max(1, math.Abs(o)) {
			return 1
		}
	default:
		if old == now {
			return 1
		}
	}
	*lost = append(*lost, fmt.Sprintf("%s: %v, was %v", path, now, old))
	return 1
}

// corrected reports whether a field depends on how a comparison corrects for the number of tests,
// or on how many candidates explain tests. Both have changed since: the values are others, the
// fields are still there.
func corrected(path string) bool {
	change := strings.HasPrefix(path, ".changes[")
	return path == ".level" || strings.HasSuffix(path, "].tested") ||
		change && (strings.HasSuffix(path, ".ratio.low") || strings.HasSuffix(path, ".ratio.high") ||
			strings.HasSuffix(path, ".p_corrected") || strings.HasSuffix(path, ".p_margin_corrected"))
}

// changes are fields whose values depend on the machine and the directory of the test, or on the
// version of krunctl; and what compare estimates of changes that it might show, and advises.
var changes = map[string]bool{"version": true, "versions": true, "config": true, "host": true,
	"notes": true, "bytes": true, "detectable": true, "reason": true, "help": true}
