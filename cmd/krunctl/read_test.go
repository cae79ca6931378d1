package main

import "testing"

// TestGoldens runs the commands that print over the same experiments.
func TestGoldens(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *builder
		args func(*builder) []string
	}{
		"plan":              {newExperiment, func(b *builder) []string { return []string{"plan", b.toml} }},
		"plan-limit":        {newExperiment, func(b *builder) []string { return []string{"plan", "--limit", "3", b.toml} }},
		"plan-json":         {mixed, func(b *builder) []string { return []string{"plan", "--json", b.toml} }},
		"plan-measured":     {complete, func(b *builder) []string { return []string{"plan", "--limit", "1", b.toml} }},
		"status-new":        {newExperiment, func(b *builder) []string { return []string{"status", b.dir()} }},
		"status":            {mixed, func(b *builder) []string { return []string{"status", "--keys", b.toml} }},
		"status-json":       {mixed, func(b *builder) []string { return []string{"status", "--json", b.dir()} }},
		"status-finished":   {complete, func(b *builder) []string { return []string{"status", b.dir()} }},
		"show":              {mixed, func(b *builder) []string { return []string{"show", b.dir(), "0"} }},
		"show-series":       {mixed, func(b *builder) []string { return []string{"show", "--series", b.dir(), "3-2"} }},
		"show-error":        {mixed, func(b *builder) []string { return []string{"show", b.toml, "2-1"} }},
		"show-json":         {mixed, func(b *builder) []string { return []string{"show", "--json", b.dir() + "/results/0000000-001.json.gz"} }},
		"show-no-record":    {mixed, func(b *builder) []string { return []string{"show", b.dir(), "5"} }},
		"show-no-attempt":   {mixed, func(b *builder) []string { return []string{"show", b.dir(), "0-9"} }},
		"show-which-record": {mixed, func(b *builder) []string { return []string{"show", b.dir()} }},
		"summary":           {mixed, func(b *builder) []string { return []string{"summary", b.dir()} }},
		"summary-new":       {newExperiment, func(b *builder) []string { return []string{"summary", b.dir()} }},
		"summary-json":      {mixed, func(b *builder) []string { return []string{"summary", "--json", "--key", "*:C:*", b.dir()} }},
		"summary-sorted":    {complete, func(b *builder) []string { return []string{"summary", "--sort", "key", b.toml} }},
		"export-long":       {mixed, func(b *builder) []string { return []string{"export", "--csv", b.dir()} }},
		"export-all": {mixed, func(b *builder) []string {
			return []string{"export", "--csv", "--long", "--all-outcomes", "--iterations", "0-0", b.dir()}
		}},
		"export-column": {mixed, func(b *builder) []string {
			return []string{"export", "--csv", "--column", "gc_time", "--key", "fasta:*:*", b.dir()}
		}},
		"export-no-column": {mixed, func(b *builder) []string { return []string{"export", "--csv", "--column", "cycles", b.dir()} }},
		"export-jsonl":     {mixed, func(b *builder) []string { return []string{"export", "--jsonl", "--iterations", "1-", b.dir()} }},
		"export-wide":      {complete, func(b *builder) []string { return []string{"export", "--csv", "--wide", "--key", "*:C:*", b.dir()} }},
		"export-wide-gap":  {mixed, func(b *builder) []string { return []string{"export", "--csv", "--wide", "--key", "*:C:*", b.dir()} }},
		"export-wide-aperf": {complete, func(b *builder) []string {
			return []string{"export", "--csv", "--wide", "--key", "nbody:C:*", "--column", "aperf_core0", b.dir()}
		}},
		"export-wide-vms": {complete, func(b *builder) []string { return []string{"export", "--csv", "--wide", b.dir()} }},
		"export-new":      {newExperiment, func(b *builder) []string { return []string{"export", "--csv", b.dir()} }},
		"export-format":   {complete, func(b *builder) []string { return []string{"export", b.dir()} }},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.make(t)
			golden(t, name, krunctl(t, c.args(b)...).in(b).text())
		})
	}
}
