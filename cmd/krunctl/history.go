package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/history"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/reading/experiment"
	"krund/internal/report"
	"krund/internal/trial/bisection"
)

// historyFlags are the flags.
type historyFlags struct {
	history.Options
	format, output, key     string
	alerts                  bool
	versions, mutes, inject string
	confirm                 string
	replaced                []string
}

func historyCommand(a *app) *cobra.Command {
	var o historyFlags
	c := &cobra.Command{
		Use:   "history DIR|NAME.toml|FILE...",
		Short: "Find when keys became faster or slower over versions",
		Args:  arguments(1, 100000, "experiments or files of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return usageError(err)
			}
			return a.history(args, o)
		},
	}
	f := c.Flags()
	formatFlag(f, &o.format, "text", "markdown", "html", "csv", "json", "svg", "pdf", "png", formatValues)
	outputFlag(f, &o.output, "write to this file instead of standard output")
	a.keyFlag(c, &o.key)
	f.StringVar(&o.versions, "versions", "",
		"file with a version per line, the oldest first; - is standard input")
	f.BoolVar(&o.alerts, "alerts", false, "list the changes of keys only, without the events")
	f.StringVar(&o.inject, "inject", "",
		"instead, say how often a slowdown of this size, in percent (1%), would have been found")
	f.StringVar(&o.confirm, "confirm", "",
		"template of experiments that measure events again, which are written beside it, and read")
	f.StringArrayVar(&o.replaced, "replaced", nil,
		"OLD=NEW: machine that was replaced, and the one that replaced it; repeatable")
	f.StringVar(&o.mutes, "mutes", "", "TOML file of alerts that are known")
	f.Float64Var(&o.Rate, "rate", history.DefaultRate, "false alerts per version, at most, over all keys")
	f.Float64Var(&o.Confidence, "confidence", history.DefaultConfidence, "of intervals and of culprits")
	return c
}

// check completes the options, and reports mistakes in the flags.
func (o *historyFlags) check() error {
	switch {
	case !(o.Rate > 0 && o.Rate <= 1):
		return fmt.Errorf("--rate must be above 0 and at most 1, such as 0.01, not %v", o.Rate)
	case !(o.Confidence >= 0.5 && o.Confidence < 1):
		return fmt.Errorf("--confidence must be between 0.5 and 1, such as 0.95, not %v", o.Confidence)
	case o.format == "text" && exchange.HasEnding(o.output, ".html", ".json", ".csv", ".svg", ".pdf", ".png"):
		return fmt.Errorf("-o %s would have text; add --format %s", o.output,
			strings.ToLower(filepath.Ext(o.output)[1:]))
	case o.inject != "" && !slices.Contains([]string{"text", "markdown", "html", "json"}, o.format):
		return fmt.Errorf("--inject writes text, markdown, html or json, not %s", o.format)
	}
	return nil
}

// formatValues is the format of what a history is made from: history.Values as JSON.
const formatValues = "values"

