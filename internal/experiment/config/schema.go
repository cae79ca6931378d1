package config

import (
	"fmt"
	"math"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"krund/internal/experiment/key"
)

// Ranges. They keep sums and products within an int and a schedule within a manageable file size.
// No realistic experiment reaches them.
const (
	MaxIterations = 1 << 24 // KRUN_MAX_ITERATIONS: capacity of the measurement buffer
	maxExecutions = 1_000_000
	maxSlots      = 10_000_000
	MaxAttempts   = 100
	maxReboots    = math.MaxInt32
	maxMails      = 9999
	maxOutput     = 64 << 20 // the daemon keeps it in memory
	maxLimit      = math.MaxInt64

	// Bounds of limits.processes: enough for a runner with a helper or two, and the maximum of
	// Linux (PID_MAX_LIMIT).
	minProcesses = 16
	maxProcesses = 1 << 22
)

// config reads every section. Invalid values are reported and replaced by their defaults.
func (r *reader) config(root *node) *Config {
	c := &Config{lines: r.lines, doubtful: r.doubtful, unitless: r.unitless}
	s := r.section("", root)
	c.Experiment = table(s, "experiment", (*section).experiment)
	c.Boot = table(s, "boot", (*section).boot)
	c.Limits = table(s, "limits", (*section).limits)
	c.Wait = table(s, "wait", (*section).wait)
	c.Temperature = table(s, "temperature", (*section).temperature)
	c.defaultWaits()
	c.VMs = r.vms(s.get("vms", ""), c.Experiment.Iterations)
	c.Variants = r.variants(s.get("variants", ""))
	c.Variants = append(c.Variants, r.suites(s.get("suites", ""))...)
	c.Benchmarks = withSuites(r.benchmarks(s.get("benchmarks", ""), c.Variants), c.Variants)
	c.Arms = r.arms(s)
	c.Hooks = table(s, "hooks", (*section).hooks)
	c.Notify = table(s, "notify", (*section).notify)
	c.KernelLog = table(s, "kernel_log", (*section).kernelLog)
	c.Controls = table(s, "controls", (*section).controls)
	c.Counters = table(s, "counters", (*section).counters)
	c.Verdict = table(s, "verdict", (*section).verdict)
	c.Stop = table(s, "stop", (*section).stop)
	s.known = append(s.known, machinesSection)
	s.done()
	return c
}

func (s *section) experiment() Experiment {
	e := Experiment{
		Name:        s.filled("name", ""),
		Description: s.paragraph("description"),
		Iterations:  s.count("iterations", 2000, 1, MaxIterations),
		Executions:  s.count("executions", 30, 1, maxExecutions),
		Shard:       s.shard(),
		Order: s.choice("order", OrderRoundRobin, OrderRoundRobin, OrderInterleaved,
			OrderBlocked),
		Seed:          uint64(s.whole("seed", 1, 0, math.MaxInt64)),
		Reboot:        s.choice("reboot", RebootHardware, RebootModes()...),
		HardwareEvery: s.count("hardware_every", 0, 0, maxSlots),
		Attempts:      s.count("attempts", 3, 1, MaxAttempts),
		GiveUp:        s.count("give_up", 3, 0, maxExecutions),
		MaxReboots:    s.count("max_reboots", 0, 0, maxReboots),
		Benchmarks:    s.filled("benchmarks", "benchmarks"),
		Account:       s.choice("account", AccountFresh, AccountFresh, AccountCaller),
		Environment:   s.choice("environment", EnvironmentClean, EnvironmentClean, EnvironmentCaller),
		Layout:        s.choice("layout", LayoutOff, LayoutOff, LayoutFixed, LayoutRandom),
		Skip:          s.patterns("skip"),

		NegativeControls: s.patterns("negative_controls"),
	}
	if e.Name != "" {
		s.checkName(s.lines["experiment.name"], "experiment.name", e.Name)
	}
	if e.Relink = s.optional("relink"); len(e.Relink) > 0 && e.Layout == LayoutOff {
		s.add(s.node.child("relink").line, `experiment.relink needs a layout, from which it gets its seed`,
			`write layout = "random"`)
	}
	return e
}

func (s *section) boot() Boot {
	b := Boot{
		Entry:  s.text("entry", ""),
		Loader: s.choice("loader", LoaderAuto, LoaderAuto, LoaderGRUB, LoaderSystemdBoot),
	}
	if b.Entry != "" && (!entryName.MatchString(b.Entry) || number.MatchString(b.Entry)) {
		s.bad(s.node.child("entry"), "entry",
			`write the entry's id in the boot loader's menu, such as "krund"; titles and numbers are not ids`)
	}
	return b
}

// The names that a boot loader entry may have. GRUB interprets a number as a position in its menu
// and ">" as a submenu separator.
var (
	entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)
	number    = regexp.MustCompile(`^[0-9]+$`)
)

