package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// executionsOnLine finds numbers of executions as people write them.
var executionsOnLine = regexp.MustCompile(`\bexecutions["']?[ \t]*=[ \t]*\+?([0-9_]+)`)

// MoreExecutions returns c's text with that many more executions of each key, on every machine that
// it has sections for: nothing but the numbers changes. line is that of the first number. A text
// whose numbers cannot be told from other text on their lines is an error.
func (c *Config) MoreExecutions(more int) (text string, line int, err error) {
	unclear := func(line int) error {
		return fmt.Errorf("%s:%d: the numbers of executions cannot be changed there by themselves; write "+
			"them yourself, %d more each", c.shown, line, more)
	}
	root, problem := decode(c.Text)
	if problem != nil {
		return "", 0, fmt.Errorf("%s:%d: %s", c.shown, problem.Line, problem.What) // does not happen
	}
	numbers := map[int][]int64{} // by line
	root.executions(numbers)
	lines := strings.SplitAfter(c.Text, "\n")
	for at, values := range numbers {
		code, comment, _ := strings.Cut(lines[at-1], "#")
		if comment != "" {
			comment = "#" + comment
		}
		found := executionsOnLine.FindAllStringSubmatchIndex(code, -1)
		if len(found) != len(values) {
			return "", 0, unclear(at)
		}
		for i := len(found) - 1; i >= 0; i-- {
			from, to := found[i][2], found[i][3]
			n, err := strconv.Atoi(strings.ReplaceAll(code[from:to], "_", ""))
			if err != nil || !slices.Contains(values, int64(n)) {
				return "", 0, unclear(at)
			}
			code = code[:from] + strconv.Itoa(n+more) + code[to:]
		}
		lines[at-1] = code + comment
		if line == 0 || at < line {
			line = at
		}
	}
	text = strings.Join(lines, "")
	if root.child("experiment").child("executions") == nil {
		text, line = withDefault(text, root.child("experiment"), c.Experiment.Executions+more)
	}
	now, err := c.Earlier(text)
	if err != nil {
		return "", 0, err
	}
	for _, k := range c.keys {
		if now.Planned(k) != c.Planned(k)+more {
			return "", 0, unclear(max(line, 1))
		}
	}
	return text, line, nil
}

// withDefault returns the text with a number of executions, which was the default: at the beginning
// of the section experiment if it has a line of its own, else in a new one at the end.
func withDefault(text string, section *node, executions int) (string, int) {
	lines := strings.SplitAfter(text, "\n")
	added := fmt.Sprintf("executions = %d\n", executions)
	for i, line := range lines {
		if section != nil && strings.TrimSpace(line) == "[experiment]" && strings.HasSuffix(line, "\n") {
			lines[i] += added
			return strings.Join(lines, ""), i + 2
		}
	}
	text = strings.TrimRight(text, "\n") + "\n\n[experiment]\n" + added
	return text, strings.Count(text, "\n")
}

// executions adds the numbers of executions in n and below, by line.
func (n *node) executions(numbers map[int][]int64) {
	for name, child := range n.table {
		value, whole := child.value.(int64)
		if whole && name == "executions" {
			numbers[child.line] = append(numbers[child.line], value)
		}
		child.executions(numbers)
	}
}
