package child

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestStreamsApart(t *testing.T) {
	run := mustSucceed(t, shell("echo out; echo err >&2; printf 'no end'"))
	must.Be(t, run.Stdout.Text == "out\nno end" && run.Stderr.Text == "err\n", run.Stdout, run.Stderr)
}

// TestGigabytes has a benchmark write much more than is kept, faster than krund reads.
func TestGigabytes(t *testing.T) {
	const total = 1 << 30
	c := shell("dd if=/dev/zero bs=1M count=1024 2>/dev/null; echo; echo last; echo more >&2")
	run := mustSucceed(t, c)
	out := run.Stdout
	must.Be(t, out.Bytes == total+6 && out.Truncated && len(out.Text) <= DefaultOutput+100 &&
		strings.HasSuffix(out.Text, "\x00\nlast\n"), "kept", len(out.Text), "of", out.Bytes,
		"bytes, truncated", out.Truncated)
	must.Equal(t, run.Stderr.Text, "more\n", "stderr", run.Stderr)
	d := run.Daemon
	must.Be(t, d.RSSBytes <= d.RSSBeforeBytes+(32<<20), "the daemon grew from", d.RSSBeforeBytes,
		"to", d.RSSBytes, "bytes")
}

func TestOutputLimits(t *testing.T) {
	c := shell("printf 0123456789; printf 0123456789 >&2")
	c.Limits.Output = 4
	run := mustSucceed(t, c)
	want := results.Output{Text: "01\n[... 6 bytes left out ...]\n89", Bytes: 10, Truncated: true}
	must.Be(t, run.Stdout == want && run.Stderr == want, run.Stdout, run.Stderr)
	var tee strings.Builder
	c.Stdout = &tee
	if run = mustSucceed(t, c); tee.String() != "0123456789" || run.Stdout != want || run.Stderr != want {
		t.Errorf("along came %q; got %+v and %+v", tee.String(), run.Stdout, run.Stderr)
	}
}

// TestManyLines writes line by line, so that the daemon holds off, and checks that not one is lost,
// from both streams.
func TestManyLines(t *testing.T) {
	const n = 20000
	c := shell(fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$((i+1)); echo $i; echo $i >&2; done", n))
	run := mustSucceed(t, c)
	var want strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&want, i)
	}
	must.Be(t, run.Stdout.Text == want.String() && run.Stderr.Text == want.String(), run.Stdout.Bytes, "and",
		run.Stderr.Bytes, "bytes, want", want.Len())
}
