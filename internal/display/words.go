package display

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the candidate nearest to name, and false if none is near enough: about one
// mistake in three letters.
func Nearest(name string, candidates []string) (string, bool) {
	best, least := "", len(name)/3+1
	for _, c := range candidates {
		if d := Distance(strings.ToLower(name), strings.ToLower(c)); d < least || d == least && best == "" {
			best, least = c, d
		}
	}
	return best, best != "" && least < len(best)
}

// Distance returns the number of insertions, deletions, replacements and swaps of adjacent letters
// that turn a into b: the optimal string alignment distance.
func Distance(a, b string) int {
	const most = 64 // longer names take too long
	if len(a) > most || len(b) > most {
		return most
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		last := row
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before = last
	}
	return row[len(b)]
}

// Meant are the commands of krunctl for words that people try.
var Meant = map[string]string{
	"list": "status --by key, or show", "ls": "status", "log": "show, or status --by key", "logs": "show",
	"diff": "compare", "pause": "hold", "continue": "resume", "unpause": "resume", "cancel": "stop",
	"abort": "stop", "kill": "stop", "validate": "check", "verify": "check", "lint": "check",
	"test": "check", "new": "init", "create": "init", "template": "init",
	"start": "run, or enable --start", "exec": "run", "bench": "run, or time",
	"benchmark": "run, or time", "measure": "run, or time", "results": "show, analyze or report",
	"stats": "show or analyze", "delete": "disable; the directory NAME.krun can be removed by rm -r",
	"remove": "disable; the directory NAME.krun can be removed by rm -r",
	"clean":  "disable; the directory NAME.krun can be removed by rm -r", "view": "report, or show",
	"graph": "report -o NAME.svg", "chart": "report -o NAME.svg", "html": "report", "csv": "convert --to csv",
	"info": "status or show", "progress": "status", "watch": "status --watch", "queue": "status",
	"plot-data": "convert --to csv", "regressions": "history", "regression": "history or compare",
	"why": "explain", "fix": "repair", "undo": "repair --machine", "again": "run --again",
	"how-many": "enough", "samples": "enough", "runs": "enough", "repetitions": "enough", "power": "enough",
	"share": "report, whose pages others can open; hub submit, for a hub of machines", "send": "hub submit",
	"retry": "run --again", "install": "enable, or hub join", "throttle": "show --counters",
}

// Or is a choice: "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Word returns the value that text names: its index in words. kind says in the error what they are.
func Word[T ~int](kind, text string, words []string) (T, error) {
	if i := slices.Index(words, text); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q; write %s", kind, text, Or(words))
}

// plain are the characters that no shell interprets, wherever they appear in a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-"

// ShellQuote returns the text as one word of a POSIX shell: unchanged if possible, otherwise in
// single quotes. Control characters, which a terminal would interpret, are written in the notation
// $'...' (POSIX.1-2024; supported by bash, ksh, zsh and busybox). The empty text is "”".
func ShellQuote(text string) string {
	switch {
	case text != "" && strings.Trim(text, plain) == "":
		return text
	case strings.ContainsFunc(text, isControl):
		return dollar(text)
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShellPath is ShellQuote for a file name, including one that looks like an option.
func ShellPath(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return ShellQuote(name)
}

// ShellJoin returns an argument vector as a command line.
func ShellJoin(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = ShellQuote(a)
	}
	return strings.Join(words, " ")
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// dollar writes text in the form $'...'. Octal numbers have three digits, so that a following digit
// is not part of them.
func dollar(text string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(text) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case isControl(rune(c)):
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
