package suites

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// readPyperformance reads the directories bm_* of pyperformance: each *.toml there names a
// benchmark (pyperformance, doc/benchmarks.rst, section [tool.pyperformance]).
func readPyperformance(t *tree, f *Found) error {
	dir, names := "", []string(nil)
	for _, dir = range []string{"pyperformance/data-files/benchmarks", "data-files/benchmarks", "."} {
		var err error
		if names, err = t.list(dir); err == nil {
			break
		} else if dir == "." {
			return err
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "bm_") {
			continue
		}
		files, err := t.list(path.Join(dir, name))
		if err != nil {
			f.leave("%q: %v", clip(name), err)
			continue
		}
		files = slices.DeleteFunc(files, func(file string) bool {
			return file != "pyproject.toml" && (!strings.HasPrefix(file, "bm_") || path.Ext(file) != ".toml")
		})
		for _, file := range files {
			t.pyperformance(path.Join(dir, name), file, len(files) > 1, f)
		}
	}
	return nil
}

// described is what a *.toml of pyperformance says about a benchmark.
type described struct {
	Project struct {
		Python string `toml:"requires-python"`
	}
	Tool struct {
		Pyperformance struct {
			Name      string
			Runscript string
			Inherits  string
			ExtraOpts []string `toml:"extra_opts"`
		}
	}
}

// described reads a *.toml, with what it inherits where it says nothing itself: from the file or
// directory that it names, or pyproject.toml beside it (doc/custom_benchmarks.rst).
func (t *tree) described(dir, file string, depth int) (described, error) {
	var is described
	text, err := t.text(path.Join(dir, file))
	if err == nil && nested(text) {
		err = errors.New("it is too large or too deeply nested to describe a benchmark")
	}
	if err == nil {
		_, err = toml.Decode(text, &is)
	}
	tool := &is.Tool.Pyperformance
	from := path.Join(dir, "pyproject.toml")
	switch {
	case tool.Inherits == "" || tool.Inherits == file:
	case path.Ext(tool.Inherits) == ".toml":
		from = path.Join(dir, tool.Inherits)
	default:
		from = path.Join(dir, tool.Inherits, "base.toml")
	}
	const deepest = 4
	if err != nil || from == path.Join(dir, file) || depth == deepest || !t.has(from) {
		return is, err
	}
	base, err := t.described(path.Dir(from), path.Base(from), depth+1)
	if err != nil {
		return is, fmt.Errorf("%s: %w", clip(from), err)
	}
	is.Project.Python = cmp.Or(is.Project.Python, base.Project.Python)
	tool.Runscript = cmp.Or(tool.Runscript, base.Tool.Pyperformance.Runscript)
	if tool.ExtraOpts == nil {
		tool.ExtraOpts = base.Tool.Pyperformance.ExtraOpts
	}
	return is, nil
}

// pyperformance adds what one *.toml of a directory bm_NAME describes: one of several there is a
// single benchmark.
func (t *tree) pyperformance(dir, file string, single bool, f *Found) {
	is, err := t.described(dir, file, 0)
	if err != nil {
		f.leave("%q: %v", clip(path.Join(dir, file)), firstLine(err))
		return
	}
	tool := is.Tool.Pyperformance
	script := path.Join(dir, "run_benchmark.py")
	if tool.Runscript != "" {
		script = path.Join(dir, tool.Runscript)
	}
	name := tool.Name
	if name == "" {
		name = strings.TrimPrefix(path.Base(dir), "bm_")
		if file != "pyproject.toml" {
			name = strings.TrimPrefix(strings.TrimSuffix(file, ".toml"), "bm_")
		}
	}
	t.script(Benchmark{Name: name, Files: python(script), Options: tool.ExtraOpts,
		Requires: is.Project.Python}, single, f)
}

