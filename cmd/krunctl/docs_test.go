package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"krund/internal/integrity"
)

// TestEveryFieldIsDocumented looks for the names of all JSON fields in
// docs/output.md.
func TestEveryFieldIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []any{planJSON{}, planSlotJSON{}, statusJSON{}, summaryJSON{}, checkDataJSON{}, integrity.Problem{}} {
		for name := range fields(reflect.TypeOf(document)) {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%T: %s is not in docs/output.md", document, name)
			}
		}
	}
	for _, name := range fixedColumns(true) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("column %s is not in docs/output.md", name)
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
	source, err := os.ReadFile("../../internal/integrity/problem.go")
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
