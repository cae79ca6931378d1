package suites

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// mostJar bounds the size of a jar of which the directory and one entry are read.
const mostJar = 4 << 30

// boundedAt reads at most what may still be read of a suite: the directory of a jar has no bound of
// its own.
type boundedAt struct {
	io.ReaderAt
	t *tree
}

func (b boundedAt) ReadAt(p []byte, at int64) (int, error) {
	if b.t.left -= int64(len(p)); b.t.left < 0 {
		return 0, fmt.Errorf("its directory has more than %d bytes", mostRead)
	}
	return b.ReaderAt.ReadAt(p, at)
}

// jar returns the names of the entries of a jar, and the text of the one with that name; "" if
// there is none.
func (t *tree) jar(name, entry string) (entries []string, text string, err error) {
	if !t.has(name) {
		return nil, "", errors.New("it is not a regular file in the suite")
	}
	file, err := t.open(name)
	if err != nil {
		return nil, "", cause(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil || info.Size() > mostJar {
		return nil, "", cmp.Or(err, fmt.Errorf("it has more than %d bytes", int64(mostJar)))
	}
	z, err := zip.NewReader(boundedAt{file, t}, info.Size())
	if err != nil {
		return nil, "", err
	}
	for _, f := range z.File {
		if entries = append(entries, f.Name); f.Name != entry || text != "" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", entry, err)
		}
		data, err := io.ReadAll(io.LimitReader(r, mostFile+1))
		err = errors.Join(err, r.Close())
		if err != nil || len(data) > mostFile || t.left < int64(len(data)) {
			return nil, "", fmt.Errorf("%s: %w", entry, cmp.Or(err, errors.New("it is too large")))
		}
		t.left -= int64(len(data))
		text = string(data)
	}
	return entries, text, nil
}

// jars adds the benchmarks of the jars whose names match a pattern: names returns them from the
// entries of the jar and the text of one entry, each as its options, of which the first is its name
// for the suite.
func (t *tree) jars(f *Found, dirs []string, pattern, entry string,
	names func(entries []string, text string) [][]string) error {
	for _, dir := range dirs {
		files, err := t.list(dir)
		if err != nil && dir == "." {
			return err
		}
		for _, file := range files {
			if ok, _ := path.Match(pattern, file); !ok {
				continue
			}
			file = path.Join(dir, file)
			entries, text, err := t.jar(file, entry)
			if err != nil {
				f.leave("%q: %v", clip(file), firstLine(err))
				continue
			}
			list, long := names(entries, text), map[string]string{}
			for _, options := range list {
				short := lastParts(options[0], 2)
				if other, ok := long[short]; ok && other != options[0] {
					long[short] = "" // two have it
				} else {
					long[short] = options[0]
				}
			}
			for _, options := range list {
				name := lastParts(options[0], 2)
				if long[name] == "" {
					name = options[0]
				}
				for _, option := range options[1:] {
					name += "." + inKey(option)
				}
				f.add(Benchmark{Name: name, Files: map[string]string{"java": file}, Options: options})
			}
		}
	}
	return nil
}

// lastParts returns the last n parts of a name with dots.
func lastParts(name string, n int) string {
	parts := strings.Split(name, ".")
	return strings.Join(parts[max(0, len(parts)-n):], ".")
}

// jmhLine is what is left of a line of META-INF/BenchmarkList of JMH, in UTF-16 units, in which the
// lengths in it count. The first letter of each field is its type (jmh-core, util/lines/Constants
// and TestLineWriter).
type jmhLine struct {
	units   []uint16
	armored bool // values of parameters are: by JMH 1.24 and later
	bad     bool
}

// word returns what stands before the next space.
func (l *jmhLine) word() string {
	n := slices.Index(l.units, ' ')
	if n < 0 {
		n = len(l.units)
	}
	word := string(utf16.Decode(l.units[:n]))
	l.units = l.units[min(n+1, len(l.units)):]
	return word
}

func (l *jmhLine) number() int {
	n, err := strconv.Atoi(l.word())
	if l.bad = l.bad || err != nil || n < 0 || n > len(l.units); l.bad {
		return 0
	}
	return n
}

// text returns a text that stands after its length.
func (l *jmhLine) text() string {
	n := l.number()
	text := string(utf16.Decode(l.units[:n]))
	l.units = l.units[min(n+1, len(l.units)):]
	return text
}

func (l *jmhLine) texts() []string {
	var list []string
	for n := l.number(); n > 0 && !l.bad; n-- {
		list = append(list, l.text())
	}
	return list
}

// armor is the class of JMH that writes values of parameters so that no value breaks a line: 3
// UTF-16 units in 8 digits of 6 bits, lowest first, filled up with =.
const armor = "org/openjdk/jmh/util/lines/Armor.class"

func (l *jmhLine) unarmor(text string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var units []uint16
	for group := range slices.Chunk([]byte(text), 8) {
		group = bytes.TrimRight(group, "=")
		var bits uint64
		for i, c := range group {
			d := strings.IndexByte(digits, c)
			l.bad = l.bad || d < 0
			bits |= uint64(max(d, 0)) << (6 * i)
		}
		for i := range 6 * len(group) / 16 {
			units = append(units, uint16(bits>>(16*i)))
		}
	}
	return string(utf16.Decode(units))
}

// jmhParameter is a field with @Param.
type jmhParameter struct {
	name   string
	values []string
}

// parse returns the texts of a line, of which the first three are the class, the generated class
// and the method, and its parameters (jmh-core, runner/BenchmarkListEntry).
func (l *jmhLine) parse() (texts []string, parameters []jmhParameter) {
	for !l.bad && len(l.units) > 0 {
		switch l.word() {
		case "E":
		case "S":
			texts = append(texts, l.text())
		case "I", "T", "U":
			l.text()
		case "L", "A":
			l.texts()
		case "M":
			for n := l.number(); n > 0 && !l.bad; n-- {
				p := jmhParameter{l.text(), l.texts()}
				for i := range p.values {
					if l.armored {
						p.values[i] = l.unarmor(p.values[i])
					}
				}
				parameters = append(parameters, p)
			}
		default:
			l.bad = true
		}
	}
	l.bad = l.bad || len(texts) < 3
	return texts, parameters
}

// combined returns each combination of the parameters' values, as JMH's option -p has them.
func combined(parameters []jmhParameter) ([][]string, error) {
	if len(parameters) >= MostOptions {
		return nil, fmt.Errorf("it has %d parameters; up to %d are run", len(parameters), MostOptions-1)
	}
	slices.SortFunc(parameters, func(a, b jmhParameter) int { return cmp.Compare(a.name, b.name) })
	all := [][]string{nil}
	for _, p := range parameters {
		switch {
		case len(p.values) == 0:
			return nil, fmt.Errorf("its parameter %q has no values", clip(p.name))
		case strings.Contains(strings.Join(p.values, ""), ","):
			return nil, fmt.Errorf("a value of its parameter %q has a comma, with which JMH's option -p "+
				"separates values", clip(p.name))
		case len(all)*len(p.values) > MostBenchmarks:
			return nil, fmt.Errorf("its parameters have more than %d combinations", MostBenchmarks)
		}
		var longer [][]string
		for _, c := range all {
			for _, v := range p.values {
				longer = append(longer, append(slices.Clip(c), p.name+"="+v))
			}
		}
		all = longer
	}
	return all, nil
}

// readJMH reads the jars with benchmarks that JMH's annotation processor has listed: where Maven or
// Gradle builds them, or in the directory itself. A method with @Param is a benchmark for each
// combination of values.
func readJMH(t *tree, f *Found) error {
	return t.jars(f, []string{".", "target", "build/libs"}, "*.jar", "META-INF/BenchmarkList",
		func(entries []string, text string) [][]string {
			var list [][]string
			armored := slices.Contains(entries, armor)
			seen := map[string]bool{} // a method has a line for each of its modes
			for line := range strings.Lines(text) {
				rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "JMH ")
				l := jmhLine{units: utf16.Encode([]rune(rest)), armored: armored}
				texts, parameters := l.parse()
				if !ok || l.bad || seen[texts[0]+"."+texts[2]] {
					continue
				}
				name := texts[0] + "." + texts[2]
				seen[name] = true
				combinations, err := combined(parameters)
				if err != nil {
					f.leave("%q: %v", clip(name), err)
				}
				for _, c := range combinations {
					list = append(list, append([]string{name}, c...))
				}
				if len(list) > MostBenchmarks {
					break // adding them is refused
				}
			}
			return list
		})
}

// renaissanceName matches the name of a benchmark in benchmarks.properties of Renaissance.
var renaissanceName = regexp.MustCompile(`(?m)^benchmark\.[^.=]+\.name\s*=\s*(\S{1,100})\s*$`)

func readRenaissance(t *tree, f *Found) error {
	return t.jars(f, []string{"."}, "renaissance*.jar", "benchmarks.properties",
		func(_ []string, text string) [][]string {
			var list [][]string
			for _, m := range renaissanceName.FindAllStringSubmatch(text, -1) {
				if !strings.HasPrefix(m[1], "dummy-") { // they test the harness
					list = append(list, []string{m[1]})
				}
			}
			return list
		})
}

// readDaCapo reads the jar of DaCapo, in which each benchmark has a file of its sizes.
func readDaCapo(t *tree, f *Found) error {
	return t.jars(f, []string{"."}, "dacapo*.jar", "", func(entries []string, _ string) [][]string {
		var list [][]string
		for _, entry := range entries {
			name, ok := strings.CutSuffix(path.Base(entry), ".cnf")
			if ok && path.Base(path.Dir(entry)) == "cnf" {
				list = append(list, []string{name})
			}
		}
		return list
	})
}
