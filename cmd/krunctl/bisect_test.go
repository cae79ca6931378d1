package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

const stepText = `[experiment]
executions = 5
iterations = 40
order = "blocked"
reboot = "none"
account = "caller"
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 10 }
[arms.good]
revision = "@GOOD@"
benchmarks = "@GOOD_BUILD@"
[arms.candidate]
revision = "@CANDIDATE@"
benchmarks = "@CANDIDATE_BUILD@"
`

// measure runs a step as krund would: revisions from r11 on are 4 % slower.
func measure(t *testing.T, r *rand.Rand, file string) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	b := newExperimentAt(t, file, string(text))
	for range b.cfg.Slots() {
		slot, err := b.sched.Begin()
		b.must(err)
		rec := b.record(slot, results.Completed)
		arm := b.cfg.Arms[0]
		for _, other := range b.cfg.Arms[1:] {
			if slot.Key.Arm == other.Name && !other.Null {
				arm = other
			}
		}
		content, err := os.ReadFile(filepath.Join(arm.Benchmarks, "revision"))
		must.Need(t, err == nil && string(content) == arm.Revision, arm.Revision, "built", content, err)
		level := 1e6 * (1 + 0.01*float64(slot.Pexec)) * (1 + 0.01*r.NormFloat64())
		if n, err := strconv.Atoi(arm.Revision[1:]); err != nil || n >= 11 {
			level *= 1.04
		}
		for i := range rec.WallNS {
			rec.WallNS[i] = int64(level * (1 + 0.001*r.NormFloat64()))
			if i > 0 { // nothing lies between
				rec.StartNS[i] = rec.StartNS[i-1] + rec.WallNS[i-1]
			}
		}
		b.append(rec)
		b.must(b.sched.Finish(slot, schedule.Completed))
	}
	b.must(b.sched.Close())
}

// TestTemplateOfTheHelp: the template and the key that the help shows are enough for a first step,
// which krund would run. With reboots, the step is to be enabled.
func TestTemplateOfTheHelp(t *testing.T) {
	help := string(must.Get(helpTexts.ReadFile("help/bisect.txt"))(t))
	_, template, _ := strings.Cut(help, ":\n\n  [experiment]")
	template, _, _ = strings.Cut(template, "\n\n")
	_, key, _ := strings.Cut(help, "--key ")
	key, _, _ = strings.Cut(key, "\n")
	const build = `mkdir -p $KRUND_OUTPUT/nbody/c && echo $KRUND_REVISION > $KRUND_OUTPUT/nbody/c/bench.so`
	for _, test := range []struct{ text, next string }{
		{"[experiment]" + template, "krund run "},
		{strings.Replace("[experiment]"+template, "reboot = ", "# ", 1), "krunctl enable --start "},
	} {
		dir := t.TempDir()
		versions, step := filepath.Join(dir, "versions"), filepath.Join(dir, "step.toml")
		for name, text := range map[string]string{versions: "a\nb\nc\n", step: test.text} {
			must.Do(t, os.WriteFile(name, []byte(text), 0o644))
		}
		r := krunctl(t, "bisect", filepath.Join(dir, "b"), "--versions", versions, "--template", step,
			"--key", key, "--build", build)
		first := filepath.Join(dir, "b/step-001.toml")
		if r.code != exitLeftOut || !strings.Contains(r.stdout, test.next+first) {
			t.Errorf("no %s%s:\n%s", test.next, first, r.text())
			continue
		}
		must.Get(config.Load(first, "bencher7", doctor.Settings()))(t)
	}
}

type bisectAnswer struct {
	Action, Step string
	Version      int
	Blocks       int
	Probability  float64
	First, Last  int
}

// TestBisect: of 31 revisions, of which one cannot be built, the culprit is found by steps that are
// measured one after the other. A call between two steps changes nothing.
func TestBisect(t *testing.T) {
	dir := t.TempDir()
	state, versions, template := filepath.Join(dir, "b"), filepath.Join(dir, "versions"),
		filepath.Join(dir, "step.toml")
	var list []string
	for i := range 31 {
		list = append(list, "r"+strconv.Itoa(i))
	}
	for name, text := range map[string]string{versions: strings.Join(list, "\n"), template: stepText} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	args := []string{"bisect", "--format", "json", state, "--versions", versions, "--template", template,
		"--key",
		"nbody:C:v", "--build",
		`test $KRUND_REVISION != r15 && printf %s $KRUND_REVISION > $KRUND_OUTPUT/revision`}
	ask := func() (bisectAnswer, int) {
		t.Helper()
		got := krunctl(t, args...)
		args = args[:4]
		var answer bisectAnswer
		must.Do(t, json.Unmarshal([]byte(got.stdout), &answer), got.stderr)
		return answer, got.code
	}
	r := rand.New(rand.NewPCG(1, 5))
	answer, code := ask()
	steps := 0
	for ; answer.Action == "measure" && steps < 40; steps++ {
		again, _ := ask()
		must.Need(t, again == answer && code == exitLeftOut, answer, "then", again)
		measure(t, r, answer.Step)
		answer, code = ask()
	}
	must.Be(t, code == exitOK && answer.First == 11 && answer.Last == 11 && answer.Probability >= 0.975 &&
		answer.Blocks == 5*steps && steps <= 12, code, answer, steps, "steps")
	must.Get(os.Stat(filepath.Join(state, "builds", "0015.skip")))(t, "r15 was not skipped")
}

func TestBisectUsage(t *testing.T) {
	dir := t.TempDir()
	template, step := filepath.Join(dir, "x.toml"), filepath.Join(dir, "step.toml")
	two := filepath.Join(dir, "two")
	for name, text := range map[string]string{template: "x", step: stepText, two: "r0\nr1\n"} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	state := filepath.Join(dir, "new")
	plan := state + " --build true --versions " + two
	for _, c := range []struct{ args, want string }{
		{dir, "needs --versions, --template, --build and --key"},
		{plan + " --template " + step + " --key nbody:C:v --timeout 50m", "which --to begins"},
		{dir + " --versions - --template x.toml --build true --key a:b:c", "there is no version"},
		{dir + " --versions " + template + " --template " + template + " --build true --key a:b:c",
			"at least two versions"},
		{plan + " --template " + step + " --key nbdy:C:v", "no key nbdy:C:v@good; it has [nbody:C:v@good"},
		{plan + " --template " + step + " --key *:C:v", "is not one key"},
		{plan + " --template " + step + " --key nbody:C:v@good", "is not one key"},
		{plan + " --template " + template + " --key nbody:C:v", "the template needs"},
		{strings.Replace(plan, "/new", "/n~w", 1) + " --template " + step + " --key nbody:C:v --to lab",
			"the name \"n~w-step-001\" contains '~'"}, // the name of an experiment of the hub
	} {
		got := krunctl(t, append([]string{"bisect"}, strings.Fields(c.args)...)...)
		must.Be(t, got.code != exitOK && strings.Contains(got.stderr, c.want), c.args, got.code, got.stderr)
	}
	must.Refused(os.Stat(state))(t, "", "a wrong plan was written")
}
