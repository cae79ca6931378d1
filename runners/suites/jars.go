package suites

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
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
// entries of the jar and the text of one entry. Each has the name for the suite as its option.
func (t *tree) jars(f *Found, dirs []string, pattern, entry string,
	names func(entries []string, text string) []string) error {
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
			list := names(entries, text)
			for _, name := range list {
				short := lastParts(name, 2)
				if slices.ContainsFunc(list, func(n string) bool {
					return n != name && lastParts(n, 2) == short
				}) {
					short = name
				}
				b := Benchmark{Name: short, Files: map[string]string{"java": file}, Options: []string{name}}
				if err := f.add(b); err != nil {
					return err
				}
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

// jmhLine matches the beginning of a line of META-INF/BenchmarkList: class, generated class and
// method, each after its length (jmh-core, util/lines/TestLineWriter).
var jmhLine = regexp.MustCompile(`(?m)^JMH S \d+ (\S{1,200}) +S \d+ \S+ +S \d+ (\S{1,100}) `)

// readJMH reads the jars with benchmarks that JMH's annotation processor has listed: where Maven or
// Gradle builds them, or in the directory itself.
func readJMH(t *tree, f *Found) error {
	return t.jars(f, []string{".", "target", "build/libs"}, "*.jar", "META-INF/BenchmarkList",
		func(_ []string, text string) []string {
			var list []string
			for _, m := range jmhLine.FindAllStringSubmatch(text, -1) {
				list = append(list, m[1]+"."+m[2])
			}
			slices.Sort(list)
			return slices.Compact(list) // a method has a line for each of its modes
		})
}

// renaissanceName matches the name of a benchmark in benchmarks.properties of Renaissance.
var renaissanceName = regexp.MustCompile(`(?m)^benchmark\.[^.=]+\.name\s*=\s*(\S{1,100})\s*$`)

func readRenaissance(t *tree, f *Found) error {
	return t.jars(f, []string{"."}, "renaissance*.jar", "benchmarks.properties",
		func(_ []string, text string) []string {
			var list []string
			for _, m := range renaissanceName.FindAllStringSubmatch(text, -1) {
				if !strings.HasPrefix(m[1], "dummy-") { // they test the harness
					list = append(list, m[1])
				}
			}
			return list
		})
}

// readDaCapo reads the jar of DaCapo, in which each benchmark has a file of its sizes.
func readDaCapo(t *tree, f *Found) error {
	return t.jars(f, []string{"."}, "dacapo*.jar", "", func(entries []string, _ string) []string {
		var list []string
		for _, entry := range entries {
			name, ok := strings.CutSuffix(path.Base(entry), ".cnf")
			if ok && path.Base(path.Dir(entry)) == "cnf" {
				list = append(list, name)
			}
		}
		return list
	})
}
