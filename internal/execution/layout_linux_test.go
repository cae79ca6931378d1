package execution

import (
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/rig/must"
)

// whereProgram prints, once, the address at which its stack began (proc_pid_stat(5), startstack).
const whereProgram = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void run_iter(int n) {
	static int said;
	char text[4096], *at;
	FILE *f;
	if (said++) return;
	f = fopen("/proc/self/stat", "r");
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	at = strrchr(text, ')');
	for (int i = 3; i <= 28; i++) at = strchr(at + 1, ' ');
	printf("%llu\n", strtoull(at, 0, 10));
	fflush(stdout);
}
`

// TestLayoutOfAProcess: whatever the system's randomization is, the stack begins at the same
// address for paths of different lengths, and lower by the offset.
func TestLayoutOfAProcess(t *testing.T) {
	where := func(file string, args []string, l Layout) int {
		t.Helper()
		e, j := live(t, nativeVM, file, whereProgram)
		j.Layout, j.VM.Env = l, args
		m := mustExecute(t, e, j)
		at := must.Get(strconv.Atoi(strings.TrimSpace(m.Process.Stdout.Text)))(t, m.Process)
		return at
	}
	fixed := where("a.c", nil, Layout{Mode: config.LayoutFixed})
	for _, file := range []string{"a_longer_name.c", "bb.c"} {
		at := where(file, []string{"A=1", "B=" + file, "C="}, Layout{Mode: config.LayoutFixed})
		must.Equal(t, at, fixed, file, "the stack begins at", "before at")
	}
	at := where("ccc.c", []string{"X=y"}, Layout{Mode: config.LayoutRandom, Offset: 4080})
	must.Equal(t, at, fixed-4080, "the stack begins at", "- 4080")
}
