package setting

import (
	"slices"
	"testing"

	"krund/rig/must"
)

func TestDemands(t *testing.T) {
	a := Descriptor{Name: "a", Policy: Require, Options: []Option{
		{Name: "n", Default: int64(1)}, {Name: "list", Default: []string{"x"}},
	}}
	b := Descriptor{Name: "b", Policy: Off}
	defaults := Defaults([]Descriptor{a, b})
	changed := defaults.With(defaults.Of("a").Under(Apply).With("n", int64(2)))
	d := changed.Of("a")
	must.Be(t, d.Policy == Apply && d.Whole("n") == 2 && slices.Equal(d.List("list"), []string{"x"}),
		"changed to", d)
	changed.Of("a").List("list")[0] = "y"
	if d := defaults.Of("a"); d.Policy != Require || d.Whole("n") != 1 || d.List("list")[0] != "x" {
		t.Errorf("the defaults are now %+v", d)
	}
	stated := defaults.Of("a")
	stated.Stated = true
	for name, tt := range map[string]struct{ got, want Policy }{
		"by default":     {defaults.Relaxed().Of("a").Policy, Warn},
		"off":            {defaults.Relaxed().Of("b").Policy, Off},
		"stated":         {defaults.With(stated).Relaxed().Of("a").Policy, Require},
		"not in place":   {defaults.Of("a").Policy, Require},
		"a descriptor's": {a.Policy, Require},
	} {
		must.Equal(t, tt.got, tt.want, name)
	}
}

func TestUnknownOptionIsABug(t *testing.T) {
	d := Descriptor{Name: "a", Options: []Option{{Name: "n", Default: int64(1)}}}.Default()
	for what, ask := range map[string]func(){
		"setting":       func() { Demands{d}.Of("b") },
		"option":        func() { d.Whole("m") },
		"type":          func() { d.Text("n") },
		"option to set": func() { d.With("m", int64(1)) },
		"type to set":   func() { d.With("n", 1) },
	} {
		func() {
			defer func() {
				must.Be(t, recover() != nil, "an unknown", what, "does not panic")
			}()
			ask()
		}()
	}
}
