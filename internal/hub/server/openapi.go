package server

import (
	"cmp"
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/hub/pages"
)

// openapi answers with the OpenAPI document of the operations.
func (s *Server) openapi(http.ResponseWriter, *http.Request) (any, error) {
	return OpenAPI(s.Operations()), nil
}

// object is a JSON object of the document.
type object = map[string]any

// OpenAPI describes operations as an OpenAPI document of version 3.1. What is sent and answered has
// the schemas of the Go types, with the names and the types that encoding/json gives their fields.
func OpenAPI(operations []pages.Operation) any {
	schemas := schemas{}
	paths := map[string]object{}
	for _, o := range operations {
		method, path, _ := strings.Cut(o.Pattern, " ")
		one := object{"summary": o.Summary, "parameters": parameters(path, o.Query),
			"description": "For the role " + string(o.Role) + ", and those that include it.",
			"responses": object{
				"200": object{"description": "the answer", "content": schemas.content(o.Answer)},
				"default": object{"description": "an error: what, where, what to do next",
					"content": schemas.content(pages.Failed{})},
			}}
		if o.Role == Anyone {
			one["description"], one["security"] = "For everyone.", []any{}
		}
		if o.Body != nil {
			one["requestBody"] = object{"required": true, "content": schemas.content(o.Body)}
		}
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = one
	}
	return object{"openapi": "3.1.0", "paths": paths,
		"info":     object{"title": "krunhub", "version": cmp.Or(display.Version(), "unknown")},
		"security": []any{object{"token": []any{}}},
		"components": object{"schemas": schemas, "securitySchemes": object{
			"token": object{"type": "http", "scheme": "bearer"}}}}
}

// parameters are those in the path, such as {id}, and of the query.
func parameters(path string, query []string) []object {
	list := []object{}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		list = append(list, object{"name": m[1], "in": "path", "required": true,
			"schema": object{"type": "string"}})
	}
	for _, name := range query {
		list = append(list, object{"name": name, "in": "query", "schema": object{"type": "string"}})
	}
	return list
}

// schemas are those of the types with a name, by package and name.
type schemas map[string]object

// content describes a document: a value of the type that it has or, if it is not JSON, a string
// that is its media type.
func (s schemas) content(value any) object {
	if media, ok := value.(string); ok {
		return object{media: object{"schema": object{}}}
	}
	return object{"application/json": object{"schema": s.of(reflect.TypeOf(value))}}
}

var (
	texts  = reflect.TypeFor[encoding.TextMarshaler]()
	values = reflect.TypeFor[json.Marshaler]()
)

// of returns the schema of a type.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return object{"anyOf": []any{s.of(t.Elem()), object{"type": "null"}}}
	case t.Implements(values) && t.Kind() == reflect.Float64: // not a number is null
		return object{"type": []string{"number", "null"}}
	case t.Implements(values):
		return object{}
	case t.Implements(texts):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.named(t)
	case reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	return object{"type": "integer"}
}

// named returns a reference to the schema of a struct.
func (s schemas) named(t reflect.Type) object {
	name := strings.ReplaceAll(t.String(), "[]", "")
	if _, known := s[name]; !known {
		fields, always := object{}, []string{}
		s[name] = object{"type": "object", "properties": fields} // before its fields: it may contain itself
		s.fields(t, fields, &always)
		s[name]["required"] = always
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields adds those of a struct, with those of embedded ones that it does not have itself.
func (s schemas) fields(t reflect.Type, fields object, always *[]string) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-", !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct:
			embedded = append(embedded, f.Type)
			continue
		}
		name := cmp.Or(tag, f.Name)
		if fields[name] != nil { // that of the outer struct counts
			continue
		}
		fields[name] = s.of(f.Type)
		if strings.Contains(options, "string") {
			fields[name] = object{"type": "string"}
		}
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*always = append(*always, name)
		}
	}
	for _, t := range embedded {
		s.fields(t, fields, always)
	}
}
