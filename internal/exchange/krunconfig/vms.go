package krunconfig

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"krund/internal/experiment/config"
)

// field returns an entry of a VM, nil if there is none.
func field(vm starlark.Value, name string) starlark.Value {
	if d, ok := vm.(*starlark.Dict); ok {
		v, _, _ := d.Get(starlark.String(name))
		return v
	}
	return nil
}

// definition returns the call of a VM's class, and its runner, "" if there is none.
func definition(vm starlark.Value) (*unknown, string) {
	def, ok := field(vm, "vm_def").(*unknown)
	if !ok || !def.called {
		def = &unknown{name: "vm_def"}
	}
	return def, definitions[def.class()]
}

// class is the name of the class that a call makes an object of.
func (u *unknown) class() string { return u.name[strings.LastIndexByte(u.name, '.')+1:] }

func (c *converter) vmVariants(vm string, v starlark.Value) []string {
	names, bad := texts(field(v, "variants"))
	if bad != nil || len(names) == 0 {
		c.note("VMS: %s: its variants are not a list of names%s", vm, why(bad))
	}
	for i, name := range names {
		names[i] = c.valid("VMS: "+vm, name)
	}
	return names
}

func (c *converter) vm(vm string, v starlark.Value) {
	def, runner := definition(v)
	if _, known := definitions[def.class()]; !known {
		c.note("VMS: %s: its vm_def is unknown; name its runner%s", vm, why(field(v, "vm_def")))
	} else if runner == "" {
		c.note("VMS: %s: %s cannot load libkrun: Node (runner = \"javascript\") replaces d8, PHP "+
			"replaces HHVM; or wrap it as an external suite", vm, def.class())
	}
	runner = cmp.Or(runner, config.RunnerExternal)
	c.line("[vms.%s]\nrunner = %q", quoteKey(vm), runner)
	c.arguments(vm, runner, def)
	c.line("variants = %s", config.QuoteList(c.vmVariants(vm, v)))
	if n, ok := whole(field(v, "n_iterations")); ok && n > 0 && n <= config.MaxIterations {
		c.line("iterations = %d", n)
	}
	c.line("")
}

// arguments writes the path, arguments and environment of a VM.
func (c *converter) arguments(vm, runner string, def *unknown) {
	var program starlark.Value
	if len(def.args) > 0 {
		program = def.args[0]
	}
	file, _ := starlark.AsString(program)
	file = c.below(file)
	if runner == config.RunnerExternal && file != "" && !strings.Contains(file, "/") {
		file = "./" + file
	}
	switch {
	case file != "":
		c.line("path = %s", config.Quote(file))
	case runner != config.RunnerC:
		c.line("path = \"/path/of/the/program\"")
		c.note("VMS: %s: its program is unknown; write it as path%s", vm, why(program))
	}
	if len(def.args) > 1 {
		c.note("VMS: %s: further arguments of %s", vm, def.class())
	}
	var left []string
	for _, n := range def.named {
		argument := string(n[0].(starlark.String))
		args, bad := texts(n[1])
		d, isDict := n[1].(*starlark.Dict)
		switch {
		case n[1] == starlark.None:
		case argument == "extra_vm_args" && bad == nil:
			c.line("args = %s", config.QuoteList(args))
		case argument != "env" || !isDict || !c.env(vm, d):
			left = append(left, argument)
		}
	}
	if len(left) > 0 {
		c.note("VMS: %s: %s of %s", vm, strings.Join(left, ", "), def.class())
	}
}

func (c *converter) env(vm string, d *starlark.Dict) bool {
	var parts []string
	for k, v := range d.Entries() {
		variable, isName := starlark.AsString(k)
		value, isText := starlark.AsString(v)
		if !isName || !isText {
			return false
		}
		parts = append(parts, config.Quote(variable)+" = "+config.Quote(value))
	}
	c.line("env = { %s }", strings.Join(parts, ", "))
	c.set = append(c.set, vm)
	return true
}

func (c *converter) variant(variant string, v starlark.Value) {
	c.line("[variants.%s]", quoteKey(variant))
	entry, ok := v.(*unknown)
	file := ""
	if ok && len(entry.args) > 0 {
		file, _ = starlark.AsString(entry.args[0])
	}
	switch {
	case v == starlark.None:
		c.line("# an external suite")
	case file == "":
		c.note("VARIANTS: %s is not an EntryPoint(\"FILE\")%s", variant, why(v))
	default:
		if c.java[variant] && !strings.HasSuffix(file, ".class") {
			file += ".class"
		}
		c.line("entry = %s", config.Quote(file))
	}
	if ok {
		for _, n := range entry.named {
			dir, isText := starlark.AsString(n[1])
			if argument := string(n[0].(starlark.String)); argument == "subdir" && isText {
				c.line("subfolder = %s", config.Quote(dir))
			} else if n[1] != starlark.None {
				c.note("VARIANTS: %s: %s", variant, argument)
			}
		}
	}
	c.line("")
}

// classes are the names of Krun's VM definitions.
func classes() []string { return slices.Collect(maps.Keys(definitions)) }