func (a *app) history(args []string, o historyFlags) error {
	var err error
	if o.Mutes, err = report.ReadMutes(a.fsys, o.mutes); err != nil {
		return err
	}
	order, err := a.versionOrder(o.versions)
	if err != nil {
		return err
	}
	size := 0.0
	if o.inject != "" {
		if size, err = share("inject", o.inject); err != nil {
			return usageError(err)
		}
	}
	collector, unit, err := a.collect(args, order, o.key)
	if err != nil {
		return err
	}
	if o.format == formatValues || len(o.replaced) > 0 {
		collector.NameMachines()
	}
	versions, keys, unknown := collector.Collected()
	for _, label := range unknown {
		a.talk("krunctl: left out version %s, which is not in %s", label, o.versions)
	}
	if len(keys) == 0 && len(unknown) > 0 {
		return fmt.Errorf("none of the versions is in %s", o.versions)
	}
	values := history.Values{Unit: unit, Versions: versions, Keys: keys}
	recorded := func(machine string, version int) map[string]string {
		s := collector.Source(version, machine)
		return experiment.Recorded(a.fsys, s.Dir, s.Machine)
	}
	if o.format == formatValues {
		return a.toOutput(o.output, func(w io.Writer) error { return json.NewEncoder(w).Encode(values) })
	}
	for _, machines := range o.replaced {
		old, since, _ := strings.Cut(machines, "=")
		keys, seam, err := history.Replace(values, old, since, recorded)
		if err != nil {
			return usageError(fmt.Errorf("--replaced %s: %w; write OLD=NEW", machines, err))
		}
		values.Keys, o.Replaced = keys, append(o.Replaced, seam)
	}
	width := a.console().Width()
	if o.output != "" {
		width = 0
	}
	return a.toOutput(o.output, func(w io.Writer) error {
		if o.inject != "" {
			return report.WriteInjected(w, history.Inject(values.Versions, values.Keys, size, o.Options),
				o.format)
		}
		h := history.Of(values.Versions, values.Keys, o.Options)
		h.Explain(recorded)
		if o.confirm != "" {
			if err := a.measureAgain(h, o.confirm, values.Unit); err != nil {
				return err
			}
		}
		return report.WriteHistory(w, h, report.HistoryView{Format: o.format, Unit: values.Unit, Width: width,
			Alerts: o.alerts, Keys: o.key != ""})
	})
}

// measureAgain reads the experiments that measured events of a history again, and writes those that
// are missing, beside their template.
func (a *app) measureAgain(h *history.History, template, unit string) error {
	text, err := a.readInput(template, 1<<20)
	if err != nil {
		return fmt.Errorf("read --confirm: %w", err)
	}
	type missing struct {
		file, before, after string
		machines            []string
		seconds             map[string]float64 // of an iteration, by key
	}
	var list []missing // a change of the program is an event on each machine
	r := a.reader(runtime.NumCPU())
	r.NoPerformance = true
	for i := range h.Events {
		e := &h.Events[i]
		before, after, ok := h.Asks(e)
		if !ok {
			continue
		}
		file := filepath.Join(filepath.Dir(template), "confirm-"+fileName(before, after)+".toml")
		dir, ended, err := bisection.Measured(a.fsys, file)
		if err != nil {
			return err
		}
		if ended {
			in, doc, err := r.Analyzed(dir, "", nil)
			if err != nil {
				return err
			}
			result, err := bisection.CompareAgain(in, doc)
			if err != nil {
				return fmt.Errorf("%s: %w", dir, err)
			}
			e.Confirm(dir, result)
			continue
		}
		e.Evidence += "; to be measured again: " + file
		at := slices.IndexFunc(list, func(m missing) bool { return m.file == file })
		if at < 0 {
			at = len(list)
			list = append(list, missing{file: file, before: before, after: after,
				seconds: map[string]float64{}})
		}
		list[at].machines = append(list[at].machines, cmp.Or(e.Machine, "the machine of the event"))
		for _, k := range e.Keys {
			list[at].seconds[k.Name] = h.Keys[k.Key].Changes[k.Change].After
		}
	}
	for _, m := range list {
		if _, err := a.fsys.Lstat(m.file); err == nil {
			continue
		}
		made, cfg, err := bisection.Confirmation(m.file, string(text), m.before, m.after,
			slices.Sorted(maps.Keys(m.seconds)), a.host)
		if err != nil {
			return usageError(fmt.Errorf("--confirm %s: %w", template, err))
		}
		if err := durable.WriteFile(a.fsys, m.file, []byte(made), 0o644); err != nil {
			return err
		}
		executions, least := 0, 0.0
		for _, k := range cfg.Keys() {
			n, own := cfg.Executions(k), k
			own.Arm = ""
			executions += n
			least += float64(n*cfg.Iterations(k)) * m.seconds[own.String()]
		}
		how := fmt.Sprintf("%s on %s", display.Count(executions, "execution"), strings.Join(m.machines, ", "))
		if unit == dataset.Seconds {
			how += fmt.Sprintf(", whose iterations take %s", display.Duration(time.Duration(least*1e9)))
		}
		a.talk("krunctl: wrote %s: %s; measure it (krunctl run, enable or hub submit), then repeat this",
			display.ShellPath(m.file), how)
	}
	return nil
}