// nested reports whether the time to decode a TOML text could grow with the square of its size: by
// inline tables in each other, and by keys of many parts.
func nested(text string) bool {
	const mostText, mostTables, mostParts = 64 << 10, 100, 100
	if len(text) > mostText || strings.Count(text, "{") > mostTables {
		return true
	}
	for line := range strings.Lines(text) {
		if strings.Count(line, ".") > mostParts {
			return true
		}
	}
	return false
}

// readPyperf reads a directory of scripts that import pyperf.
func readPyperf(t *tree, f *Found) error {
	names, err := t.list(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		if path.Ext(name) != ".py" {
			continue
		}
		text, err := t.text(name)
		if err != nil {
			f.leave("%q: %v", clip(name), err)
			continue
		}
		if !strings.Contains(text, "pyperf") {
			continue
		}
		t.script(Benchmark{Name: strings.TrimSuffix(name, ".py"), Files: python(name)}, false, f)
	}
	return nil
}

// What a script tells about the benchmarks in it: calls of the runner's methods with a name, and an
// optional argument that selects one of the table BENCHMARKS.
var (
	pyperfCall = regexp.MustCompile(`\.(?:bench_(?:time_|async_)?func|bench_command|timeit)\(\s*(?:f?["']` +
		`([^"'{}\n]{1,64})["'])?`)
	pyperfChoice = regexp.MustCompile(`nargs=["']\?["'],\s*choices=(?:sorted\()?BENCHMARKS\b`)
	pyperfTable  = regexp.MustCompile(`(?m)^BENCHMARKS\s*=\s*(.)`)
)

// script adds the benchmarks of a script that uses pyperf: each call of a benchmark by a name of
// its own is one, or each choice of the argument of a script that runs one or all. The first
// option, for the hook, is the name in the call, or "". Of a single benchmark it is the one that
// the benchmark has. What else a script may do is seen when it runs: the hook then runs the first
// call.
func (t *tree) script(b Benchmark, single bool, f *Found) {
	file := b.Files["python"]
	text, err := t.text(file)
	if err != nil {
		f.leave("%q: %q: %v", clip(b.Name), clip(file), err)
		return
	}
	add := func(name string, options ...string) {
		is := b
		is.Name, is.Options = name, options
		f.add(is)
	}
	if choices := choicesOf(text); len(b.Options) == 0 && len(choices) > 0 {
		for _, choice := range choices {
			add(b.Name+"_"+choice, "", choice)
		}
		return
	}
	calls := pyperfCall.FindAllStringSubmatch(text, -1)
	has := func(name string) bool {
		return slices.ContainsFunc(calls, func(c []string) bool { return c[1] == name })
	}
	switch {
	case single && has(b.Name):
		add(b.Name, append([]string{b.Name}, b.Options...)...)
	case single || len(calls) < 2 || has(""):
		add(b.Name, append([]string{""}, b.Options...)...)
	default:
		for _, call := range calls {
			add(call[1], append([]string{call[1]}, b.Options...)...)
		}
	}
}

func python(file string) map[string]string { return map[string]string{"python": file} }

// choicesOf returns the values of the optional argument that selects a benchmark of a script.
func choicesOf(text string) []string {
	at := pyperfTable.FindStringSubmatchIndex(text)
	if at == nil || !pyperfChoice.MatchString(text) {
		return nil
	}
	rest := text[at[2]:]
	switch rest[0] {
	case '"', '\'':
		words, split, ok := strings.Cut(rest[1:], rest[:1])
		if ok && strings.HasPrefix(split, ".split()") {
			return strings.Fields(words)
		}
	case '{', '(', '[':
		return outermost(rest, rest[0] == '{')
	}
	return nil
}

// outermost returns the strings of a list, tuple or dictionary of Python that are not in another
// one; of a dictionary, the keys.
func outermost(text string, keys bool) []string {
	var list []string
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth--; depth == 0 {
				return list
			}
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end > 0 {
				i += end
			}
		case '"', '\'':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return nil
			}
			word := text[i+1 : i+1+end]
			i += end + 1
			isKey := strings.HasPrefix(strings.TrimLeft(text[i+1:], " "), ":")
			if depth == 1 && isKey == keys {
				list = append(list, word)
			}
		}
	}
	return nil
}

