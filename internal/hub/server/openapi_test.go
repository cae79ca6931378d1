package server_test

import (
	"database/sql"
	"fmt"
	"go/format"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// putFound stores a history with an event, and a result.
func putFound(t *testing.T, h *hubtest.Hub, tx *sql.Tx, id string) error {
	t.Helper()
	return putSeries(t, h, tx, database.Experiment{ID: id, Name: "warmup"}, "lab1", "v1")
}

// putSeries is putFound for an experiment, with a machine and the id of the event.
func putSeries(t *testing.T, h *hubtest.Hub, tx *sql.Tx, x database.Experiment, machine, event string) error {
	t.Helper()
	if err := h.DB.PutPoints(t.Context(), tx, x, nil, ""); err != nil {
		return err
	}
	err := h.DB.PutAnswer(t.Context(), tx, x.ID, database.Answer{Text: "1 key",
		Comparison: `{"changes":[{"key":"a:b:c","verdict":"worse"}]}`})
	if err != nil {
		return err
	}
	_, err = h.DB.PutHistory(t.Context(), tx, database.History{Name: x.Series(), Unit: "s", Changed: 1,
		Versions: `[{"label":"v1","source":"revision"}]`}, []database.Series{{Name: x.Series(), Key: "a:b:c",
		Machine: machine, Versions: 1, Value: 1, Change: 1, Trend: []float64{1},
		Doc: `{"key":"a:b:c","machine":"` + machine + `","points":[{"version":0,"executions":1,"value":1,"low":1,"high":1}]}`}})
	if err != nil {
		return err
	}
	return h.DB.PutEvent(t.Context(), tx, database.Event{ID: event, Name: x.Series(), Machine: machine,
		Verdict: "undecided", Experiment: x.ID, Present: true, Finding: database.Finding{Version: "v1",
			First: "v1", Last: "v1", Found: "v1", Changed: 1, Of: 1, Median: 1.1, Least: 1.1, Most: 1.1},
		Keys: []database.EventKey{{Key: "a:b:c", Found: "v1", Ratio: 1.1, Low: 1, High: 1.2}}})
}

// TestGeneratedClient: a client that is generated from the description alone compiles, reads every
// document that a reader may see into the types of the description, and submits nothing with a
// reader's token. A field that is not described is an error.
func TestGeneratedClient(t *testing.T) {
	h := hubtest.New(t)
	machine := h.Machine(t, "lab1")
	id := submitted(t, h, "lab1")
	must.Get(of("warmup", "first", "second").send(t.Context(), machine))(t)
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error { return putFound(t, h, tx, id) }))
	reader := h.Client(t, "eve", access.Reader)
	var d map[string]any
	must.Do(t, reader.Do(t.Context(), http.MethodGet, "/api/v1/openapi.json", nil, &d))
	values := map[string]string{"machines": "lab1", "history": "warmup", "experiments": id, "events": "v1"}
	source, calls := generated(d, func(kind string) string { return values[kind] })
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	text, err := format.Source([]byte(source))
	must.Do(t, err, source)
	must.Do(t, os.WriteFile(file, text, 0o644))
	c := exec.CommandContext(t.Context(), "go", "run", file)
	c.Dir, c.Env = dir, append(os.Environ(), "HUB="+h.URL, "TOKEN="+reader.Token, "GOFLAGS=")
	out, err := c.CombinedOutput()
	must.Do(t, err, string(out))
	must.Equal(t, strings.Count(string(out), "ok "), calls, string(out))
	must.Contain(t, string(out), "postTexperiments: 403")
	must.Be(t, calls > 12, calls, "documents")
}

