// Package trial turns the arguments of `krunctl time` into an experiment, and its results into an
// answer: which of some commands or benchmark files is faster, by how much, and whether the numbers
// can be trusted.
//
//	arguments -> Subjects -> Plan.TOML -> krund -> data set -> AnswerOf -> Answer
//
// The package is pure but for Subjects, which looks at the files that arguments name. It measures
// nothing and writes nothing: cmd/krunctl starts krund. Start reading at Plan and AnswerOf.
package trial

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/key"
)

// A Subject is one thing to time: a whole command, or a benchmark file with run_iter and the VM
// that runs it.
type Subject struct {
	Name   string // unique among the subjects; the VM's name in the experiment
	Text   string // as in the arguments, with parameters filled in
	Values []Value

	Argv []string // of a whole command
	Dir  string   // it runs in this directory; "": that of the plan
	// commands around it, with parameters filled in; "" for none
	Setup, Prepare, Conclude, Cleanup string

	File    string // absolute path of a benchmark file
	Runner  string // its language
	Program string // its VM; "" for native code
}

// IsCommand reports whether the subject is a whole command.
func (s Subject) IsCommand() bool { return s.File == "" }

// Value is a parameter of a scan with one of its values.
type Value struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SubjectOptions select the subjects of a list of arguments.
type SubjectOptions struct {
	Shell      []string // the shell and its arguments before the command; nil: no shell
	VMs        []string // programs that run the benchmark files; nil: the usual one of each language
	Parameters []Parameter
	Names      []string // of the arguments, with parameters; the others have their text
	Referred   bool     // the first argument is the reference: it has no name of its own and exists once
	Setup      string
	Prepare    []string // one for all commands, or one each
	Conclude   string
	Cleanup    string
}

// Parameter is a scan: each subject exists once for each value.
type Parameter struct {
	Name   string
	Values []string
}

// mostSubjects bounds the subjects of one call.
const mostSubjects = 100

// Subjects returns the subjects of the arguments: each argument for each combination of parameter
// values, and each benchmark file for each VM of its language.
func Subjects(args []string, o SubjectOptions) ([]Subject, error) {
	if n := len(o.Prepare); n > 1 && n != len(args) && (!o.Referred || n != len(args)-1) {
		return nil, fmt.Errorf("--prepare is given %d times for %d commands; give it once, or once for each",
			n, len(args))
	}
	var list []Subject
	first := 0
	if o.Referred {
		first = 1
	}
	if len(o.Names) > len(args)-first {
		return nil, fmt.Errorf("--command-name is given %d times for %s", len(o.Names),
			display.Count(len(args)-first, "command"))
	}
	for round, values := range combinations(o.Parameters) {
		for i, arg := range args {
			values := values
			if i < first {
				if values = nil; round > 0 {
					continue
				}
			}
			found, err := o.subjects(fill(arg, values))
			if err != nil {
				return nil, err
			}
			for _, s := range found {
				if at := i - first; at >= 0 && at < len(o.Names) {
					s.Text = fill(o.Names[at], values)
				}
				s.Values, s.Setup, s.Conclude = values, fill(o.Setup, values), fill(o.Conclude, values)
				s.Cleanup = fill(o.Cleanup, values)
				if len(o.Prepare) > 0 {
					s.Prepare = fill(o.Prepare[max(0, i+len(o.Prepare)-len(args))%len(o.Prepare)], values)
				}
				list = append(list, s)
			}
			if len(list) > mostSubjects {
				return nil, fmt.Errorf("these are more than %d commands; scan fewer values", mostSubjects)
			}
		}
	}
	for _, vm := range o.VMs {
		if !slices.ContainsFunc(list, func(s Subject) bool { return s.Program == vm }) {
			return nil, fmt.Errorf("--vm %s: no argument is a benchmark file that it runs; give a file with "+
				"run_iter in its language, and a program whose name begins as usual, such as python3", vm)
		}
	}
	name(list)
	return list, nil
}

// combinations returns the product of the parameters' values; one empty combination without any.
func combinations(parameters []Parameter) [][]Value {
	all := [][]Value{nil}
	for _, p := range parameters {
		var longer [][]Value
		for _, head := range all {
			for _, v := range p.Values {
				longer = append(longer, append(slices.Clone(head), Value{p.Name, v}))
			}
			if len(longer) > mostSubjects {
				break // Subjects refuses them
			}
		}
		all = longer
	}
	return all
}

// fill replaces {NAME} by the parameter's value.
func fill(text string, values []Value) string {
	for _, v := range values {
		text = strings.ReplaceAll(text, "{"+v.Name+"}", v.Value)
	}
	return text
}