// mostShards bounds the number of machines of an experiment.
const mostShards = 1000

// shardText is a part of an experiment, such as 2/3.
var shardText = regexp.MustCompile(`^([1-9][0-9]{0,3})/([1-9][0-9]{0,3})$`)

// shard reads which part of the experiment this machine runs.
func (s *section) shard() Shard {
	text := s.text("shard", "")
	if text == "" {
		return Shard{}
	}
	m := shardText.FindStringSubmatch(text)
	if m != nil {
		index, _ := strconv.Atoi(m[1])
		count, _ := strconv.Atoi(m[2])
		if index <= count && count <= mostShards {
			return Shard{index, count}
		}
	}
	s.bad(s.node.child("shard"), "shard", fmt.Sprintf(
		`write the part and the number of parts, such as "1/3"; there are at most %d`, mostShards))
	return Shard{}
}

// patterns reads a list of patterns of keys.
func (s *section) patterns(name string) []key.Pattern {
	var patterns []key.Pattern
	list, _ := s.items(name, nil)
	for _, it := range list {
		p, err := key.ParsePattern(it.text)
		if err != nil {
			what, _, _ := strings.Cut(err.Error(), "; ")
			s.doubtful[s.path+"."+name] = true
			s.add(it.line, s.path+"."+name+": "+what,
				`write "benchmark:vm:variant" or "benchmark:vm:variant@arm", with a lone * for any`)
			continue
		}
		patterns = append(patterns, p)
		s.lines[patternPath(s.path+"."+name, p)] = it.line
	}
	return patterns
}

// patternPath returns the path under which the line of a pattern in a list is stored.
func patternPath(list string, p key.Pattern) string { return list + " " + p.String() }

// paragraph reads a string that may span several lines.
func (s *section) paragraph(name string) string {
	n := s.get(name, `""`)
	if n == nil {
		return ""
	}
	v, ok := n.value.(string)
	if !ok {
		s.bad(n, name, `write a string, such as "text"`)
	}
	return v
}

// filled reads a text that must not be empty.
func (s *section) filled(name, normal string) string {
	v := s.text(name, normal)
	if n := s.node.child(name); n != nil && n.value == "" {
		s.bad(n, name, "write a text that is not empty, or remove the key")
	}
	return v
}

func (s *section) limits() Limits {
	return Limits{
		Heap:    s.size("heap", "2GiB", maxLimit, true),
		Stack:   s.size("stack", "8MiB", maxLimit, true),
		Timeout: s.duration("timeout", "0s", 0, true),
		Output:  s.size("output", "1MiB", maxOutput, false),

		Processes: s.some("processes", 4096, minProcesses, maxProcesses),

		Home: s.size("home", "0", maxLimit, true),
	}
}

func (s *section) wait() Wait {
	return Wait{
		Startup: s.duration("startup", startupWait, 0, false),
		Settle:  s.duration("settle", settleWait, 0, false),
		Sync:    s.duration("sync", syncWait, 0, false),
	}
}

// defaultWaits sets the waits that the file does not set. Without reboots nothing has to settle, so
// they are 0; with wait.settle, startup is a limit and not a wait. A startup that is shorter than
// the usual settle is a wait of that length.
func (c *Config) defaultWaits() {
	_, startup := c.lines["wait.startup"]
	if _, written := c.lines["wait.settle"]; !written {
		usual := mustDuration(settleWait)
		if c.Wait.Settle = 0; Restarts(c.Experiment.Reboot) && (!startup || c.Wait.Startup >= usual) {
			c.Wait.Settle = usual
		}
	}
	for _, w := range []struct {
		key, normal string
		value       *time.Duration
		limit       bool
	}{
		{"wait.startup", startupWait, &c.Wait.Startup, c.Wait.Settle > 0},
		{"wait.sync", syncWait, &c.Wait.Sync, false},
		{"temperature.base_wait", baseWait, &c.Temperature.BaseWait, false},
	} {
		if _, written := c.lines[w.key]; written {
			continue
		}
		if *w.value = 0; Restarts(c.Experiment.Reboot) || w.limit {
			*w.value = mustDuration(w.normal)
		}
	}
}

// Defaults of the waits with reboots, but for settle those of the study.
const (
	settleWait  = "10s"
	startupWait = "3m"
	syncWait    = "30s"
	baseWait    = "1m"
)

func (s *section) temperature() TemperatureGate {
	return TemperatureGate{
		BaseWait: s.duration("base_wait", baseWait, 0, false),
		Tolerance: s.number("tolerance", 3, func(v float64) bool { return v > 0 && v <= 100 },
			"degrees Celsius above 0, at most 100"),
		Timeout: s.duration("timeout", "1h", 0, false),
		Sensors: s.texts("sensors", nil, checkGlob),
	}
}

