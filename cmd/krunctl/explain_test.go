package main

import (
	"encoding/json"
	"strings"
	"testing"

	"krund/internal/analysis/explain"
)

// TestExplain: the text and the JSON document are of the same keys, mistakes in flags are wrong
// usage, and nothing is changed.
func TestExplain(t *testing.T) {
	in := twoKeys(t, t.TempDir())
	before := contents(t, in)
	text := krunctl(t, "explain", in)
	if text.code != exitOK || !strings.Contains(text.stdout, "causes of outliers and changepoints") {
		t.Error(text.text())
	}
	var doc explain.Document
	if err := json.Unmarshal([]byte(krunctl(t, "explain", "--json", in).stdout), &doc); err != nil ||
		doc.Format != explain.Format || len(doc.Keys) != 2 {
		t.Errorf("%v, %+v", err, doc)
	}
	for i := range doc.Keys {
		if !strings.Contains(text.stdout, "\n"+doc.Keys[i].Key+" (instrument off)\n") {
			t.Errorf("%s is not in\n%s", doc.Keys[i].Key, text.stdout)
		}
	}
	for _, args := range [][]string{{"--alpha", "0"}, {"--alpha", "1"}, {"--execution", "999"}} {
		if r := krunctl(t, append([]string{"explain", in}, args...)...); r.code != exitUsage ||
			!strings.Contains(r.stderr, args[0]) {
			t.Errorf("%v: %s", args, r.text())
		}
	}
	if after := contents(t, in); len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
}
