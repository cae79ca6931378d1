// Krunctl plans, watches, reads, checks and repairs experiments of krund. It does not measure by
// itself, except in check --prove; and only the commands whose help says so change anything.
//
// Start at run. A file has a subcommand, or a few of one subject: the flags, one call and what is
// printed; help/COMMAND.txt is its help. The work is done elsewhere: package experiment reads what
// the arguments name, packages summary and analysis make documents of it, package report makes
// tables, and package exchange the files of other tools. Standard output is for data, standard
// error for messages.
package main

import (
	"bufio"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/boot/autostart"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/account"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/joined"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
	"krund/internal/report/console"
	"krund/internal/schedule"
	"krund/packaging/manual"
)

func init() {
	cobra.EnableCommandSorting = false // groups has an order of its own
}

func main() {
	account.Stage() // never returns in the copy that ends the processes of krund's account
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs krunctl with the given arguments and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return runIn(&app{
		stdin:     stdin,
		stderr:    stderr,
		now:       sysroot.RealClock{}.Now,
		host:      name,
		fsys:      durable.OS(),
		uid:       os.Geteuid(),
		systemctl: autostart.Systemctl,
		env:       os.Getenv,
		ask:       asker(stdin, stdout, stderr),
		machine: func(ctx context.Context) *control.Machine {
			return control.NewMachine(ctx, sysroot.New("/"))
		},
		hubFile:  joined.File,
		state:    joined.StateDirectory,
		runtime:  directory.RuntimeDirs(),
		counters: msr.Probe,
		running:  directory.Measuring,
		measure: func(ctx context.Context, h host.Host, on host.CPUs, d time.Duration) (probe.Proof, error) {
			return probe.Prove(ctx, h, sysroot.RealClock{}, on, d)
		},
		krund: startKrund,
	}, args, stdout)
}

// runIn is run in a given environment.
func runIn(a *app, args []string, stdout io.Writer) int {
	out := bufio.NewWriter(stdout)
	a.stdout, a.terminal = out, stdout
	krund := a.krund // it takes this process over
	a.krund = func(args []string, wait bool) error { return errors.Join(out.Flush(), krund(args, wait)) }
	root := rootCommand(a)
	args, said := modern(root, args)
	if said != "" {
		a.talk("%s", said)
	}
	root.SetArgs(joinValues(args))
	painted := console.NewPainter(out, stdout)
	root.SetOut(out)
	root.PersistentPreRun = func(c *cobra.Command, _ []string) {
		if isText(c) {
			a.stdout = painted
		}
	}
	c, err := root.ExecuteC()
	if isText(c) && a.console().Width() > 0 && wordsOf[c.Name()] != "" && painted.Started() {
		a.print("\nwords: %s --help, %s\n", c.CommandPath(), wordsOf[c.Name()])
	}
	if closed := painted.Close(); err == nil {
		err = closed
	}
	if flushed := out.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("write the output: %w", flushed)
	}
	return a.end(err)
}

// startHelp is what most people need, the first lines of the help.
const startHelp = `  krunctl time 'command a' 'command b'   which is faster, now
  krunctl run NAME.toml                  measure an experiment in this terminal
  krunctl report NAME.krun               what was measured, as pages`

// helpTexts has the help of each command in help/COMMAND.txt, which is also its manual page.
//
//go:embed help
var helpTexts embed.FS

// addHelp gives a command and those below it their help texts.
func addHelp(c *cobra.Command) {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	file := "help/" + strings.ReplaceAll(cmp.Or(words, "krunctl"), " ", "-") + ".txt"
	if text, err := helpTexts.ReadFile(file); err == nil {
		c.Long = strings.TrimSpace(strings.NewReplacer("{start}", startHelp, "{exit status}", exitHelp,
			"{exit status of readers}", readExitHelp).Replace(string(text)))
	}
	for _, child := range c.Commands() {
		addHelp(child)
	}
}

// wordsOf are the pages that explain what the tables of a command are called.
var wordsOf = map[string]string{"show": "docs/output.md", "analyze": "docs/analysis.md",
	"compare": "docs/statistics.md", "explain": "docs/explain.md", "history": "docs/history.md",
	"status": "docs/output.md", "check": "docs/controls.md", "time": "docs/time.md",
	"bisect": "docs/bisect.md", "enough": "docs/enough.md", "report": "docs/report.md",
	"stability": "docs/stability.md", "optimize": "docs/optimize.md", "simulate": "docs/stopping.md",
	"how-long": "docs/analysis.md"}

// isText reports whether a command prints text for people to standard output.
func isText(c *cobra.Command) bool {
	format, output, help := c.Flags().Lookup("format"), c.Flags().Lookup("output"), c.Flags().Lookup("help")
	return wordsOf[c.Name()] != "" && (format == nil || format.Value.String() == "text") &&
		(output == nil || output.Value.String() == "") && (help == nil || !help.Changed)
}

const exitHelp = `
EXIT STATUS
  0  success
  1  something could not be done, or problems were found
  2  wrong usage, or a mistake in the configuration`

