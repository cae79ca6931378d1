package experiment

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
)

// Format is dataset.Info.Format of krund's own records.
const Format = "krund"

// ReadResults converts the records in a results directory to a dataset. keep is that of Execution.
// Executions are ordered by key as they first occur in the schedule, and within a key by number and
// attempt. Attempts that were rerun are kept with that outcome; if a slot has several completed
// attempts the first counts, and the others are marked as rerun. Those of other programs than the
// latest of their key are marked, too.
//
// A record that cannot be read does not stop the reading: it is reported in Problems and in
// LeftOut. The error is that of the directory.
func ReadResults(fsys durable.FS, dir string, keep func(column string) bool) (*dataset.Dataset, error) {
	return readResults(fsys, dir, keep, &identity.Latest{}, func(*results.Record) {})
}

// readResults calls visit with each record that can be used.
func readResults(fsys durable.FS, dir string, keep func(column string) bool, latest *identity.Latest,
	visit func(*results.Record)) (*dataset.Dataset, error) {
	reader := results.NewReader(fsys, dir)
	list, err := reader.List()
	if err != nil {
		return nil, fmt.Errorf("read krund results: %w", err)
	}
	d := &dataset.Dataset{Info: dataset.Info{Format: Format}}
	pairs := map[key.Key]int{}
	counts := map[int]int{} // by slot: the attempt that counts
	leaveOut := func(err error) {
		d.Problems, d.LeftOut = append(d.Problems, err.Error()), append(d.LeftOut, err.Error())
	}
	layouts := map[string]bool{}
	configs := map[results.Name]string{}
	editions := map[string]int{} // the first with each configuration
	for r := range reader.Usable(list.Records, leaveOut) {
		config := r.ConfigHash
		visit(&r)
		layouts[layoutOf(&r)] = true
		e := Execution(&r, keep)
		if e.Outcome == results.Completed {
			if attempt, ok := counts[r.Slot]; ok {
				e.Outcome = results.Rerun
				e.Reasons = append(e.Reasons,
					fmt.Sprintf("attempt %d of this slot was completed before", attempt))
			} else {
				counts[r.Slot] = r.Attempt
				latest.Add(&r)
			}
		}
		i, ok := pairs[r.Key]
		if !ok {
			i = len(d.Pairs)
			pairs[r.Key] = i
			d.Pairs = append(d.Pairs, dataset.Pair{Key: r.Key})
			if err := d.CheckKeys(); err != nil {
				return nil, fmt.Errorf("%s: %w", dir, err)
			}
		}
		name := results.Name{Slot: r.Slot, Attempt: r.Attempt}
		e.Record = filepath.Join(dir, name.String())
		configs[name] = config
		if first, known := editions[config]; !known || r.Edition < first {
			editions[config] = r.Edition
		}
		d.Pairs[i].Executions = append(d.Pairs[i].Executions, e)
		noteSource(d, r.Host, r.Experiment)
	}
	if len(layouts) == 1 {
		for d.Layout = range layouts {
		}
	}
	var others map[results.Name]bool
	others, d.Programs = latest.Others()
	for i := range d.Pairs {
		for k := range d.Pairs[i].Executions {
			e := &d.Pairs[i].Executions[k]
			name, _ := results.ParseName(filepath.Base(e.Record))
			e.Stage = stageOf(configs[name], editions)
			if others[name] {
				e.Outcome = dataset.OtherPrograms
				e.Reasons = append(e.Reasons,
					"measured with other programs than the latest execution of its key")
			}
		}
		slices.SortStableFunc(d.Pairs[i].Executions,
			func(a, b dataset.Execution) int { return a.Number - b.Number })
	}
	return d, nil
}

// stageOf returns how many of an experiment's configurations are earlier than that with the hash.
// An experiment gets another one only when it grows.
func stageOf(hash string, editions map[string]int) (stage int) {
	for _, edition := range editions {
		if edition < editions[hash] {
			stage++
		}
	}
	return stage
}

// layoutOf returns how the addresses of the process were chosen; "" if that is not recorded. If
// krund did not choose them, it follows from the control "aslr", whose value is the kernel's
// randomize_va_space.
func layoutOf(r *results.Record) string {
	if r.Layout != nil {
		return r.Layout.Mode
	}
	for _, c := range r.Machine.Controls {
		value := c.Found
		if status := setting.Status(c.Status); status == setting.StatusSet || status == setting.StatusOK {
			value = c.Wanted
		}
		switch {
		case c.Name != "aslr":
		case value == "0":
			return dataset.LayoutFixed
		case value == "1" || value == "2":
			return dataset.LayoutKernel
		}
	}
	return ""
}

