// Package suites reads published benchmark suites: which benchmarks a suite has, which file each is
// in, and how many inner iterations it wants. Each suite is an entry of the table here and a hook
// in the suite's language, a file beside this one. The runner of the language loads the hook in the
// place of a benchmark; the hook runs the suite's own file and gives each iteration to the runner.
//
// A suite is not trusted: what is read of it is bounded, no symbolic link leads out of it, and no
// name is taken that a key could not have. Nothing of it is executed here. Start reading at Read.
package suites

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// Bounds of what is read of a suite: several times what the largest known one has.
const (
	MostBenchmarks = 1000
	MostOptions    = 32
	MostText       = 256     // bytes of an option, and of a file's path in the suite
	mostEntries    = 5000    // of a directory
	mostListed     = 100_000 // of all
	mostFile       = 8 << 20 // bytes; Octane's Mandreel has 5 MB
	mostRead       = 64 << 20
)

// Suite is a kind of published suite.
type Suite struct {
	Name  string            // as in a configuration: [suites.NAME]
	Hooks map[string]string // by the runner of a VM: the file of the hook in the directory Directory
	What  string            // one line for people
	read  func(*tree, *Found) error
}

// Own is the hook of suites that are compiled with it: the benchmark's file.
const Own = "own"

// Directory has the hooks, in the directory of installed runners.
const Directory = "suites"

// table of suites in the order in which they are offered.
var table = []Suite{
	{"pyperformance", map[string]string{"python": "pyperformance.py"},
		"the Python Performance Benchmark Suite, its repository", readPyperformance},
	{"pyperf", map[string]string{"python": "pyperformance.py"},
		"a directory of scripts that use pyperf", readPyperf},
	{"ruby-bench", map[string]string{"ruby": "ruby-bench/harness.rb"},
		"the benchmarks of Ruby's JIT compilers, their repository", readRubyBench},
	{"are-we-fast-yet", map[string]string{"python": "awfy.py", "ruby": "awfy.rb", "lua": "awfy.lua",
		"javascript": "awfy.js", "java": "KrunAwfy.class", "c": Own},
		"the same programs in several languages, its repository", readAreWeFastYet},
	{"go-test", map[string]string{"external": "gobench"},
		"packages of Go with the test binaries of go test -c beside their sources", readGo},
	{"jmh", map[string]string{"java": "KrunJmh.class"}, "a directory with jars of JMH", readJMH},
	{"renaissance", map[string]string{"java": "KrunRenaissance.class"},
		"the directory of Renaissance's jar", readRenaissance},
	{"dacapo", map[string]string{"java": "KrunDacapo.class"}, "the directory of DaCapo's jar", readDaCapo},
	{"octane", map[string]string{"javascript": "octane.js"}, "Octane, its repository", readOctane},
	{"jetstream", map[string]string{"javascript": "jetstream.js"}, "JetStream 3, its repository",
		readJetStream},
	{"sightglass", map[string]string{"c": "sightglass.so"},
		"WebAssembly engines, its repository with a built engine", readSightglass},
}

// Names lists the suites.
func Names() []string {
	var names []string
	for _, s := range table {
		names = append(names, s.Name)
	}
	return names
}

// Lookup finds a suite by its name.
func Lookup(name string) (Suite, bool) {
	i := slices.IndexFunc(table, func(s Suite) bool { return s.Name == name })
	if i < 0 {
		return Suite{}, false
	}
	return table[i], true
}

// Languages lists the runners that have a hook for the suite, sorted.
func (s Suite) Languages() []string { return slices.Sorted(maps.Keys(s.Hooks)) }

// Benchmark is one of a suite.
type Benchmark struct {
	Name      string
	Files     map[string]string // by runner: its file, relative to the suite, with slashes
	Options   []string          // for the file
	Parameter int               // inner iterations; 1 if the suite does not say
	Requires  string            // version of the language, such as ">=3.12"; "": any
}

// Found is what a suite has.
type Found struct {
	Benchmarks []Benchmark // sorted by name
	LeftOut    []string    // what cannot run, and why, as sentences; sorted
}

