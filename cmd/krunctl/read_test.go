package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"
)

// TestGoldens runs the commands that print over the same experiments.
func TestGoldens(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *builder
		args func(*builder) []string
	}{
		"plan": {newExperiment, func(b *builder) []string { return []string{"check", "--plan", b.toml} }},
		"plan-json": {mixed, func(b *builder) []string {
			return []string{"check", "--plan", "--format",
				"json", b.toml}
		}},
		"plan-measured": {complete, func(b *builder) []string {
			return []string{"check", "--plan", b.toml}
		}},
		"status-new": {newExperiment, func(b *builder) []string {
			return []string{"status",
				b.dir()}
		}},
		"status": {mixed, func(b *builder) []string {
			return []string{"status", "--by", "key",
				b.toml}
		}},
		"status-json": {mixed, func(b *builder) []string {
			return []string{"status", "--format", "json",
				b.dir()}
		}},
		"status-finished": {complete, func(b *builder) []string { return []string{"status", b.dir()} }},
		"show":            {mixed, func(b *builder) []string { return []string{"show", b.dir(), "0"} }},
		"show-series": {mixed, func(b *builder) []string {
			return []string{"show", "--series", b.dir(),
				"3-2"}
		}},
		"show-error":      {mixed, func(b *builder) []string { return []string{"show", b.toml, "2-1"} }},
		"show-no-record":  {mixed, func(b *builder) []string { return []string{"show", b.dir(), "5"} }},
		"show-no-attempt": {mixed, func(b *builder) []string { return []string{"show", b.dir(), "0-9"} }},
		"show-which-record": {mixed, func(b *builder) []string {
			return []string{"show", "--series", b.dir()}
		}},
		"summary": {mixed, func(b *builder) []string { return []string{"show", b.dir()} }},
		"summary-new": {newExperiment, func(b *builder) []string {
			return []string{"show",
				b.dir()}
		}},
		"summary-json": {mixed, func(b *builder) []string {
			return []string{"show", "--format", "json", "--key",
				"*:C:*", b.dir()}
		}},
		"export-long": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "csv",
				b.dir()}
		}},
		"export-all": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "csv", "--all-outcomes", "--iterations", "0-0", b.dir()}
		}},
		"export-column": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "csv", "--column", "gc_time", "--key", "fasta:*:*", b.dir()}
		}},
		"export-no-column": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "csv", "--column",
				"cycles", b.dir()}
		}},
		"export-jsonl": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "jsonl",
				"--iterations", "1-", b.dir()}
		}},
		"export-wide": {complete, func(b *builder) []string {
			return []string{"convert", "--to", "csv",
				"--rows", "wide", "--key", "*:C:*", b.dir()}
		}},
		"export-wide-gap": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "csv", "--rows", "wide",
				"--key", "*:C:*", b.dir()}
		}},
		"export-wide-aperf": {complete, func(b *builder) []string {
			return []string{"convert", "--to", "csv", "--rows", "wide", "--key", "nbody:C:*", "--column",
				"aperf_core0",
				b.dir()}
		}},
		"export-wide-vms": {complete, func(b *builder) []string {
			return []string{"convert", "--to", "csv",
				"--rows", "wide", b.dir()}
		}},
		"export-executions": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "csv",
				"--rows", "executions", b.dir()}
		}},
		"export-executions-json": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "jsonl", "--rows", "executions", "--all-outcomes", b.dir()}
		}},
		"export-executions-long": {mixed, func(b *builder) []string {
			return []string{"convert", "--to", "csv",
				"--rows", "executions", "--column", "x", b.dir()}
		}},
		"export-new": {newExperiment, func(b *builder) []string {
			return []string{"convert",
				"--to", "csv", b.dir()}
		}},
		"export-format": {complete, func(b *builder) []string {
			return []string{"convert",
				b.dir()}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.make(t)
			golden(t, name, krunctl(t, c.args(b)...).in(b).text())
		})
	}
}

// TestShowJSONIsTheDocument: byte for byte what krund has written.
func TestShowJSONIsTheDocument(t *testing.T) {
	b := mixed(t)
	packed, err := os.ReadFile(b.recordPath(3, 2))
	b.must(err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	b.must(err)
	want, err := io.ReadAll(z)
	b.must(err)
	for _, args := range [][]string{{b.dir(), "3"}, {b.toml, "3-2"}, {b.recordPath(3, 2)}} {
		if r := krunctl(t, append([]string{"show", "--format", "json"}, args...)...); r.code != exitOK ||
			r.stdout != string(want) {
			t.Errorf("%v: %s, want %s", args, r.text(), want)
		}
	}
}