func checkGlob(glob string) (what, fix string) {
	if _, err := path.Match(glob, ""); err != nil {
		return fmt.Sprintf("%q is not a glob pattern", glob), `close its [ ] and write no lone \`
	}
	return "", ""
}

func (s *section) hooks() Hooks {
	return Hooks{
		Before:  s.commands("before"),
		After:   s.commands("after"),
		Timeout: s.duration("timeout", "1m", 1, false),

		AfterFailure: s.choice("after_failure", HookReport, HookReport, HookStop),
	}
}

// commands reads a list of commands, each a list of arguments. An invalid command is replaced by an
// empty one.
func (s *section) commands(name string) [][]string {
	n := s.get(name, "[]")
	if n == nil {
		return nil
	}
	if n.list == nil {
		s.bad(n, name, `write a list of commands, such as [["program", "argument"]]`)
		return nil
	}
	var list [][]string
	for i, item := range n.list {
		at := fmt.Sprintf("%s[%d]", name, i)
		if text, ok := item.value.(string); ok {
			s.bad(item, at, "write the command as a list, such as "+quoteList(
				strings.Fields(text))+"; no shell reads it")
			list = append(list, nil)
			continue
		}
		s.lines[join(s.path, at)] = item.line
		list = append(list, s.command(item, at))
	}
	return list
}

// command reads one command, which must name a program. It returns nil after a mistake.
func (s *section) command(n *node, name string) []string {
	argv, ok := s.arguments(n, name)
	if !ok {
		return nil
	}
	if len(argv) == 0 || argv[0] == "" {
		s.add(n.line, join(s.path, name)+" names no program",
			`write a list of strings, such as ["program", "argument"]`)
		return nil
	}
	return argv
}

// optional reads one command; an empty list means none.
func (s *section) optional(name string) []string {
	n := s.get(name, "[]")
	if n == nil || n.list != nil && len(n.list) == 0 {
		return nil
	}
	return s.command(n, name)
}

func (s *section) notify() Notify {
	notify := Notify{
		Mail:     s.texts("mail", nil, checkAddress),
		MaxMails: s.count("max_mails", 5, 0, maxMails),
		Sendmail: s.filled("sendmail", "/usr/sbin/sendmail"),
		Command:  s.optional("command"),
		Webhook:  s.text("webhook", ""),
	}
	if u, err := url.Parse(notify.Webhook); notify.Webhook != "" && (err != nil || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https") {
		s.bad(s.node.child("webhook"), "webhook", `write an address that begins with "https://" or "http://"`)
	}
	return notify
}

// checkAddress rejects what sendmail, which gets the address as an argument and in a header, would
// interpret as something else.
func checkAddress(address string) (what, fix string) {
	if address == "" || strings.HasPrefix(address, "-") || strings.ContainsAny(address, " ,;<>\"") {
		return fmt.Sprintf("%q is not an address", address),
			`write only the address, such as "name@example.org"`
	}
	return "", ""
}

func (s *section) kernelLog() KernelLog {
	var k KernelLog
	list, _ := s.items("allow", nil)
	for _, it := range list {
		expr, err := regexp.Compile(it.text)
		if err != nil {
			s.add(it.line, fmt.Sprintf("kernel_log.allow: %s is not a regular expression: %v",
				quoteShort(it.text), err), "correct it; the syntax is RE2's, as in egrep")
			continue
		}
		k.Allow = append(k.Allow, expr)
	}
	return k
}

func (s *section) counters() Counters {
	c := Counters{
		Sources: s.names("sources", []string{SourcePerf, SourceMSR, SourceNone}, "source", SourcePerf,
			SourceRDPMC, SourceMSR, SourceNone),
		Scope: s.choice("scope", ScopePerCore, ScopePerCore, ScopeTask, ScopeExecution),
		Kernel: s.names("kernel", []string{KernelUsage, KernelInterrupts}, "kernel reading", KernelUsage,
			KernelInterrupts, KernelSwitches),
	}
	if n := s.node.child("sources"); n != nil && n.list != nil && len(n.list) == 0 {
		s.add(n.line, "counters.sources is empty", `write ["none"] for no counters`)
	}
	return c
}

func (s *section) verdict() Verdict {
	return Verdict{
		RatioTolerance: s.number("ratio_tolerance", 0.03, func(v float64) bool { return v > 0 && v < 1 },
			"a number above 0 and below 1, such as 0.03"),
		BusyThreshold: s.number("busy_threshold", 0, func(v float64) bool { return v >= 0 },
			"counts per second, or 0 to derive it"),
		Policy: s.choice("policy", VerdictAccept, VerdictAccept, VerdictRerun, VerdictFail),
	}
}