// addArms stores the arms of the experiment in e and its negative controls, if its configuration
// can be read. Which arms are alike follows from the hashes in the first record. The first result
// of a command is its first run: before it, the process runs the commands of setup and prepare.
func addArms(d *dataset.Dataset, e Experiment) {
	cfg, err := e.Config(d.Machine)
	if err != nil {
		return
	}
	for _, k := range cfg.Keys() {
		matches := func(p key.Pattern) bool { return p.Match(k) }
		if slices.ContainsFunc(cfg.Experiment.NegativeControls, matches) {
			d.NegativeControls = append(d.NegativeControls, k.String())
		}
	}
	for _, vm := range cfg.VMs {
		for i := range d.Pairs {
			if p := &d.Pairs[i]; vm.Runner == config.RunnerCommand && p.Key.VM == vm.Name {
				for j := range p.Executions {
					p.Executions[j].FirstResult, p.Executions[j].Loop = 0, nil
				}
			}
		}
	}
	d.Planned = cfg.Keys()
	d.Rounds = cfg.Experiment.Order != config.OrderRoundRobin
	addPlaces(d, len(cfg.Arms) > 0)
	if len(cfg.Arms) == 0 {
		return
	}
	d.Blocked = cfg.Experiment.Order == config.OrderBlocked
	for _, arm := range cfg.Arms {
		d.Arms = append(d.Arms, dataset.Arm{Name: arm.Name, Null: arm.Null, Inject: arm.Inject,
			Anchor: arm.Anchor, Revision: arm.Revision})
	}
	sortArms(d)
	arm := func(name string) *dataset.Arm {
		return &d.Arms[slices.IndexFunc(d.Arms, func(a dataset.Arm) bool { return a.Name == name })]
	}
	hashes := fingerprint(e.Reader())
	for _, pair := range identity.Costs(cfg, hashes) {
		arm(pair[1]).CostOf = append(arm(pair[1]).CostOf, pair[0])
	}
	for _, twins := range identity.Alike(cfg, hashes) {
		d.Problems = append(d.Problems, twins.String())
		arm(twins.Second).Twins = append(arm(twins.Second).Twins, twins.First)
	}
}

// addPlaces stores the place of each execution within its block, if the order in blocks was drawn.
func addPlaces(d *dataset.Dataset, arms bool) {
	if !d.Rounds {
		return
	}
	type block struct {
		of     key.Key // whose arms it has; the zero key: all keys
		number int     // dataset.Execution.Block
	}
	turns := map[block][]int{}
	each := func(visit func(block, *dataset.Execution)) {
		for i := range d.Pairs {
			p := &d.Pairs[i]
			b := block{}
			if arms {
				b.of = p.Key
				b.of.Arm = ""
			}
			for k := range p.Executions {
				b.number = p.Executions[k].Block()
				visit(b, &p.Executions[k])
			}
		}
	}
	each(func(b block, e *dataset.Execution) { turns[b] = append(turns[b], e.Turn) })
	for b, list := range turns {
		slices.Sort(list)
		turns[b] = slices.Compact(list) // attempts of a slot have one place
	}
	each(func(b block, e *dataset.Execution) {
		place, _ := slices.BinarySearch(turns[b], e.Turn)
		e.Place = place + 1
	})
}

// addStopped stores which keys were finished early.
func addStopped(d *dataset.Dataset, e Experiment) {
	decided, err := stop.Load(e.FS(), e.Decisions())
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
	}
	for _, g := range decided.Groups {
		d.Stopped = append(d.Stopped, dataset.Stopped{Keys: g.Keys, Executions: g.Executions,
			Reason: g.Reason})
	}
}

// sortArms puts the arms of a key next to each other, in the order of the configuration. Keys keep
// the order in which they first occur.
func sortArms(d *dataset.Dataset) {
	type place struct{ group, arm int }
	places, groups := map[key.Key]place{}, map[key.Key]int{}
	for _, p := range d.Pairs {
		group := p.Key
		group.Arm = ""
		if _, seen := groups[group]; !seen {
			groups[group] = len(groups)
		}
		arm := slices.IndexFunc(d.Arms, func(a dataset.Arm) bool { return a.Name == p.Key.Arm })
		places[p.Key] = place{groups[group], arm}
	}
	slices.SortStableFunc(d.Pairs, func(a, b dataset.Pair) int {
		p, q := places[a.Key], places[b.Key]
		return cmp.Or(p.group-q.group, p.arm-q.arm)
	})
}

// fingerprint returns that of the first record that can be read; nil if there is none.
func fingerprint(reader *results.Reader) map[string]string {
	list, err := reader.List()
	if err != nil {
		return nil
	}
	for r := range reader.Usable(list.Records, func(error) {}) {
		return r.Machine.Fingerprint
	}
	return nil
}

