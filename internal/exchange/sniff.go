package exchange

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// SniffSize is the number of bytes from the beginning of a file that Sniff needs; fewer are
// allowed.
const SniffSize = 1 << 16

// Sniff determines the tool that wrote a file from the beginning of its content: it returns
// FormatKrun, FormatWarmupCSV or the name of one of formats, or "" for anything else. It looks only
// at features unique to one format at its start, so that errors in a damaged file come from the
// reader.
func Sniff(head []byte) string {
	o := openingOf(head)
	for _, f := range formats {
		if f.like(o) {
			return f.name
		}
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("BZh")):
		return FormatKrun
	case bytes.HasPrefix(text, []byte("[")), bytes.HasPrefix(text, []byte("{")):
		return sniffKrun(o.json)
	case isWarmupHeader(o.columns[0], !bytes.Contains(head, []byte("\n"))):
		return FormatWarmupCSV
	}
	return sniffGo(string(text))
}

// sniffGo looks for a result, or for the head of results without any. A table of benchstat begins
// with the same head.
func sniffGo(text string) (format string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "pexec: "),
			strings.HasPrefix(line, "Benchmark") && len(fields) >= 4 && strings.Contains(line, " ns/op"):
			return FormatGo
		case strings.HasPrefix(line, "goos: "), strings.HasPrefix(line, "pkg: "):
			format = FormatGo
		case strings.Contains(line, "│"):
			return ""
		}
	}
	return format
}

// Names of the members of Krun's files. The names in krunOften occur in files of others, too.
var (
	krunOnly = []string{"wallclock_times", "core_cycle_counts", "aperf_counts", "mperf_counts",
		"pexec_flags", "eta_estimates", "all_outliers", "changepoints", "changepoint_means",
		"changepoint_vars", "common_outliers", "unique_outliers", "starting_temperatures"}
	krunOften = []string{"config", "audit", "error_flag", "classifications", "classifier", "window_size",
		"reboots"}
)

func sniffKrun(p jsonPaths) string {
	is := func(name string) bool { return p.has(name) }
	if slices.ContainsFunc(krunOnly, is) || !p.complete && slices.ContainsFunc(krunOften, is) {
		return FormatKrun // the others may follow
	}
	return ""
}

// jsonPaths has the names of members at the beginning of a JSON value, down to the members of the
// objects in it: "results[].command".
type jsonPaths struct {
	paths    map[string]bool
	complete bool // the value ends in the text
}

// has reports whether all paths occur.
func (p jsonPaths) has(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !p.paths[path] })
}

// pathDepth is the number of objects and arrays in which a path is looked for.
const pathDepth = 3

// pathsOf reads the beginning of a JSON value, which may be cut off or damaged.
func pathsOf(text []byte) jsonPaths {
	type level struct {
		path   string // of the object or array
		object bool
		name   string // of the member whose value is next; "" if a name is next
	}
	p := jsonPaths{paths: map[string]bool{}}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return p
		}
		var at *level
		if len(open) > 0 {
			at = &open[len(open)-1]
		}
		switch delimiter, isDelimiter := token.(json.Delim); {
		case isDelimiter && (delimiter == '}' || delimiter == ']'):
			open = open[:len(open)-1]
		case at != nil && at.object && at.name == "":
			at.name, _ = token.(string)
			at.name = strings.TrimPrefix(at.path+"."+at.name, ".")
			if len(open) <= pathDepth {
				p.paths[at.name] = true
			}
			continue
		case isDelimiter:
			path := ""
			if at != nil {
				path = at.name
				if !at.object {
					path = at.path
				}
			}
			if delimiter == '[' {
				path += "[]"
			}
			if len(open) > pathDepth {
				path = "" // not looked for; in the deepest, all paths would be as long as the text
			}
			if at != nil {
				at.name = ""
			}
			open = append(open, level{path: path, object: delimiter == '{'})
			continue
		default:
			if at != nil {
				at.name = ""
			}
		}
		if len(open) == 0 {
			p.complete = true
			return p
		}
	}
}

// columnsOf returns the cells of the first line, which are unquoted and trimmed; nil if there is no
// line. The last one may be cut off.
func columnsOf(head []byte, comma rune) []string {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(head, []byte(byteOrderMark)), []byte("\n"))
	if len(line) == 0 {
		return nil
	}
	columns := strings.Split(strings.TrimRight(string(line), "\r"), string(comma))
	for i, c := range columns {
		columns[i] = strings.Trim(strings.TrimSpace(c), `"`)
	}
	return columns
}