// generated is a program with a client: a type for each schema, a function for each operation that
// speaks JSON, and calls of those that a reader may use. value is a path's parameter, by its list.
func generated(d map[string]any, value func(kind string) string) (source string, calls int) {
	var b, main strings.Builder
	b.WriteString(`package main
import ("bytes"; "encoding/json"; "fmt"; "io"; "net/http"; "net/url"; "os"; "time")
var _ time.Time
var _ = url.PathEscape
func do(method, path string, body, answer any) error {
	var text bytes.Buffer
	if body != nil { if err := json.NewEncoder(&text).Encode(body); err != nil { return err } }
	r, err := http.NewRequest(method, os.Getenv("HUB")+path, &text)
	if err != nil { return err }
	r.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	response, err := http.DefaultClient.Do(r)
	if err != nil { return err }
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		said, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%d %s", response.StatusCode, said)
	}
	decoder := json.NewDecoder(response.Body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(answer)
}
`)
	schemas := d["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range schemas {
		fmt.Fprintf(&b, "type %s %s\n", typeName(name), goType(s.(map[string]any)))
	}
	paths := d["paths"].(map[string]any)
	for path, methods := range paths {
		for method, o := range methods.(map[string]any) {
			operation := o.(map[string]any)
			answer := schemaOf(operation["responses"].(map[string]any)["200"])
			if answer == nil || path == "/api/v1/openapi.json" {
				continue
			}
			name, arguments, at := method, "", fmt.Sprintf("%q", path)
			for _, part := range strings.Split(path, "/")[3:] {
				name += typeName(part)
			}
			for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				arguments += m[1] + " string, "
				at = strings.ReplaceAll(at, m[0], `"+url.PathEscape(`+m[1]+`)+"`)
			}
			body := "nil"
			if sent := schemaOf(operation["requestBody"]); sent != nil {
				arguments, body = arguments+"body "+goType(sent), "body"
			}
			fmt.Fprintf(&b, "func %s(%s) (answer %s, err error) { return answer, do(%q, %s, %s, &answer) }\n",
				name, arguments, goType(answer), strings.ToUpper(method), at, body)
			kind := strings.Split(path, "/")[3]
			if method != "get" || slices.Contains([]string{"records", "compare", "projects"}, kind) {
				continue // records are for machines, projects for admins
			}
			argument := ""
			if arguments != "" {
				argument = fmt.Sprintf("%q", value(kind))
			}
			calls++
			fmt.Fprintf(&main, "if _, err := %s(%s); err != nil { fmt.Println(%q, err) } else { "+
				"fmt.Println(%q) }\n", name, argument, name, "ok "+name)
		}
	}
	fmt.Fprintf(&b, "func main() {\n%s\n_, err := postTexperiments(%s{})\n"+
		"fmt.Println(\"postTexperiments:\", err)\n}\n", main.String(),
		typeName(fmt.Sprintf("%T", api.Submission{})))
	return b.String(), calls
}

// schemaOf is that of a JSON document; nil if it is something else.
func schemaOf(message any) map[string]any {
	m, _ := message.(map[string]any)
	content, _ := m["content"].(map[string]any)
	document, _ := content["application/json"].(map[string]any)
	schema, _ := document["schema"].(map[string]any)
	return schema
}

func typeName(name string) string {
	return "T" + regexp.MustCompile(`\W`).ReplaceAllString(name, "_")
}

// goType is the type for a schema.
func goType(s map[string]any) string {
	if ref, ok := s["$ref"].(string); ok {
		return typeName(strings.TrimPrefix(ref, "#/components/schemas/"))
	}
	if either, ok := s["anyOf"].([]any); ok {
		return "*" + goType(either[0].(map[string]any))
	}
	kind, pointer := s["type"], ""
	if kinds, ok := kind.([]any); ok {
		kind = kinds[0]
		if kind == "number" {
			pointer = "*"
		}
	}
	switch kind {
	case "array":
		items, _ := s["items"].(map[string]any)
		return "[]" + goType(items)
	case "object":
		if more, ok := s["additionalProperties"].(map[string]any); ok {
			return "map[string]" + goType(more)
		}
		fields, _ := s["properties"].(map[string]any)
		var b strings.Builder
		for name, field := range fields {
			fmt.Fprintf(&b, "%s %s `json:%q`; ", typeName(name), goType(field.(map[string]any)), name)
		}
		return "struct {" + b.String() + "}"
	case "string":
		if s["format"] == "date-time" {
			return "time.Time"
		}
		return "string"
	case "boolean":
		return "bool"
	case "number":
		return pointer + "float64"
	case "integer":
		return "int64"
	}
	return "any"
}
