package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const helpText = `Status says how far
it is.

  a  table
  b  of its own

Nothing is changed.

FILES
  x.toml  the
          experiment
  /a/long/path
      of something

EXAMPLES
  krunctl status x.toml     the experiment
  krunctl status - | jq '.a'

EXIT STATUS
  0  all is well
  2  wrong usage,
     or a mistake

Usage:
  krunctl status DIR [flags]

Flags:
      --json            print JSON
  -o, --output string   where to (default "-")
      --bare
`

func TestCommandPage(t *testing.T) {
	got := commandPage("krunctl", listed{"status", "Say how far it is"}, helpText).roff("1.2", "2026-11-21")
	const want = `.TH "krunctl\-status" 1 "2026-11-21" "krund 1.2" "krund"
.SH NAME
krunctl\-status \- say how far it is
.SH "SYNOPSIS"
.RS 2
.nf
krunctl status DIR [flags]
.fi
.RE
.SH "DESCRIPTION"
Status says how far
it is.
.PP
.RS 2
.nf
a  table
b  of its own
.fi
.RE
.PP
Nothing is changed.
.SH "OPTIONS"
.TP
\fB\-\-json\fR
print JSON
.TP
\fB\-o, \-\-output string\fR
where to (default "\-")
.TP
\fB\-\-bare\fR
.SH "FILES"
.TP
\fBx.toml\fR
the experiment
.TP
\fB/a/long/path\fR
of something
.SH "EXIT STATUS"
.TP
\fB0\fR
all is well
.TP
\fB2\fR
wrong usage, or a mistake
.SH "EXAMPLES"
.RS 2
.nf
krunctl status x.toml     the experiment
krunctl status \- | jq \(aq.a\(aq
.fi
.RE
.SH "SEE ALSO"
krunctl(1), krund(8), krund.toml(5)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOverview(t *testing.T) {
	help := "krunctl plans\nand mends. More.\n\nUsage:\n  krunctl COMMAND\n\nRun an experiment:\n  plan    " +
		"    Print it\n\nLook at it:\n  show        Print a record\n  help        Help\n\nUse \"krunctl " +
		"[command] --help\" for more information.\n"
	got := overview("krunctl", help, parseCommands(help)).roff("1.2", "2026-11-21")
	for _, want := range []string{
		"\nkrunctl \\- plans and mends\n", ".SH \"COMMANDS\"\n.SS \"Run an " +
			"experiment\"\n.TP\n\\fBplan\\fR\nPrint it\n.SS \"Look at it\"\n.TP\n\\fBshow\\fR\nPrint a " +
			"record\n.TP\n\\fBhelp\\fR\nHelp\n.SH", "krunctl\\-plan(1), krunctl\\-show(1)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, ".SH \"COMMANDS\"") != 1 {
		t.Errorf("not one list of commands in\n%s", got)
	}
	if strings.Contains(got, "Use \"") {
		t.Errorf("cobra's advice is in\n%s", got)
	}
}

func TestConfigPage(t *testing.T) {
	const text = "# Title\n\nOne [page](a.md)\nof **two** `x.toml`.\n\n- a\n  b\n- `c`\n\n## " +
		"`[limits]`\n\n| key | type | default | what it is |\n|---|---|---|---|\n" +
		"| `heap` | size | `\"2GiB\"` | of data |\n| `path` | program | none | of the VM |\n\n### " +
		"More\n\n```toml\n.x = \"\\n\"\n```\n\n| policy | effect |\n|---|---|\n| **off** | nothing |\n"
	got := configPage(text).roff("1.2", "2026-11-21")
	const want = `.TH "krund.toml" 5 "2026-11-21" "krund 1.2" "krund"
.SH NAME
krund.toml \- the configuration of an experiment
.SH "DESCRIPTION"
One page of \fBtwo\fR \fBx.toml\fR.
.IP \(bu 2
a b
.IP \(bu 2
\fBc\fR
.SH "[limits]"
.TP
\fBheap\fR (size; default \fB"2GiB"\fR)
of data
.TP
\fBpath\fR (program; must be given)
of the VM
.SS "More"
.RS 2
.nf
\&.x = "\en"
.fi
.RE
.TP
\fBoff\fR
nothing
.SH "SEE ALSO"
krund(8), krunctl(1), krunctl\-plan(1), krunctl\-doctor(1)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"": "", `a\b`: `a\eb`, "-x": `\-x`, "'": `\(aq`, "°": `\[u00B0]`, "⁶": `\[u2076]`,
		"~^`": `\(ti\(ha\(ga`,
	} {
		if got := escape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{".x": "\\&.x\n", "x": "x\n", "": "\n"} {
		if got := line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := inline("a `b-c` ** `d"); got != "a \\fBb\\-c\\fR ** \\(gad" {
		t.Errorf("inline: %q", got)
	}
}

// TestEveryKeyIsInTheManual: every key in docs/config.md is in krund.toml(5).
func TestEveryKeyIsInTheManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := configPage(string(text)).roff("1.2", "2026-11-21")
	keys := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|").FindAllStringSubmatch(string(text), -1)
	if len(keys) < 80 {
		t.Fatalf("docs/config.md has %d keys", len(keys))
	}
	for _, k := range keys {
		if !strings.Contains(manual, "\n.TP\n\\fB"+k[1]+`\fR (`) {
			t.Errorf("no %s", k[1])
		}
	}
	if strings.Contains(manual, "|---") || strings.Contains(manual, "](") {
		t.Error("Markdown is left in the page")
	}
}

// TestRun generates the pages of a krunctl that only has a help text, and checks them with mandoc
// if it is installed.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	krunctl := filepath.Join(dir, "krunctl")
	script := "#!/bin/sh\ncat <<'END'\nkrunctl is. It is.\n\nUsage:\n  krunctl\n\nAvailable Commands:\n  " +
		"plan        Print it\nEND\n"
	if err := os.WriteFile(krunctl, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"-program", krunctl, "-version", "1.2", "-date", "2026-11-21", "-o", dir,
		"-config", "../../docs/config.md"}
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	pages := []string{"krunctl.1", "krunctl-plan.1", "krund.toml.5"}
	for i, p := range pages {
		pages[i] = filepath.Join(dir, p)
		if info, err := os.Stat(pages[i]); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", p, err)
		}
	}
	for i := range len(args)/2 - 1 { // there may be no configuration
		less := append(append([]string{}, args[:2*i]...), args[2*i+2:]...)
		if err := run(t.Context(), less); err == nil || !strings.Contains(err.Error(),
			args[2*i]+" is missing") {
			t.Errorf("without %s: %v", args[2*i], err)
		}
	}
	if err := run(t.Context(), append(args, "-program", filepath.Join(dir, "none"))); err == nil {
		t.Error("no error without a krunctl")
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("the pages are not checked: ", err)
	}
	out, err := exec.CommandContext(t.Context(), mandoc, append([]string{"-Tlint", "-Wwarning"},
		append(pages, "../man/krund.8")...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAliases: other names of a command are a section of their own, and no list of commands.
func TestAliases(t *testing.T) {
	got := commandPage("krunctl", listed{"status", "Say"},
		"Status says.\n\nUsage:\n  krunctl status\n\nAliases:\n  status, state\n").
		roff("1.2", "2026-11-21")
	if !strings.Contains(got, ".SH \"ALIASES\"\n") || !strings.Contains(got, "status, state") ||
		strings.Contains(got, "COMMANDS") {
		t.Error(got)
	}
}
