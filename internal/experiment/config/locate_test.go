package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// flatten lists "path line" of every place, by path.
func flatten(p *place, path string, list []string) []string {
	for _, name := range slices.Sorted(maps.Keys(p.table)) {
		child := p.table[name]
		at := strings.TrimPrefix(path+"/"+name, "/")
		list = flatten(child, at, append(list, fmt.Sprintf("%s %d", at, child.line)))
	}
	for i, item := range p.list {
		at := fmt.Sprintf("%s/%d", path, i)
		list = flatten(item, at, append(list, fmt.Sprintf("%s %d", at, item.line)))
	}
	return list
}

func TestLocate(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"empty", "", ""},
		{"comments", "# a = 1\n\n  # b\nc = 2 # d = 3", "c 4"},
		{"table", "[a]\nb = 1\n[c.d]\ne = 'x'", "a 1, a/b 2, c 3, c/d 3, c/d/e 4"},
		{"table after its child", "[a.b]\nc = 1\n[a]\nd = 2", "a 3, a/b 1, a/b/c 2, a/d 4"},
		{"white space", " [ a . b ] \n\tc\t=\t1", "a 1, a/b 1, a/b/c 2"},
		{"dotted key", "a.b = 1\na.\"c d\" = 2", "a 1, a/b 1, a/c d 2"},
		{"quoted keys", "\"a.b\" = 1\n'c\"#' = 2\n\"\\u0041\\t\" = 3", "A\t 3, a.b 1, c\"# 2"},
		{"empty key", "\"\" = 1\n'x' = 2", " 1, x 2"},
		{"quoted header", "[vms.\"a]b\"]\nx = 1", "vms 1, vms/a]b 1, vms/a]b/x 2"},
		{"numeric and odd bare keys", "1-2_3 = 1\n-x = 2", "-x 2, 1-2_3 1"},
		{"strings hide marks", "a = \"x # [b]\\\" = 1\"\nc = '\\'\nd = 1", "a 1, c 2, d 3"},
		{"multi-line string", "a = \"\"\"\nb = 1\n\\\"\"\" c = 2\n\"\"\"\nd = 1", "a 1, d 5"},
		{"multi-line literal", "a = '''\n\\''' # x\nd = 1", "a 1, d 3"},
		{"quotes before the closing three", "a = \"\"\"x\"\"\"\"\"\nb = '''y''''\nc = 1", "a 1, b 2, c 3"},
		{"list", "a = [1,\n 2, # two ]\n\n [3,\n4],]\nb = 1",
			"a 1, a/0 1, a/1 2, a/2 4, a/2/0 4, a/2/1 5, b 6"},
		{"list of dates", "a = [1979-05-27 07:32:00, 07:32:00]\nb = 1979-05-27 07:32:00 # c\nd = 1",
			"a 1, a/0 1, a/1 1, b 2, d 3"},
		{"inline table", "a = { b = 1, c.d = [2], \"e\" = {} }\nf = 1",
			"a 1, a/b 1, a/c 1, a/c/d 1, a/c/d/0 1, a/e 1, f 2"},
		{"inline table on lines", "a = {\n b = 1, # x }\n c = 2,\n}\nd = 1", "a 1, a/b 2, a/c 3, d 5"},
		{"tables in a list", "a = [{b = 1},\n{b = 2}]", "a 1, a/0 1, a/0/b 1, a/1 2, a/1/b 2"},
		{"array of tables", "[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 2\n[[a.e]]\nf = 3",
			"a 1, a/0 1, a/0/b 2, a/1 3, a/1/c 4, a/1/c/d 5, a/1/e 6, a/1/e/0 6, a/1/e/0/f 7"},
		{"CRLF", "[a]\r\nb = 1\r\n# c\r\nd = [\r\n1]\r\n", "a 1, a/b 2, a/d 4, a/d/0 5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root, _ := must.Get2(locate(test.text))(t)
			must.Equal(t, strings.Join(flatten(root, "", nil), ", "), test.want)
			if _, problem := decode(test.text); problem != nil {
				t.Errorf("the text of this test is not TOML: %v", *problem)
			}
		})
	}
}

func TestLocateDepth(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		deep       bool
	}{
		{"deepest allowed key", strings.Repeat("a.", maxDepth-1) + "a = 1", 1, false},
		{"key too deep", "\n" + strings.Repeat("a.", maxDepth) + "a = 1", 2, true},
		{"header too deep", "[" + strings.Repeat("a.", maxDepth) + "a]", 1, true},
		{"list too deep", "x = 1\nb = " + strings.Repeat("[", 100_000), 2, true},
		{"inline table too deep", "b = " + strings.Repeat("{a=", 100_000), 1, true},
	}
	for _, test := range tests {
		_, line, err := locate(test.text)
		must.Be(t, (err != nil) == test.deep && (err == nil || line == test.line), test.name, "line", line,
			"error", err)
	}
}

// checkPlaced fails if a part of the decoded value has no place.
func checkPlaced(t *testing.T, value any, at *place, path string) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			p, ok := at.table[name]
			if !ok {
				t.Errorf("%s/%q is nowhere", path, name)
				continue
			}
			checkPlaced(t, child, p, path+"/"+name)
		}
	case []map[string]any:
		for i, child := range v {
			checkItem(t, child, at, i, path)
		}
		must.Equal(t, len(v), len(at.list), path, "elements, and", "places")
	case []any:
		for i, child := range v {
			checkItem(t, child, at, i, path)
		}
		must.Equal(t, len(v), len(at.list), path, "elements, and", "places")
	}
}

func checkItem(t *testing.T, value any, at *place, i int, path string) {
	t.Helper()
	if i < len(at.list) {
		checkPlaced(t, value, at.list[i], fmt.Sprintf("%s/%d", path, i))
	}
}

// FuzzLocate checks that everything that the library decodes is located, on an existing line and in
// the order of the text.
func FuzzLocate(f *testing.F) {
	for _, text := range []string{
		"[a.'b']\n\"c\" = '''\n'''\n[[d]]\ne = [1, [\"x\"], {f = 1}]\r\n# g\n",
		"a = 1979-05-27 07:32:00\nb.c = {d.e=1,}",
		"a = \"\"\"\"\"x\\\n \"\"\"\"\"\nb=''''''\nc = [ # ]\n]\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var tree map[string]any
		root, line, err := locate(text)
		lines := strings.Count(text, "\n") + 1
		must.Be(t, line <= lines, "stopped at line", line, "of", lines)
		if _, whole := firstInvalid(text); err != nil || !whole || strings.HasPrefix(text, "\uFEFF") ||
			decodeTOML(text, &tree) != nil {
			return
		}
		checkPlaced(t, tree, root, "")
	})
}
