package trial

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/display"
)

// Parameters parses the scans "VAR MIN MAX" with their steps, and the lists "VAR A,B,C".
func Parameters(scans, steps, lists []string) ([]Parameter, error) {
	var all []Parameter
	for i, text := range scans {
		words := strings.Fields(text)
		if len(words) != 3 {
			return nil, fmt.Errorf("--parameter-scan needs VAR MIN MAX, not %q", text)
		}
		step := "1"
		if i < len(steps) {
			step = steps[i]
		}
		p, err := Scan(words[0], words[1], words[2], step)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(steps) > len(scans) {
		return nil, fmt.Errorf("--parameter-step-size needs --parameter-scan")
	}
	for _, text := range lists {
		name, values, ok := strings.Cut(text, " ")
		if !ok || name == "" || values == "" {
			return nil, fmt.Errorf("--parameter-list needs VAR A,B,C, not %q", text)
		}
		all = append(all, Parameter{Name: name, Values: strings.Split(values, ",")})
	}
	return all, nil
}

// SetEnvironment sets the variables that commands get beside those of the caller, environ, or in a
// clean environment beside the usual ones: PATH, so that programs are found as in this shell, and
// those of wanted ("NAME=value", or "NAME" of the caller's). It keeps the names of the caller's.
func (p *Plan) SetEnvironment(environ, wanted []string) {
	if p.Clean {
		wanted = append([]string{"PATH"}, wanted...)
	}
	values := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
		p.Inherited = append(p.Inherited, name)
	}
	slices.Sort(p.Inherited)
	for _, v := range wanted {
		name, _, given := strings.Cut(v, "=")
		value, known := values[name]
		switch {
		case given:
			p.Env = append(p.Env, v)
		case known && p.Clean:
			p.Env = append(p.Env, name+"="+value)
		}
	}
}

// shells are those whose commands are programs of PATH and builtins.
var shells = []string{"sh", "dash", "bash", "ksh", "zsh"}

// builtins are the commands of these shells that are not programs everywhere.
var builtins = strings.Fields(": . alias bg break builtin cd command continue declare echo enable " +
	"eval exec exit export false fc fg getopts hash help jobs kill let local printf pwd " +
	"read readonly return set shift source test time times trap true type typeset ulimit umask unalias " +
	"unset wait [")

// Quoted is the command line that times one command with these words.
func Quoted(words []string) string {
	return display.ShellJoin([]string{"krunctl", "time", strings.Join(words, " ")})
}

// CheckQuotes refuses one command without its quotes, such as `sleep 0.01`, which would be two:
// only words, of which a later one is no command. What --setup or --prepare make is unknown yet.
func (p Plan) CheckQuotes(args []string) error {
	made := func(s Subject) bool { return s.Setup != "" || s.Prepare != "" }
	if len(args) < 2 || !SingleWords(args) || slices.ContainsFunc(p.Subjects, made) ||
		p.Calibrate != nil && !slices.Contains(shells, filepath.Base(p.Calibrate[0])) {
		return nil
	}
	for _, word := range args[1:] {
		file, _ := filepath.Abs(word) // no error: NewWorkspace needs the directory, too
		isFile := slices.ContainsFunc(p.Subjects, func(s Subject) bool { return s.File == file })
		_, err := exec.LookPath(word)
		if err == nil || isFile || p.Calibrate != nil && slices.Contains(builtins, word) {
			continue
		}
		return fmt.Errorf("%q is neither a command nor a benchmark file (with run_iter), and each argument "+
			"is one; write a command with its arguments in quotes: %s", word, Quoted(args))
	}
	return nil
}

// SingleWords reports whether the arguments are single words without a meaning for a shell.
func SingleWords(args []string) bool {
	return !slices.ContainsFunc(args, func(s string) bool {
		return s == "" || strings.ContainsAny(s, " \t\n|&;<>()$`\\\"'*?[]{}=~#!")
	})
}

// SetFiles sets what the commands read and where they print: "null" (the default), "pipe", "inherit"
// or a file, as in hyperfine.
func (p *Plan) SetFiles(input, output string) (err error) {
	for _, f := range []struct {
		flag, value string
		to          *string
	}{{"--input", input, &p.Input}, {"--output", output, &p.Output}} {
		switch f.value {
		case "", "null":
		case "pipe", "inherit":
			if f.flag == "--input" {
				return fmt.Errorf("--input must be null or a file, not %s", f.value)
			}
			*f.to = f.value
		default:
			if *f.to, err = filepath.Abs(f.value); err != nil {
				return err
			}
		}
	}
	if p.Output == "inherit" {
		p.Output = fmt.Sprintf("/proc/%d/fd/1", os.Getpid())
	}
	if p.Input == "" {
		return nil
	}
	switch info, err := os.Stat(p.Input); {
	case err != nil:
		return fmt.Errorf("--input: %w", err)
	case !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeDevice|fs.ModeCharDevice:
		return fmt.Errorf("--input: %s is no regular file; each run reads it from its beginning", p.Input)
	}
	return nil
}