// Execution returns the series of a record: the wall times and the columns for which keep returns
// true. A nil keep keeps all columns, and the start stamps and events, which take much memory. The
// values are shared with the record.
func Execution(r *results.Record, keep func(string) bool) dataset.Execution {
	e := dataset.Execution{Number: r.Pexec, Outcome: r.Outcome, Reasons: r.Reasons, Restart: r.Reboot,
		Turn: r.Slot + 1, FirstResult: firstResult(r), Instrument: r.Instrument, EventsLost: r.EventsLost,
		Stopped: r.Stopped(), Loop: dataset.LoopOf(r.StartNS, r.WallNS, perCore(r))}
	if began := r.Startup.ExecNS; e.Loop != nil && began != nil {
		life := dataset.Life{Began: *began, Ready: *began, Lifetime: r.Process.WallNS,
			Processor:  max(r.Process.UTimeNS+r.Process.STimeNS, r.Process.GroupNS),
			Processors: len(r.Process.Affinity)}
		if ready := r.Startup.InitNS; ready != nil {
			life.Ready = min(max(*ready, *began), r.StartNS[0])
		}
		e.Loop.Within(r.StartNS, r.WallNS, life)
	}
	if keep == nil {
		e.Starts, e.Events = r.StartNS, r.Events
	}
	if r.WallNS != nil {
		e.Columns = append(e.Columns, dataset.Column{
			Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: r.WallNS,
		})
	}
	for _, c := range r.Columns {
		e.Suite = e.Suite || c.Kind == results.KindUser && c.Name == "suite_time"
		if c.Kind == results.KindUser && c.Name == "input" {
			e.Inputs = c.Values
		}
		if c.Kind == results.KindUser && c.Name == "checksum" {
			e.Results = c.Values
		}
		if keep != nil && !keep(c.Name) {
			continue
		}
		column := dataset.Column{Name: c.Name, Unit: c.Unit, Core: dataset.NoCore}
		if c.Core != nil {
			column.Core = *c.Core
		}
		if c.Kind == results.KindCounter {
			column.Counts = c.Counts
		} else {
			column.Ints = c.Values
		}
		e.Columns = append(e.Columns, column)
	}
	return e
}

// perCore is the number of columns that count on one processor.
func perCore(r *results.Record) (n int) {
	for _, c := range r.Columns {
		if c.Core != nil {
			n++
		}
	}
	return n
}

// firstResult returns dataset.Execution.FirstResult of a record.
func firstResult(r *results.Record) float64 {
	if r.Startup.ExecNS == nil || len(r.StartNS) == 0 || len(r.WallNS) == 0 {
		return 0
	}
	const second = 1e9
	return float64(max(0, r.StartNS[0]+r.WallNS[0]-*r.Startup.ExecNS)) / second
}

// noteSource stores the names of machine and experiment, and reports records that come from
// several.
func noteSource(d *dataset.Dataset, machine, experiment string) {
	note := func(what string, name *string, now string) {
		if *name == "" {
			*name = now
		}
		if *name != now {
			problem := fmt.Sprintf("records of several %ss lie in one directory: %s and %s", what, *name,
				now)
			if !slices.Contains(d.Problems, problem) {
				d.Problems = append(d.Problems, problem)
			}
		}
	}
	note("machine", &d.Machine, machine)
	note("experiment", &d.Experiment, experiment)
}

// addOutstanding reports the executions that are planned and have no result yet, with the keys that
// they are of: a key without any result, as after a rerun, is not in the data at all. A schedule
// that cannot be read is reported by commands that need it.
func addOutstanding(d *dataset.Dataset, e Experiment) {
	s, err := e.OpenSchedule()
	if err != nil {
		return
	}
	defer s.Close() //nolint:errcheck // it was only read
	sum, err := s.Summarize()
	left := sum.Outstanding + sum.Running
	if err != nil || left == 0 {
		return
	}
	const most = 3
	var keys []string
	more := 0
	for _, k := range sum.Keys {
		n := k.Outstanding + k.Running
		switch {
		case n == 0:
		case len(keys) == most:
			more++
		default:
			keys = append(keys, fmt.Sprintf("%d of %s", n, k.Key))
		}
	}
	list := strings.Join(keys, ", ")
	if more > 0 {
		list += " and others of " + display.Count(more, "key")
	}
	d.Problems = append(d.Problems, fmt.Sprintf("the experiment is unfinished: %d of %d executions are "+
		"outstanding (%s); `krund run` continues it", left, sum.Total(), list))
}