// readRubyBench reads the directory benchmarks of ruby-bench: NAME.rb, or NAME/benchmark.rb. Its
// benchmarks.yml says what needs Ractors, and what needs gems is seen from its Gemfile.
func readRubyBench(t *tree, f *Found) error {
	names, err := t.list("benchmarks")
	if err != nil {
		return err
	}
	described, _ := t.text("benchmarks.yml")
	for _, name := range names {
		file := path.Join("benchmarks", name)
		if name, single := strings.CutSuffix(name, ".rb"); single {
			t.rubyBench(name, file, described, f)
		} else if t.has(path.Join(file, "benchmark.rb")) {
			t.rubyBench(name, path.Join(file, "benchmark.rb"), described, f)
		}
	}
	return nil
}

func (t *tree) rubyBench(name, file, described string, f *Found) {
	_, own, _ := strings.Cut("\n"+described, "\n"+name+":\n")
	if end := regexp.MustCompile(`(?m)^\S`).FindStringIndex(own); end != nil {
		own = own[:end[0]]
	}
	switch {
	case !t.has(file):
		f.leave("%q: it is not a regular file in the suite", clip(file))
	case strings.Contains(own, "ractor_only: true"):
		f.leave("%s: the suite runs it in several Ractors only, whose times are not of one process's "+
			"iterations", clip(name))
	default:
		f.add(Benchmark{Name: name, Files: map[string]string{"ruby": file}})
	}
}

// awfyFiles are the directories of are-we-fast-yet, and the pattern of a benchmark's file there.
var awfyFiles = []struct{ runner, file string }{
	{"python", "benchmarks/Python/%s.py"}, {"ruby", "benchmarks/Ruby/%s.rb"},
	{"lua", "benchmarks/Lua/%s.lua"}, {"javascript", "benchmarks/JavaScript/%s.js"},
}

// awfyEntry matches a benchmark in rebench.conf and its inner iterations.
var awfyEntry = regexp.MustCompile(`(?m)^\s+- ([A-Z][A-Za-z]{0,30}):\s*\n\s+extra_args: ([0-9]{1,9})\s*$`)

// readAreWeFastYet reads rebench.conf of are-we-fast-yet, which has the inner iterations.
func readAreWeFastYet(t *tree, f *Found) error {
	text, err := t.text("rebench.conf")
	if err != nil {
		return fmt.Errorf("rebench.conf: %w", err)
	}
	entries := awfyEntry.FindAllStringSubmatch(text, -1)
	if len(entries) == 0 {
		return errors.New("rebench.conf names no benchmarks with their extra_args")
	}
	built := t.has("benchmarks/Java/benchmarks.jar")
	if !built {
		f.leave("java: benchmarks/Java/benchmarks.jar is missing: build it with benchmarks/Java/build.sh")
	}
	const cpp = "benchmarks/C++/krun.so"
	compiled := t.has(cpp)
	if !compiled {
		f.leave("c: %s is missing: build it as docs/suites.md says", cpp)
	}
	for _, e := range entries {
		b := Benchmark{Name: e[1], Files: map[string]string{}}
		b.Parameter, _ = strconv.Atoi(e[2]) // at most nine digits
		for _, l := range awfyFiles {
			file := fmt.Sprintf(l.file, strings.ToLower(b.Name))
			if t.has(file) {
				b.Files[l.runner] = file
			} else {
				f.leave("%s in %s: %s is missing", b.Name, l.runner, file)
			}
		}
		if built {
			b.Files["java"] = "benchmarks/Java/benchmarks.jar"
		}
		if compiled {
			b.Files["c"] = cpp
		}
		f.add(b)
	}
	return nil
}

// firstLine returns the beginning of an error for a message of one line.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return clip(line)
}
