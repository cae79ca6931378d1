package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/enough"
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
	"krund/rig/must"
)

// TestEveryFieldIsDocumented looks for the names of all JSON fields in
// docs/output.md.
func TestEveryFieldIsDocumented(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/output.md"))(t)
	for _, document := range []any{summary.Plan{}, summary.PlanSlot{}, summary.Status{}, summary.Document{},
		integrity.Document{}, doctorJSON{},
		noise.Certificate{}, summary.Counters{}, summary.Calibration{}, summary.Startup{},
		similarity.Document{}, stability.Document{}, optimize.Findings{}, integrity.Defect{},
		explain.Document{}, enough.Document{}, stop.Answer{}, stop.Decisions{}, sequential.Simulation{}} {
		for name := range fields(reflect.TypeOf(document)) {
			must.Contain(t, string(text), "`"+name+"`", document, "is not in docs/output.md")
		}
	}
	records := slices.Values([]results.Record{{Key: key.Key{Arm: "a"}}})
	options := exchange.ExportOptions{Outcome: true}
	long := must.Get(exchange.NewLongExport(records, options))(t)
	for _, x := range []*exchange.Export{long, exchange.NewEventsExport(records, options),
		exchange.NewExecutionsExport(records, options)} {
		var b strings.Builder
		must.Do(t, x.Write(&b))
		header, _, _ := strings.Cut(b.String(), "\n")
		for name := range strings.SplitSeq(header, ",") {
			must.Contain(t, string(text), "`"+name+"`", "column", "is not in docs/output.md")
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
	text := must.Get(os.ReadFile("../../docs/output.md"))(t)
	source := must.Get(os.ReadFile("../../internal/reading/integrity/problem.go"))(t)
	found := 0
	for line := range strings.Lines(string(source)) {
		_, code, isCode := strings.Cut(line, `Code = "`)
		if !isCode {
			continue
		}
		found++
		code, _, _ = strings.Cut(code, `"`)
		must.Contain(t, string(text), "`"+code+"`", "is not in docs/output.md")
	}
	must.Be(t, found >= 25, "only", found, "codes were found in the source")
}

// TestTestsThatPagesName: a reader finds each test that a page names.
func TestTestsThatPagesName(t *testing.T) {
	var sources strings.Builder
	must.Do(t, filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil: // another test may have removed it
		case entry.IsDir() && (entry.Name() == "build" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, _ := os.ReadFile(path)
			sources.Write(text)
		}
		return nil
	}))
	pages := must.Get(filepath.Glob("../../docs/*.md"))(t)
	for _, page := range pages {
		text := string(must.Get(os.ReadFile(page))(t))
		for _, name := range regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(text, -1) {
			must.Be(t, strings.Contains(sources.String(), "func "+name+"("), page, "names", name)
		}
	}
	must.Be(t, len(pages) > 20, pages)
}

// TestTheRecordIsDocumented compares the fields of the record in docs/output.md
// with the specification in package results. -update copies it.
func TestTheRecordIsDocumented(t *testing.T) {
	const page = "../../docs/output.md"
	source := must.Get(os.ReadFile("../../internal/experiment/results/doc.go"))(t)
	_, spec, found := strings.Cut(string(source), "//\tformat ")
	spec, _, end := strings.Cut("//\tformat "+spec, "package results")
	must.Need(t, found && end, "the specification is not where it was")
	var want strings.Builder
	for line := range strings.Lines(spec) {
		want.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), "\t"))
	}
	text := must.Get(os.ReadFile(page))(t)
	head, rest, _ := strings.Cut(string(text), "```text\n")
	block, tail, found := strings.Cut(rest, "```")
	must.Need(t, found, page, "has no block of text")
	if block == want.String() {
		return
	}
	if *update {
		must.Do(t, os.WriteFile(page, []byte(head+"```text\n"+want.String()+"```"+tail), 0o644))
		return
	}
	t.Errorf("%s is not what package results says (run with -update):\n%s", page, want.String())
}
