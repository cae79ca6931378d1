package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestGoldens runs the commands that print over the same experiments. DIR is the experiment's
// directory, TOML its configuration.
func TestGoldens(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *builder
		args string
	}{
		"plan":              {newExperiment, "check --plan TOML"},
		"plan-json":         {mixed, "check --plan --format json TOML"},
		"plan-measured":     {complete, "check --plan TOML"},
		"status-new":        {newExperiment, "status DIR"},
		"status":            {mixed, "status --by key TOML"},
		"status-json":       {mixed, "status --format json DIR"},
		"status-finished":   {complete, "status DIR"},
		"show":              {mixed, "show DIR 0"},
		"show-series":       {mixed, "show --series DIR 3-2"},
		"show-error":        {mixed, "show TOML 2-1"},
		"show-no-record":    {mixed, "show DIR 5"},
		"show-no-attempt":   {mixed, "show DIR 0-9"},
		"show-which-record": {mixed, "show --series DIR"},
		"summary":           {mixed, "show DIR"},
		"summary-new":       {newExperiment, "show DIR"},
		"summary-json":      {mixed, "show --format json --key *:C:* DIR"},
		"export-long":       {mixed, "convert --to csv DIR"},
		"export-all":        {mixed, "convert --to csv --all-outcomes --iterations 0-0 DIR"},
		"export-column":     {mixed, "convert --to csv --column gc_time --key fasta:*:* DIR"},
		"export-no-column":  {mixed, "convert --to csv --column cycles DIR"},
		"export-jsonl":      {mixed, "convert --to jsonl --iterations 1- DIR"},
		"export-wide":       {complete, "convert --to csv --rows wide --key *:C:* DIR"},
		"export-wide-gap":   {mixed, "convert --to csv --rows wide --key *:C:* DIR"},
		"export-wide-aperf": {complete,
			"convert --to csv --rows wide --key nbody:C:* --column aperf_core0 DIR"},
		"export-wide-vms":        {complete, "convert --to csv --rows wide DIR"},
		"export-executions":      {mixed, "convert --to csv --rows executions DIR"},
		"export-executions-json": {mixed, "convert --to jsonl --rows executions --all-outcomes DIR"},
		"export-executions-long": {mixed, "convert --to csv --rows executions --column x DIR"},
		"export-new":             {newExperiment, "convert --to csv DIR"},
		"export-format":          {complete, "convert DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.make(t)
			args := strings.NewReplacer("DIR", b.dir(), "TOML", b.toml).Replace(c.args)
			golden(t, name, krunctl(t, strings.Fields(args)...).in(b).text())
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
		r := krunctl(t, append([]string{"show", "--format", "json"}, args...)...)
		must.Be(t, r.code == exitOK && r.stdout == string(want), args, r.text(), "want", want)
	}
}
