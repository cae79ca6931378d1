package config

import (
	"strings"
	"testing"

	"krund/rig/must"
)

// TestWithoutShard: what machines add to a shared configuration does not count, all else does.
func TestWithoutShard(t *testing.T) {
	const base = "[experiment]\nexecutions = 4\n[limits]\ntimeout = \"1m\"\n"
	for _, c := range []struct {
		name, text string
		same       bool
	}{
		{"itself", base, true},
		{"a comment", "# x\n" + base, true},
		{"the part that krunctl adds", base + "[machines.\"la[b]\".experiment]\nshard = \"1/3\"\n", true},
		{"a part written by hand", strings.Replace(base, "\n", "\nshard = \"2/3\"\n", 1), true},
		{"another number", strings.Replace(base, "4", "5", 1), false},
		{"another key of a machine", base + "[machines.m.experiment]\nshard = \"1/3\"\nseed = 5\n", false},
		{"another section of a machine", base + "[machines.lab.limits]\ntimeout = \"2m\"\n", false},
	} {
		want := must.Get(WithoutShard(base))(t)
		got, err := WithoutShard(c.text)
		must.Be(t, err == nil && (got == want) == c.same, c.name, got, err, "want the same as", want, c.same)
	}
	must.Refused(WithoutShard("x"))(t, "", "no TOML is no error")
}

// TestWithShard: the part holds under each name of the machine, and no section of the configuration
// replaces it.
func TestWithShard(t *testing.T) {
	const base = "[experiment]\nexecutions = 6\n[vms.C]\nrunner = \"c\"\nvariants = [\"v\"]\n[variants.v]\n" +
		"entry = \"b.so\"\n[benchmarks]\nb = { parameter = 1 }\n"
	for _, more := range []string{"", "[machines.lab1.experiment]\nshard = \"1/9\"\n",
		"[machines.\"?*\".experiment]\nshard = \"1/9\"\n[machines.\"?**\".experiment]\nshard = \"1/9\"\n"} {
		text := WithShard([]byte(base+more), 1, 3)
		for _, host := range []string{"lab1", "localhost", "LAB1.example.org", "x"} {
			c := must.Get(Stored("x.toml", text, host, nil))(t)
			must.Equal(t, c.Experiment.Shard, (Shard{Index: 2, Count: 3}), more, "on", host)
		}
	}
	got := WithShard([]byte(base), 0, 1)
	must.Equal(t, string(got), base, "the whole experiment", got)
}
