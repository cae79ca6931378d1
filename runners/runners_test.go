package runners

import (
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestCommand(t *testing.T) {
	for _, c := range []struct{ language, program, entry, want string }{
		{"c", "", "/b/bench.so", "/l/runner-c -a /b/bench.so -5"},
		{"c", "/usr/bin/tuned", "/b/bench.so", "/usr/bin/tuned -a /b/bench.so -5"},
		{"python", "/usr/bin/pypy3", "/b/bench.py", "/usr/bin/pypy3 -a /l/runner.py /b/bench.py -5"},
		{"lua", "/usr/bin/luajit", "/b/bench.lua", "/usr/bin/luajit -a /l/runner.lua /b/bench.lua -5"},
		{"javascript", "/usr/bin/node", "/b/bench.js", "/usr/bin/node -a /l/runner.js /b/bench.js -5"},
		{"java", "/usr/bin/java", "/b/nbody/java/KrunEntry.class",
			"/usr/bin/java -a -cp /l/java:/b/nbody/java KrunRunner KrunEntry -5"},
		{"ruby", "/usr/bin/ruby", "/b/bench.rb", "/usr/bin/ruby -a /l/runner.rb /b/bench.rb -5"},
		{"dotnet", "/usr/bin/mono", "/b/bench.dll",
			"/usr/bin/mono -a /l/dotnet/KrunRunner.exe /b/bench.dll -5"},
		{"go", "/usr/bin/numactl", "/b/bench", "/usr/bin/numactl -a /b/bench -5"},
		{"php", "/usr/bin/php", "/b/bench.php", "/usr/bin/php -a /l/runner.php /b/bench.php -5"},
		{"command", "", "", "/l/runner-command -a"},
		{"command", "/usr/bin/tuned", "/b/ignored", "/usr/bin/tuned -a"},
	} {
		l, ok := Lookup(c.language)
		got := strings.Join(l.Command(c.program, []string{"-a"}, "/l", c.entry, "", -5), " ")
		must.Be(t, ok && got == c.want, c.language, got, "want", c.want)
		must.Be(t, slices.Contains(Names(), c.language), c.language, "is not in the names", Names())
	}
	program, _ := Lookup("go")
	must.EqualList(t, program.Command("", nil, "/l", "/b/bench", "", 7), []string{"/b/bench", "7"},
		"a Go program is called by")
	_, ok := Lookup("cobol")
	must.Be(t, !ok, "there is no runner for cobol")
}