// fileName returns a part of a file's name for two revisions. Others have another one.
func fileName(before, after string) string {
	const most, digits = 12, 4
	plain := func(revision string) string {
		name := strings.Map(func(r rune) rune {
			if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_') {
				return r
			}
			return '_'
		}, revision)
		return name[:min(len(name), most)]
	}
	name := plain(before) + "-" + plain(after)
	if name == before+"-"+after {
		return name
	}
	sum := sha256.Sum256([]byte(before + "\n" + after))
	return name + "-" + hex.EncodeToString(sum[:digits])
}

// collect reads the executions of all arguments. unit is that of the values.
func (a *app) collect(args, order []string, key string) (c *history.Collector, unit string, err error) {
	pattern, err := experiment.ParsePattern(key)
	if err != nil {
		return nil, "", err
	}
	r := a.reader(runtime.NumCPU())
	r.NoPerformance = true // executions are compared, not bootstrapped
	rules := r.Rules(args...)
	stems := slices.Clone(args)
	paths := map[string]string{} // of files of results, by their names
	twice := ""
	for i, arg := range args {
		if !r.IsExperiment(arg) {
			stems[i] = exchange.Stem(arg)
			if before, ok := paths[filepath.Base(arg)]; ok {
				twice = before + " and " + arg
			}
			paths[filepath.Base(arg)] = arg
		}
	}
	if twice != "" && len(paths) > 1 { // directories of dates have one name
		return nil, "", usageError(fmt.Errorf("%s have one name, and name no machine: rename one, or, if "+
			"two machines measured them, make one table with a column machine (docs/history.md)", twice))
	}
	names := history.Names(stems)
	c = history.NewCollector(order)
	for i, arg := range args {
		var in experiment.Input
		var doc *warmup.Document
		v, ready, err := a.values(arg, !r.IsExperiment(arg))
		switch {
		case err != nil:
		case ready:
			if v.Keys, err = experiment.Only(v.Keys, history.Key.Parsed, pattern); err == nil {
				err = c.AddSeries(v)
			}
		default:
			if in, doc, err = r.Analyzed(arg, key, rules); err == nil {
				v.Unit = doc.Unit
				c.Add(history.Measured{Data: in.Data, Doc: doc}, names[i])
			}
		}
		switch {
		case ready && err != nil:
			return nil, "", fmt.Errorf("%s: %w", arg, err)
		case err != nil:
			return nil, "", err
		case i > 0 && v.Unit != unit:
			return nil, "", fmt.Errorf("%s: its values %s, those of %s %s; analyze all by the same "+
				"column", arg, inUnit(v.Unit), args[0], inUnit(unit))
		}
		unit = v.Unit
	}
	return c, unit, nil
}

func inUnit(unit string) string {
	if unit == "" {
		return "have no unit"
	}
	return "are in " + unit
}

// values reads a file of values, or a table of nights; ready reports whether it is one.
func (a *app) values(file string, may bool) (v history.Values, ready bool, err error) {
	if !may || !exchange.HasEnding(file, ".json", ".csv") {
		return v, false, nil
	}
	text, err := durable.ReadFile(a.fsys, file)
	if err != nil {
		return v, false, err
	}
	if v, ready, err = exchange.ReadHistory(text); err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return v, ready, err
}

// readInput reads a file of at most so many bytes; "-" is standard input.
func (a *app) readInput(file string, most int64) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(a.stdin, most))
	}
	return durable.ReadSmallFile(a.fsys, file, most)
}

// versionOrder reads the file of --versions: the first word of each line.
func (a *app) versionOrder(file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	const most = 64 << 20
	text, err := a.readInput(file, most)
	if err != nil {
		return nil, fmt.Errorf("read --versions: %w", err)
	}
	var order []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 {
			order = append(order, words[0])
		}
	}
	if len(order) == 0 {
		return nil, usageError(errors.New("--versions: there is no version; write one per line"))
	}
	return order, nil
}
