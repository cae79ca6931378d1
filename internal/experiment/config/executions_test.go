package config_test

import (
	"strings"
	"testing"

	"krund/rig/must"
)

// TestMoreExecutions: only the numbers of executions change, wherever they are; what cannot be told
// apart is refused.
func TestMoreExecutions(t *testing.T) {
	for _, test := range []struct {
		name, old, new string // a part of the text, and what it becomes; "": the text is refused
		line           int
	}{
		{"of the experiment", "executions = 4\n", "executions = 7\n", 3},
		{"with a comment", "executions = 4 # executions = 5 was much\n",
			"executions = 7 # executions = 5 was much\n", 3},
		{"as people write it", "\"executions\"\t=+4\n", "\"executions\"\t=+7\n", 3},
		{"with a separator", "executions = 1_000\n", "executions = 1003\n", 3},
		{"of benchmarks and VMs", "executions = 4\n[benchmarks.x]\nparameter = 1\nexecutions = 2\nvms = " +
			"{ C = { executions = 9 }, D = { executions = 8, iterations = 4 } }\n",
			"executions = 7\n[benchmarks.x]\nparameter = 1\nexecutions = 5\nvms = " +
				"{ C = { executions = 12 }, D = { executions = 11, iterations = 4 } }\n", 3},
		{"of a machine", "executions = 4\n[machines.lab1.experiment]\nexecutions = 5\n",
			"executions = 7\n[machines.lab1.experiment]\nexecutions = 8\n", 3},
		{"the default", "description = \"executions = 4\"\n",
			"executions = 33\ndescription = \"executions = 4\"\n", 3},
		{"in another base", "executions = 0x4\n", "", 0},
		{"beside another number", "description = 'executions = 1#'\nexecutions = 4\n",
			"description = 'executions = 1#'\nexecutions = 7\n", 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			with := func(part string) string { return strings.Replace(begun, "executions = 4\n", part, 1) }
			if strings.Contains(test.old, "[benchmarks.x]") || strings.Contains(test.old, "[machines") {
				with = func(part string) string {
					first, rest, _ := strings.Cut(part, "\n")
					return strings.Replace(begun, "executions = 4", first, 1) + rest
				}
			}
			c := mustParse(t, with(test.old))
			text, line, err := c.MoreExecutions(3)
			if test.new == "" {
				must.Refuse(t, err, "write them yourself, 3 more each", "the text")
				return
			}
			must.Do(t, err)
			must.Equal(t, text, with(test.new), "text")
			must.Equal(t, line, test.line, "line")
		})
	}
	text := strings.Replace(begun, "[experiment]\nexecutions = 4\niterations = 10\n", "", 1)
	got, line, err := mustParse(t, text).MoreExecutions(1)
	must.Be(t, err == nil && got == text+"\n[experiment]\nexecutions = 31\n" &&
		line == strings.Count(got, "\n"), got, line, err)
}

func FuzzMoreExecutions(f *testing.F) {
	f.Add(begun)
	f.Add("experiment.executions = 4 # x\n" + begun)
	f.Fuzz(func(t *testing.T, text string) {
		c, problems := parse(t, text)
		if problems != "" {
			return
		}
		more, _, err := c.MoreExecutions(2)
		if err != nil {
			return
		}
		now := must.Get(c.Earlier(more))(t)
		for _, k := range c.Keys() {
			must.Equal(t, now.Planned(k), c.Planned(k)+2, k)
		}
	})
}
