package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"krund/rig/must"
)

const help = `Status says how *far*
it is, see <x_y>.

  a  table_of
  its   own

FILES
  x.toml  the
          experiment

EXIT STATUS
  0  all is well`

// program is a small program with a page of its own and one of a command.
func program() *cobra.Command {
	root := &cobra.Command{Use: "prog COMMAND", Short: "Do it", Long: "prog does it."}
	root.AddGroup(&cobra.Group{ID: "a", Title: "First steps:"})
	status := &cobra.Command{Use: "status DIR", Short: "Say how far it is", Long: help, GroupID: "a",
		Run: nothing}
	status.Flags().StringP("output", "o", "-", "where to, * for °C")
	root.AddCommand(status, &cobra.Command{Use: "secret", Hidden: true, Run: nothing}, Command())
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

func nothing(*cobra.Command, []string) {}

// pages runs `prog manual` and returns the pages by their names.
func pages(t *testing.T, args ...string) (pages map[string]string, dir string) {
	t.Helper()
	dir = t.TempDir()
	root := program()
	root.SetArgs(slices.Concat([]string{"manual", "--date", "2026-11-21", dir}, args))
	must.Do(t, root.Execute())
	pages = map[string]string{}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		pages[filepath.Base(f)] = string(text)
	}
	return pages, dir
}

// TestPages: a page for the program and each command that users see; titles become sections, and
// indented lines stay as they are.
func TestPages(t *testing.T) {
	all, _ := pages(t)
	must.Equal(t, len(all), 2, "pages")
	status := all["prog-status.1"]
	for _, want := range []string{
		`.TH "PROG-STATUS" "1" "2026-11-21" "krund `, "\nprog\\-status \\- Say how far it is\n",
		"\nStatus says how *far*\nit is, see <x_y>", "\na  table_of\nits   own\n", "\n.SH FILES\n",
		"\nx.toml  the\n        experiment\n", "\n.SH EXIT STATUS\n",
		"\n.TP\n\\fB\\-o\\fP, \\fB\\-\\-output\\fP=\"\\-\"\nwhere to, * for \\[u00B0]C\n",
		"\\fBprog(1)\\fP\n",
	} {
		must.Contain(t, status, want)
	}
	root, list := all["prog.1"], ".SH FIRST STEPS\n.TP\n\\fBstatus\\fP\nSay how far it is\n"
	must.Be(t, strings.Contains(root, list) && !strings.Contains(root, "secret"), root)
}

// TestConfigPage: every key of docs/config.md is in krund.toml(5), with what is said about it.
func TestConfigPage(t *testing.T) {
	const config = "../../docs/config.md"
	all, dir := pages(t, "--config", config)
	page := all["krund.toml.5"]
	text := must.Get(os.ReadFile(config))(t)
	keys := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|").FindAllStringSubmatch(string(text), -1)
	must.Need(t, len(keys) >= 80, "docs/config.md", len(keys), "keys")
	for _, k := range keys {
		must.Contain(t, page, "\n.TP\n\\fB"+k[1]+"\\fR (", k[1])
	}
	must.Be(t, !strings.Contains(page, "|---") && !strings.Contains(page, "](") &&
		!strings.Contains(page, ".TS"), "a table or a link is left in the page")
	lint(t, dir)
}

// lint lets a formatter of manual pages look at what was written.
func lint(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	args := []string{"groff", "-man", "-ww", "-Tutf8", "-z"}
	if _, err := exec.LookPath("mandoc"); err == nil {
		args = []string{"mandoc", "-Tlint", "-Wwarning"}
	} else if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("the pages are not checked: ", err)
	}
	out, err := exec.CommandContext(t.Context(), args[0], append(args[1:], append(files,
		"../man/krund.8")...)...).CombinedOutput()
	must.Be(t, err == nil && len(out) <= 0, err, out)
}

func TestRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"--date is the day":         {"manual", t.TempDir()},
		"accepts 1 arg":             {"manual"},
		"no such file or directory": {"manual", "--date", "2026-11-21", filepath.Join(t.TempDir(), "none")},
		"open none.md":              {"manual", "--date", "2026-11-21", "--config", "none.md", t.TempDir()},
	} {
		root := program()
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetArgs(args)
		must.Refuse(t, root.Execute(), want, args)
	}
}
