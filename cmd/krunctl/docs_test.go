package main

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/explain"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/similarity"
	"krund/internal/analysis/stability"
	"krund/internal/exchange"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
	"krund/internal/machine/noise"
	"krund/internal/reading/integrity"
	"krund/internal/reading/summary"
)

// TestEveryFieldIsDocumented looks for the names of all JSON fields in
// docs/output.md.
func TestEveryFieldIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []any{summary.Plan{}, summary.PlanSlot{}, summary.Status{}, summaryJSON{},
		checkDataJSON{}, doctorJSON{},
		noise.Certificate{}, summary.Counters{}, summary.Calibration{}, startupJSON{},
		similarity.Document{}, stability.Document{}, optimize.Document{}, integrity.Defect{},
		explain.Document{}, stop.Answer{}, stop.Decisions{}, sequential.Simulation{}} {
		for name := range fields(reflect.TypeOf(document)) {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%T: %s is not in docs/output.md", document, name)
			}
		}
	}
	records := slices.Values([]results.Record{{Key: key.Key{Arm: "a"}}})
	options := exchange.ExportOptions{Outcome: true}
	long, err := exchange.NewLongExport(records, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*exchange.Export{long, exchange.NewEventsExport(records, options),
		exchange.NewExecutionsExport(records, options)} {
		var b strings.Builder
		if err := x.Write(&b); err != nil {
			t.Fatal(err)
		}
		header, _, _ := strings.Cut(b.String(), "\n")
		for name := range strings.SplitSeq(header, ",") {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("column %s is not in docs/output.md", name)
			}
		}
	}
}

// fields are the names of all JSON fields of a type and what is in it.
func fields(typ reflect.Type) map[string]bool {
	all := make(map[string]bool)
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fields(typ.Elem())
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return all
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				all[name] = true
			}
			for name := range fields(f.Type) {
				all[name] = true
			}
		}
	default:
	}
	return all
}

// TestEveryCodeIsDocumented does the same for the codes of check-data.
func TestEveryCodeIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../internal/reading/integrity/problem.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(source)) {
		_, code, isCode := strings.Cut(line, `Code = "`)
		if !isCode {
			continue
		}
		found++
		code, _, _ = strings.Cut(code, `"`)
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("%s is not in docs/output.md", code)
		}
	}
	if found < 25 {
		t.Errorf("only %d codes were found in the source", found)
	}
}

// TestTheRecordIsDocumented compares the fields of the record in docs/output.md
// with the specification in package results. -update copies it.
func TestTheRecordIsDocumented(t *testing.T) {
	const page = "../../docs/output.md"
	source, err := os.ReadFile("../../internal/experiment/results/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, spec, found := strings.Cut(string(source), "//\tformat ")
	spec, _, end := strings.Cut("//\tformat "+spec, "package results")
	if !found || !end {
		t.Fatal("the specification is not where it was")
	}
	var want strings.Builder
	for line := range strings.Lines(spec) {
		want.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), "\t"))
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "```text\n")
	block, tail, found := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("%s has no block of text", page)
	}
	if block == want.String() {
		return
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+"```text\n"+want.String()+"```"+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what package results says (run with -update):\n%s", page, want.String())
}
