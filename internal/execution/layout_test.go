package execution

import (
	"strings"
	"testing"

	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestLayoutOff: without a layout, the command of earlier versions is unchanged.
func TestLayoutOff(t *testing.T) {
	j := job(t, "nbody:C:so")
	c := j.command(installed)
	j.Layout = Layout{Mode: config.LayoutOff}
	off := j.command(installed)
	must.Be(t, strings.Join(off.Env, "\n") == strings.Join(c.Env, "\n") && !off.FixedAddresses, off.Env)
	l, env := j.Layout.record(off)
	must.Be(t, l == nil && len(env) == len(off.Env), l)
}

// taken is how much of the stack arguments, environment and their pointers take.
func taken(c child.Command) int {
	texts := len(c.Path) + 1 + child.EnvBytes(c.Args) + child.EnvBytes(c.Env)
	return texts + up(8*(len(c.Args)+len(c.Env)), 16)
}

// TestLayoutIgnoresPaths: the length of paths and the number of arguments, in which arms differ, do
// not move the stack; the offset does, by its value.
func TestLayoutIgnoresPaths(t *testing.T) {
	for _, test := range []struct {
		layout Layout
		want   int
	}{
		{Layout{Mode: config.LayoutFixed}, padTo},
		{Layout{Mode: config.LayoutRandom, Offset: 0}, padTo},
		{Layout{Mode: config.LayoutRandom, Offset: 4080}, padTo + 4080},
	} {
		for _, args := range [][]string{nil, {"-x"}, {"-x", "-y", strings.Repeat("long", 100)}} {
			for _, home := range []string{"/h", "/a/longer/home"} {
				j := job(t, "nbody:C:so")
				j.VM.Args, j.Layout = args, test.layout
				j.VM.Env = append(j.VM.Env, "MORE="+home)
				j.Account = account.Account{Name: "krun", Home: home, UID: 900, GID: 900}
				c := j.command(installed)
				if got := taken(c); got != test.want || !c.FixedAddresses {
					t.Errorf("%+v, %q, %s: %d bytes, want %d", test.layout, args, home, got, test.want)
				}
				l, env := j.Layout.record(c)
				padding := len(c.Env[len(c.Env)-1]) - len("KRUN_LAYOUT=")
				if *l != (results.Layout{Mode: test.layout.Mode, PaddingBytes: padding,
					OffsetBytes: test.layout.Offset}) || env[len(env)-1] != "KRUN_LAYOUT=" {
					t.Errorf("%+v, %q", l, env[len(env)-1])
				}
			}
		}
	}
}

// TestLayoutOfALongEnvironment: more than the padding allows for takes the next multiple.
func TestLayoutOfALongEnvironment(t *testing.T) {
	j := job(t, "nbody:C:so")
	j.VM.Env = append(j.VM.Env, "BIG="+strings.Repeat("x", padTo))
	j.Layout = Layout{Mode: config.LayoutFixed}
	must.Equal(t, taken(j.command(installed)), 2*padTo, "bytes")
}