// readExitHelp is exitHelp for the commands that read all records.
const readExitHelp = `
EXIT STATUS
  0  success
  1  something could not be done, problems were found, or there was nothing to
     analyze because no execution was completed
  2  wrong usage, or a mistake in the configuration
  3  success, but damaged records were left out; standard error names them`

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "krunctl COMMAND",
		Short:         "Plan, watch, read, check and repair experiments of krund",
		Version:       display.Version(),
		Args:          cobra.ArbitraryArgs, // so that RunE gets an unknown command
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		},
	}
	root.SuggestionsMinimumDistance = 2 // letters that may differ
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	// all commands take it, for scripts; the result does not depend on it
	root.PersistentFlags().VarPF(jobs{}, "jobs", "j", "number of processors to use").Hidden = true
	addCommands(root, a)
	addHelp(root)
	root.SetHelpFunc(shortHelp(root.HelpFunc(), a.console().Width()))
	root.AddCommand(manual.Command())
	return root
}

// unknownCommand answers a command that does not exist, by meaning or by letters.
func unknownCommand(c *cobra.Command, name string) error {
	if other, ok := display.Meant[strings.ToLower(name)]; ok {
		return usageError(fmt.Errorf("there is no command %s; what you mean may be %s", name, other))
	}
	err := fmt.Errorf("unknown command %q; `krunctl --help` lists the commands", display.Clip(name,
		messageBytes))
	if near := c.SuggestionsFor(name); len(near) > 0 {
		err = fmt.Errorf("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usageError(err)
}

// shortHelp returns the help of krunctl itself, on one screen; the help of a command is usual, and
// fits a terminal of this width.
func shortHelp(usual func(*cobra.Command, []string), width int) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) {
		if c.HasParent() {
			if width > 0 {
				c.SetUsageTemplate(strings.ReplaceAll(c.UsageTemplate(), "FlagUsages |",
					fmt.Sprint("FlagUsagesWrapped ", width, " |")))
				c.Long = fitHelp(c.Long, width)
			}
			usual(c, args)
			return
		}
		w := &strings.Builder{}
		fmt.Fprintln(w, startHelp)
		for _, g := range c.Groups() {
			fmt.Fprintf(w, "\n%s\n", g.Title)
			for _, child := range c.Commands() {
				if child.GroupID == g.ID && child.IsAvailableCommand() {
					fmt.Fprintf(w, "  %-9s %s\n", child.Name(), child.Short)
				}
			}
		}
		fmt.Fprint(w, "\nkrunctl COMMAND --help explains a command; so do man krunctl, and docs/.\n"+
			"krunctl --version, and krunctl completion SHELL, are there, too.\n")
		fmt.Fprint(c.OutOrStdout(), fitHelp(w.String(), width))
	}
}

// item is the first line of an item in a help text: its mark or its name, and its text.
var item = regexp.MustCompile(`^( +(?:- |\S+(?: \S+)* {2,}))([^ #].*)$`)

// fitHelp fits a help text to a terminal of this width. Lines of a paragraph, or of an item, are
// joined and broken again. What people copy stays as it is: the examples, and indented lines that
// are no items, such as those of a configuration.
func fitHelp(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out strings.Builder
	var name, indent, body string // of the paragraph or item that is being read
	flush := func() {
		if body != "" {
			out.WriteString(name + display.Wrap(indent+body, width, indent)[len(indent):] + "\n")
		}
		body = ""
	}
	examples := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		title := line != "" && line == strings.ToUpper(line) && !strings.HasPrefix(line, " ")
		if title {
			examples = line == "EXAMPLES"
		}
		own := strings.TrimLeft(line, " \t")
		parts := item.FindStringSubmatch(line)
		switch begins := parts != nil && len(parts[1]) < width/2; {
		case examples, title, own == "", !begins && own != line && (body == "" || line != indent+own):
			flush()
			out.WriteString(line + "\n")
		case begins:
			flush()
			name, indent, body = parts[1], strings.Repeat(" ", len(parts[1])), parts[2]
		case body != "" && line == indent+own:
			body += " " + own
		default:
			flush()
			name, indent, body = "", "", line
		}
	}
	flush()
	if !strings.HasSuffix(text, "\n") {
		return strings.TrimSuffix(out.String(), "\n")
	}
	return out.String()
}

// group is a part of the list that `krunctl --help` prints.
type group struct {
	id, title string
	commands  []*cobra.Command
}

// groups returns the subcommands by purpose, in the order in which a new user needs them.
func groups(a *app) []group {
	return []group{
		{"measure", "Measure now", []*cobra.Command{timeCommand(a), initCommand(a)}},
		{"run", "Run an experiment", []*cobra.Command{
			checkCommand(a), runCommand(a), enableCommand(a), disableCommand(a), statusCommand(a),
			holdCommand(a), resumeCommand(a), stopCommand(a),
		}},
		{"read", "Read it", []*cobra.Command{
			showCommand(a), analyzeCommand(a), reportCommand(a), compareCommand(a), explainCommand(a),
			historyCommand(a), bisectCommand(a), enoughCommand(a),
		}},
		{"exchange", "Exchange and repair", []*cobra.Command{convertCommand(a), repairCommand(a)}},
		{"hub", "Use a hub", []*cobra.Command{hubCommand(a)}},
	}
}

// addCommands adds the subcommands to root, in the order of groups.
func addCommands(root *cobra.Command, a *app) {
	for _, g := range groups(a) {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(watchIterationsCommand(a), convertKrunCommand(a)) // in no group: only programs use them
	version := versionCommand(a)
	version.Hidden = true // --version
	root.AddCommand(version)
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Short = "Print a script that completes commands in a shell"
		c.Hidden = true
	}
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the formats that it reads",
		Args:  arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			a.print("krunctl %s (%s/%s, %s); schedule format %d, record format %d\n", display.Version(),
				runtime.GOOS, runtime.GOARCH, runtime.Version(), schedule.Version, results.Format)
			return nil
		},
	}
}