// Scan returns the values from low to high in steps.
func Scan(name, low, high, step string) (Parameter, error) {
	p := Parameter{Name: name}
	var n [3]float64
	decimals := 0
	for i, text := range []string{low, high, step} {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v != v || v-v != 0 {
			return p, fmt.Errorf("--parameter-scan %s: %q is not a number", name, text)
		}
		n[i] = v
		if _, fraction, ok := strings.Cut(text, "."); ok {
			decimals = max(decimals, len(fraction))
		}
	}
	if n[2] <= 0 || n[1] < n[0] || (n[1]-n[0])/n[2] >= mostSubjects {
		return p, fmt.Errorf("--parameter-scan %s: from %s to %s in steps of %s is not a list of 1 to %d "+
			"values", name, low, high, step, mostSubjects)
	}
	const slack = 1e-9 // of a step: 0.1 + 0.2 is not 0.3
	for i := 0; n[0]+float64(i)*n[2] <= n[1]+slack*n[2]; i++ {
		p.Values = append(p.Values, strconv.FormatFloat(n[0]+float64(i)*n[2], 'f', decimals, 64))
	}
	return p, nil
}

func (o SubjectOptions) subjects(arg string) ([]Subject, error) {
	if strings.TrimSpace(arg) == "" {
		return nil, errors.New("a command is empty")
	}
	language, found := languageOf(arg)
	if !found {
		if err := program(arg); err != nil {
			return nil, err
		}
		s := Subject{Text: arg, Argv: append(slices.Clone(o.Shell), arg)}
		if o.Shell == nil {
			var err error
			if s.Argv, err = Words(arg); err != nil {
				return nil, fmt.Errorf("%s: %w", arg, err)
			}
		}
		return []Subject{s}, nil
	}
	file, err := filepath.Abs(arg)
	if err != nil {
		return nil, err
	}
	var list []Subject
	for _, vm := range o.programs(language) {
		s := Subject{Text: arg, File: file, Runner: language.runner, Program: vm}
		if vm != "" {
			s.Text = filepath.Base(vm) + " " + arg
		}
		list = append(list, s)
	}
	return list, nil
}

// language is how benchmark files of a language are recognized and run.
type language struct {
	runner, suffix string
	programs       []string // the usual one first; prefixes of names that --vm recognizes
}

var languages = []language{
	{"python", ".py", []string{"python3", "python", "pypy"}},
	{"javascript", ".js", []string{"node"}},
	{"lua", ".lua", []string{"luajit"}},
	{"ruby", ".rb", []string{"ruby", "truffleruby", "jruby"}},
	{"php", ".php", []string{"php"}},
	{"java", ".class", []string{"java"}},
	{"c", ".so", nil},
}

// programs returns the VMs for a language: those of the options that are of it, or the usual one.
func (o SubjectOptions) programs(l language) []string {
	var list []string
	for _, vm := range o.VMs {
		if slices.ContainsFunc(l.programs, func(p string) bool {
			return strings.HasPrefix(filepath.Base(vm), p)
		}) {
			list = append(list, vm)
		}
	}
	switch {
	case len(list) > 0:
		return list
	case len(l.programs) == 0:
		return []string{""}
	}
	return l.programs[:1]
}

// languageOf reports whether an argument names a benchmark file: a file with the suffix of a
// language that mentions run_iter.
func languageOf(arg string) (language, bool) {
	for _, l := range languages {
		if strings.HasSuffix(arg, l.suffix) && mentions(arg, "run_iter") {
			return l, true
		}
	}
	return language{}, false
}

// program refuses a file with the suffix of a language that is neither a benchmark file nor
// something that a shell can start.
func program(arg string) error {
	for _, l := range languages {
		info, err := os.Stat(arg)
		if strings.HasSuffix(arg, l.suffix) && err == nil && info.Mode()&0o111 == 0 {
			return fmt.Errorf("%s has no function run_iter, so it is no benchmark file, and it is not "+
				"executable; to time all of it, give the command that runs it, in quotes; `krunctl init` writes one "+
				"with that function", arg)
		}
	}
	return nil
}

// mentions reports whether the text is in a regular file of at most 64 MiB.
func mentions(path, text string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	const most = 64 << 20
	data, err := durable.ReadSmallFile(durable.OS(), path, most)
	return err == nil && bytes.Contains(data, []byte(text))
}

// Words splits a command line as a shell does without expanding anything: white space separates,
// quotes and backslashes group.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inside, quote, escaped := false, rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune(`"\$`+"`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inside = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case strings.ContainsRune(" \t\n", r):
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if inside {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

// name gives the subjects their unique names.
func name(list []Subject) {
	taken := map[string]bool{shellName: true}
	for i := range list {
		s := &list[i]
		base := nameOf(*s)
		s.Name = base
		for n := 2; taken[strings.ToLower(s.Name)]; n++ {
			s.Name = base + "-" + strconv.Itoa(n)
		}
		taken[strings.ToLower(s.Name)] = true
	}
}

// nameOf makes a name for a key of the text: ./a is a, sleep 0.1 is sleep-0.1.
func nameOf(s Subject) string {
	const most = key.MaxName - 8 // room for a number
	var b strings.Builder
	for _, word := range strings.Fields(s.Text) {
		if strings.Contains(word, "/") {
			word = filepath.Base(word)
		}
		word = strings.Trim(strings.Map(func(r rune) rune {
			if r < 0x80 && strings.ContainsRune("_-.+", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' ||
				r >= 'A' && r <= 'Z' {
				return r
			}
			return '-'
		}, word), "-")
		if word == "" || b.Len()+1+len(word) > most {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(word)
	}
	if strings.Trim(b.String(), ".") == "" {
		return "command"
	}
	return b.String()
}
