package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pair is two commands with the variable that decides which of them is faster.
type pair struct {
	name, value string
	a, b        string
	programs    []string // which must be installed
}

// missing returns a program that is not installed, or "".
func (p pair) missing() string {
	for _, program := range p.programs {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// shown is the value for the table.
func (p pair) shown(dir string) string {
	return strings.NewReplacer(dir, "DIR", os.Getenv("PATH"), "$PATH").Replace(p.value)
}

// pairs are the pairs, whose files prepare has made in dir. In a clean environment the commands of
// most take the same time: A reads the variable, and B does not.
func pairs(dir string) []pair {
	return []pair{
		{"LANG", "C", "sort -f words", "env LANG=C.UTF-8 sort -f words", []string{"sort"}},
		{"LC_ALL", "C", "sort -fu words words", "env LC_ALL=C.UTF-8 sort -fu words words", []string{"sort"}},
		{"PYTHONPATH", dir + "/modules", "python3 work.py", "python3 -E work.py", []string{"python3"}},
		{"NODE_OPTIONS", "--jitless", "node work.js", "env -u NODE_OPTIONS node work.js", []string{"node"}},
		{"LD_LIBRARY_PATH", dir + "/fast", "./linked", "env -u LD_LIBRARY_PATH ./linked", []string{"cc"}},
		{"HOME", dir + "/home", "perl home.pl", "env HOME=/nonexistent perl home.pl", []string{"perl"}},
		{"TZ", "Asia/Kathmandu", "./dates", "env -u TZ ./dates", []string{"cc"}},
		{"JAVA_TOOL_OPTIONS", "-Xint", "java Work", "env -u JAVA_TOOL_OPTIONS java Work",
			[]string{"java", "javac"}},
		{"PATH", dir + "/fast:" + os.Getenv("PATH"), "work", "slow/work", nil},
		{"VIRTUAL_ENV", dir + "/fast", "sh activated.sh", "env -u VIRTUAL_ENV sh activated.sh", nil},
		{"RUBYOPT", "--disable-gems", "ruby -e 1", "env -u RUBYOPT ruby -e 1", []string{"ruby"}},
		{"PERL5LIB", dir + "/modules", "perl work.pl", "env -u PERL5LIB perl work.pl", []string{"perl"}},
	}
}

// files are the programs of the pairs, by name. Each does the same work more slowly if it does not
// find what a variable leads to.
var files = map[string]string{
	"work.py": `try:
    from fast import loops
except ImportError:
    loops = 1000000
n = 0
for i in range(loops):
    n += i
`,
	"modules/fast.py": "loops = 10000\n",
	"work.js": `let n = 0;
for (let i = 0; i < 5e6; i++) n = (n * 31 + i) % 1000003;
`,
	"work.pl": `my $loops = eval { require Fast; Fast::loops() } || 2000000;
my $n = 0;
$n += $_ for 1 .. $loops;
`,
	"modules/Fast.pm": "package Fast;\nsub loops { 300000 }\n1;\n",
	"home.pl": `my $loops = 2000000;
if (open(my $f, "<", "$ENV{HOME}/.workrc")) { $loops = <$f> }
my $n = 0;
$n += $_ for 1 .. $loops;
`,
	"home/.workrc": "300000\n",
	"Work.java": `class Work {
    public static void main(String[] args) {
        long n = 0;
        for (int i = 0; i < 20_000_000; i++) n = (n * 31 + i) % 1000003;
        System.out.println(n);
    }
}
`,
	"slow/work": "#!/bin/sh\ni=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done\n",
	"fast/work": "#!/bin/sh\ni=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done\n",
	"activated.sh": `exec "${VIRTUAL_ENV:-slow}"/work
`,
	"slow/work.c": "int work(void) { volatile int n = 0; while (n < 200000000) n++; return n; }\n",
	"fast/work.c": "int work(void) { volatile int n = 0; while (n < 20000000) n++; return n; }\n",
	"linked.c":    "int work(void);\nint main(void) { return work() < 0; }\n",
	// without TZ, glibc looks at /etc/localtime in each call (tzset in mktime)
	"dates.c": `#include <time.h>
int main(void)
{
	struct tm t = {.tm_year = 126, .tm_mday = 1};
	for (int i = 0; i < 100000; i++) {
		t.tm_sec = i % 60;
		if (mktime(&t) == (time_t)-1)
			return 1;
	}
	return 0;
}
`,
}

// prepare makes the files of the pairs.
func prepare(ctx context.Context, dir string) error {
	var failed error
	for name, text := range files {
		path := filepath.Join(dir, name)
		failed = errors.Join(failed, os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o755))
	}
	failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, "words"), words(), 0o644))
	for _, line := range []string{
		"cc -O1 -shared -fPIC -o fast/libwork.so fast/work.c",
		"cc -O1 -shared -fPIC -o slow/libwork.so slow/work.c",
		"cc -O1 -o linked linked.c -Lslow -lwork -Wl,--enable-new-dtags,-rpath," + dir + "/slow",
		"cc -O1 -o dates dates.c", "javac Work.java",
	} {
		argv := strings.Fields(line)
		if _, err := exec.LookPath(argv[0]); err != nil {
			continue // the pairs that need it are left out
		}
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w\n%s", line, err, out))
		}
	}
	return failed
}

// words are a file of random words.
func words() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range 200_000 {
		for range 3 + r.IntN(8) {
			text = append(text, byte('a'+r.IntN(26)))
		}
		text = append(text, '\n')
	}
	return text
}
