package main

import (
	"encoding/json"
	"strings"
	"testing"

	"krund/internal/analysis/explain"
	"krund/rig/must"
)

// TestExplain: the text and the JSON document are of the same keys, mistakes in flags are wrong
// usage, and nothing is changed.
func TestExplain(t *testing.T) {
	in := twoKeys(t, t.TempDir())
	before := contents(t, in)
	text := krunctl(t, "explain", in)
	first := strings.Join(strings.Fields(text.stdout), " ") // the line may be broken
	answer := ": no cause is established for any of 8 changepoints in 2 keys "
	must.Be(t, text.code == exitOK && strings.Contains(first, answer), text.text())
	var doc explain.Document
	err := json.Unmarshal([]byte(krunctl(t, "explain", "--format", "json", in).stdout), &doc)
	must.Be(t, err == nil && doc.Format == explain.Format && len(doc.Keys) == 2, err, doc)
	for i := range doc.Keys {
		must.Contain(t, text.stdout, "\n"+doc.Keys[i].Key+" (instrument off)\n", doc.Keys[i].Key, "is not")
	}
	krunctl(t, "explain", in, "--execution", "999").says(t, exitUsage, "", "--execution")
	must.Equal(t, len(contents(t, in)), len(before), "files, before")
}