// Read reads the suite in a directory. The error says what is wrong, where, and what to do.
func (s Suite) Read(directory string) (Found, error) {
	info, err := os.Stat(directory)
	if err == nil && !info.IsDir() { // opening a FIFO would wait
		err = syscall.ENOTDIR
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(directory)
	}
	if err != nil {
		return Found{}, fmt.Errorf("%s is no directory of a suite (%w); write where %s was unpacked",
			directory, cause(err), s.Name)
	}
	defer root.Close() //nolint:errcheck // it was only read
	var f Found
	t := &tree{root: root, left: mostRead}
	err = s.read(t, &f)
	if err == nil && len(f.Benchmarks) > MostBenchmarks {
		err = fmt.Errorf("it has more than %d benchmarks; is it the suite alone?", MostBenchmarks)
	}
	if err != nil {
		return Found{}, fmt.Errorf("%s: %w", directory, err)
	}
	if len(f.Benchmarks) == 0 && len(f.LeftOut) == 0 {
		return Found{}, fmt.Errorf("%s has no benchmarks of %s; write where its repository was unpacked",
			directory, s.Name)
	}
	slices.SortStableFunc(f.Benchmarks, func(a, b Benchmark) int { return cmp.Compare(a.Name, b.Name) })
	f.Benchmarks = slices.CompactFunc(f.Benchmarks, func(a, b Benchmark) bool {
		if a.Name == b.Name && !reflect.DeepEqual(a, b) {
			f.leave("%s: another benchmark of this name, %q %q", a.Name, slices.Sorted(maps.Values(b.Files)),
				b.Options)
		}
		return a.Name == b.Name
	})
	slices.Sort(f.LeftOut)
	return f, nil
}

// add takes a benchmark, or leaves it out with the reason.
func (f *Found) add(b Benchmark) {
	b.Parameter = max(b.Parameter, 1)
	if err := b.Check(); err != nil {
		f.leave("%q: %v", clip(b.Name), err)
	} else if len(f.Benchmarks) <= MostBenchmarks { // one more than that is refused
		f.Benchmarks = append(f.Benchmarks, b)
	}
}

func (f *Found) leave(format string, args ...any) {
	if len(f.LeftOut) < MostBenchmarks {
		f.LeftOut = append(f.LeftOut, fmt.Sprintf(format, args...))
	}
}

// Check returns why the values of a benchmark cannot be used, or nil. The name is checked where
// keys are.
func (b Benchmark) Check() error {
	if len(b.Files) == 0 {
		return errors.New("it has no file")
	}
	if b.Files["external"] != "" && len(b.Options) == 0 {
		return errors.New("it has no option, its name for the suite")
	}
	if len(b.Options) > MostOptions {
		return fmt.Errorf("it has more than %d options", MostOptions)
	}
	for _, text := range slices.Concat(b.Options, slices.Sorted(maps.Values(b.Files)), []string{b.Requires}) {
		if len(text) > MostText || strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("%q is too long, or has a control character", clip(text))
		}
	}
	for _, file := range b.Files {
		if file == "" || !fs.ValidPath(file) || file == "." || strings.HasPrefix(path.Base(file), "-") {
			return fmt.Errorf("%q is not a file in the suite", clip(file))
		}
	}
	if b.Parameter < 0 || b.Parameter > 1<<31-1 {
		return fmt.Errorf("%d is no number of inner iterations", b.Parameter)
	}
	return nil
}

// clip shortens a name of a suite for a message.
func clip(text string) string {
	const most = 100
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// inKey writes a part of a suite's name with the characters that a name of krund has.
func inKey(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			r = '.'
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
		case !strings.ContainsRune("_-.+", r):
			r = '-'
		}
		return r
	}, text)
}

// tree reads the files of a suite, none of which is outside of its directory.
type tree struct {
	root *os.Root
	left int64 // bytes that may still be read
	seen int   // entries of directories
}

// open does not wait for the other end of a FIFO.
func (t *tree) open(name string) (*os.File, error) {
	return t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// list returns the names in a directory, sorted.
func (t *tree) list(dir string) ([]string, error) {
	file, err := t.open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, cause(err))
	}
	defer file.Close() //nolint:errcheck // it was only read
	entries, err := file.ReadDir(mostEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", dir, cause(err))
	}
	if len(entries) > mostEntries {
		return nil, fmt.Errorf("%s has more than %d entries; is it the suite's directory?", dir, mostEntries)
	}
	if t.seen += len(entries); t.seen > mostListed {
		return nil, fmt.Errorf("it has more than %d entries, up to %s; write a directory in it",
			mostListed, dir)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, nil
}

// has reports whether a regular file of that name is in the suite.
func (t *tree) has(name string) bool {
	info, err := t.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// text returns the content of a regular file.
func (t *tree) text(name string) (string, error) {
	info, err := t.root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return "", cause(err)
	}
	file, err := t.open(name)
	if err != nil {
		return "", cause(err)
	}
	data, err := io.ReadAll(io.LimitReader(file, mostFile+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", cause(err)
	}
	if t.left -= int64(len(data)); len(data) > mostFile || t.left < 0 {
		return "", fmt.Errorf("it has more than %d bytes, or the suite's files more than %d", mostFile,
			mostRead)
	}
	return string(data), nil
}

// cause returns err without the operation and path of a fs.PathError.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
