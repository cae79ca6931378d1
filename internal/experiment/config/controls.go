package config

import (
	"fmt"
	"strconv"

	"krund/internal/experiment/config/setting"
)

// controls reads, for each setting that the parser knows, a policy, or a table with a policy and
// options.
func (s *section) controls() setting.Demands {
	var list setting.Demands
	for _, d := range s.settings {
		list = append(list, s.control(d))
	}
	return list
}

var policies = []string{
	string(setting.Require), string(setting.Apply), string(setting.Warn), string(setting.Off),
}

func (s *section) control(d setting.Descriptor) setting.Demand {
	demand := d.Default()
	policy := func(in *section, n *node, name string) {
		demand.Stated = true
		demand.Policy = setting.Policy(in.oneOf(n, name, string(d.Policy), policies))
	}
	n := s.get(d.Name, strconv.Quote(string(d.Policy)))
	if n != nil && n.table == nil {
		policy(s, n, d.Name)
		n = nil
	}
	options := s.section(join(s.path, d.Name), n)
	if stated := n.child("policy"); stated != nil {
		policy(options, stated, "policy")
	}
	options.known = append(options.known, "policy")
	for _, o := range d.Options {
		demand = demand.With(o.Name, options.option(o))
	}
	options.done()
	return demand
}

// option reads an option by the type of its default.
func (s *section) option(o setting.Option) any {
	switch normal := o.Default.(type) {
	case bool:
		return s.flag(o.Name, normal)
	case int64:
		return s.whole(o.Name, normal, o.Min, o.Max)
	case []string:
		return s.texts(o.Name, normal, nil)
	case string:
		if o.Choices != nil {
			return s.choice(o.Name, normal, o.Choices...)
		}
		v := s.text(o.Name, normal)
		if o.Shape != nil && !o.Shape.MatchString(v) {
			s.bad(s.node.child(o.Name), o.Name, "write it like "+strconv.Quote(o.Example))
		}
		return v
	}
	panic(fmt.Sprintf("config: option %s has a default of type %T", o.Name, o.Default))
}
