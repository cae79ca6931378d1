package boot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
	"krund/internal/machine/command"
	lab "krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/rig/must"
)

// finishing is the outcome of executions whose values depend on the slot alone, so that the same
// records lead to the same decisions. krunctl's own code decides.
func finishing(s *simulated, ratio float64) func(execution.Job, int) execution.Measured {
	return func(j execution.Job, boot int) execution.Measured {
		m := good(j, boot)
		n := must.Get(strconv.Atoi(variable(s.hooks[len(s.hooks)-1], "KRUND_SLOT")))(s.t)
		r := rand.New(rand.NewPCG(uint64(n), 18))
		value := 1e6 * math.Exp(0.02*r.NormFloat64())
		if j.Key.Arm == "new" {
			value *= ratio
		}
		if n >= 12 { // the machine has changed
			value *= 4
		}
		if strings.HasPrefix(j.Benchmark, "fasta") { // noisy
			value *= math.Exp(0.3 * r.NormFloat64())
		}
		m.WallNS = make([]int64, j.Iterations)
		for i := range m.WallNS {
			m.WallNS[i] = int64(value)
		}
		m.StartNS = m.WallNS
		return m
	}
}

func variable(list, name string) string {
	_, rest, _ := strings.Cut(list, name+"=")
	value, _, _ := strings.Cut(rest, " ")
	return value
}

// decided is what krunctl status --decision printed, by what it was asked: the experiments of a
// test differ little, and most time goes into these answers.
var decided sync.Map

// deciding is what krunctl status --decision prints.
func deciding(fsys durable.FS) func(context.Context, string) ([]byte, error) {
	return func(_ context.Context, key string) ([]byte, error) {
		question := sha256.New()
		fmt.Fprintf(question, "%q", key)
		files := fsys.(*crashfs.FS).Files()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if strings.HasPrefix(name, dir+"/") && name != dir+"/log" { // which it does not read
				fmt.Fprintf(question, "%q %q", name, files[name])
			}
		}
		asked := [sha256.Size]byte(question.Sum(nil))
		if text, known := decided.Load(asked); known {
			return text.([]byte), nil
		}
		var left error
		r := lab.Reader{FS: fsys, Workers: 1,
			LeaveOut: func(_, why string) { left = errors.New(why) }}
		answer, err := r.Decide(dir, key, "simulated")
		if err := errors.Join(err, left); err != nil {
			return nil, err
		}
		text, err := json.Marshal(answer)
		if err == nil {
			decided.Store(asked, text)
		}
		return text, err
	}
}

// ended describes how an experiment ended: the flags of its slots, and the decisions.
func ended(fsys durable.FS) (string, error) {
	s, err := schedule.Open(fsys, dir+"/schedule", false)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for slot, err := range s.Slots() {
		if err != nil {
			return "", err
		}
		b.WriteByte(byte(slot.Flag))
	}
	d, err := stop.Load(fsys, dir+"/decisions.json")
	for _, g := range d.Groups {
		fmt.Fprintf(&b, "\n%v %d: %s", g.Keys, g.Executions, g.Reason)
	}
	if d.Changed != "" {
		fmt.Fprintf(&b, "\n%s, from slot %d", d.Changed, d.From)
	}
	return b.String(), errors.Join(err, s.Close())
}

var stopping = []struct {
	name, experiment, sections string
	want                       string // the flags of the slots
}{
	{"levels", "executions = 5\nattempts = 3\n", "[stop]\nrules = [\"halfwidth\"]\nminimum = 3\n" +
		"halfwidth = 0.2\n", "CCCCCCSCSC"},
	{"verdict of arms", "executions = 4\nattempts = 3\nskip = [\"fasta:*:*\"]\n",
		"[arms.base]\n[arms.new]\n[stop]\nrules = [\"verdict\"]\nminimum = 3\n", "CCCCCCSS"},
	// The two kept keys show the change, and the third goes on.
	{"the machine changes", "executions = 5\nattempts = 3\nskip = [\"fasta:*:*\"]\n",
		"richards = { parameter = 3 }\nspectral = { parameter = 4 }\n" +
			"[stop]\nrules = [\"halfwidth\"]\nminimum = 3\nhalfwidth = 0.3\n" +
			"keep = [\"nbody:*:*\", \"richards:*:*\"]\n", "CCCCCCCCCCCSCCC"},
}

// TestEveryCutWithStop cuts the power in each operation of experiments that finish keys early: the
// same keys are finished after the same executions as without a cut.
func TestEveryCutWithStop(t *testing.T) {
	must.Long(t)
	for _, test := range stopping {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := parse(t, experimentText(test.experiment+"reboot = \"hardware\"")+test.sections)
			whole, ends := cutEvery(t, must.Often(7, 1), cfg,
				func(s *simulated) { s.outcome = finishing(s, 1.5) })
			want, err := ended(whole)
			must.Need(t, err == nil && strings.HasPrefix(want, test.want+"\n"), want, err, test.want)
			for state, end := range ends {
				got, err := ended(end)
				must.Need(t, err == nil && got == want, "after a cut in", state,
					"... the experiment ended as", got, err, "without one as", want)
			}
		})
	}
}

// TestAnswersRefused: whatever krunctl prints, the experiment goes on as planned and says why.
func TestAnswersRefused(t *testing.T) {
	cfg := parse(t, experimentText("executions = 5\nreboot = \"none\"")+
		"[stop]\nrules = [\"halfwidth\"]\nminimum = 5\nkeep = [\"fasta:*:*\"]\n")
	answer := func(group string) string {
		return fmt.Sprintf(`{"format":1,"experiment":"x","config_hash":%q,"groups":[%s]}`, cfg.Hash, group)
	}
	group := func(keys string) string {
		return `{"keys":[` + keys + `],"executions":9,"finish":true,"reason":"r","questions":[],"records":[]}`
	}
	nbody := `"nbody:C:default-c"`
	for name, test := range map[string]struct{ output, why string }{
		"nothing":          {"", "EOF"},
		"no JSON":          {"finished", "invalid character"},
		"unknown field":    {`{"format":1,"halt":true}`, "unknown field"},
		"other format":     {`{"format":2}`, "format 2"},
		"more behind it":   {answer("") + "{}", "follows its end"},
		"other experiment": {`{"format":1,"experiment":"y","groups":[]}`, "another experiment"},
		"other configuration": {`{"format":1,"experiment":"x","config_hash":"0","groups":[]}`,
			"another experiment"},
		"unknown key": {answer(group(`"halt:C:default-c"`)), "not one key"},
		"two keys":    {answer(group(nbody + `,"fasta:C:default-c"`)), "not one key"},
		"a key twice": {strings.ReplaceAll(answer(group(nbody)+","+group(nbody)), "true", "false"),
			"names it twice"},
		"more than completed": {answer(group(nbody)), "after 9 executions; the schedule has 5"},
		"kept":                {answer(group(`"fasta:C:default-c"`)), "keeps"},
		"no key":              {answer(group("")), "wrong number of keys"},
		"change":              {strings.TrimSuffix(answer(""), "}") + `,"changed":"a\u0007"}`, "printed"},
		"control characters":  {answer(strings.Replace(group(nbody), `"r"`, `"\u001b[2J"`, 1)), "printed"},
		"long reason": {answer(strings.Replace(group(nbody), `"r"`, `"`+strings.Repeat("r", 2000)+`"`, 1)),
			"longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			s, fsys := newSimulated(t), crashfs.New("/lab")
			s.decide = func(durable.FS) func(context.Context, string) ([]byte, error) {
				return func(context.Context, string) ([]byte, error) {
					return []byte(test.output), nil
				}
			}
			s.oneBoot(cfg, fsys)
			got, err := ended(fsys)
			must.Be(t, err == nil && got == "CCCCCCCCCC", got, err)
			d, err := stop.Load(fsys, dir+"/decisions.json")
			must.Be(t, err == nil && strings.Contains(d.Failed, test.why) &&
				strings.Contains(s.log.String(), test.why), "it failed because", d.Failed, err, "want",
				test.why)
		})
	}
}

// TestDecisionsThatTimeOut: krund does not wait for the deadline again and again. That it has given
// up survives a restart, is in the log and in what status prints, and ends with the file.
func TestDecisionsThatTimeOut(t *testing.T) {
	for name, test := range map[string]struct {
		late  func(asked int) bool
		asked int
		says  string
	}{
		"always":    {func(int) bool { return true }, stop.MostTimeouts, "stop.deadline = 5m0s"},
		"not twice": {func(asked int) bool { return asked%3 != 0 }, 12, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := parse(t, experimentText("executions = 6\nreboot = \"hardware\"")+
				"[stop]\nrules = [\"halfwidth\"]\n")
			s, asked := newSimulated(t), 0
			s.decide = func(durable.FS) func(context.Context, string) ([]byte, error) {
				return func(context.Context, string) ([]byte, error) {
					if asked++; test.late(asked) {
						return nil, fmt.Errorf("run krunctl status --decision: %w", command.ErrTimeout)
					}
					return nil, errors.New("something else")
				}
			}
			fsys, err := s.lifetime(cfg, crashfs.New("/lab"), 40, func(old *crashfs.FS) *crashfs.FS {
				return old.Reboot(crashfs.Nothing)
			})
			must.Be(t, err == nil && asked == test.asked, "asked", asked, "times", test.asked, err)
			d, err := stop.Load(fsys, dir+"/decisions.json")
			must.Be(t, err == nil && d.GivenUp() == (test.says != "") &&
				strings.Contains(d.Failed, test.says) && (test.says == "" ||
				strings.Contains(s.log.String(), test.says)), d, err, s.log.String())
		})
	}
}

// TestInterruptedDecision: an interruption is not reported as a decision that failed, and the next
// start asks again.
func TestInterruptedDecision(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 4\nreboot = \"none\"")+
		"[stop]\nrules = [\"halfwidth\"]\n")
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	s.decide = func(durable.FS) func(context.Context, string) ([]byte, error) {
		return func(ctx context.Context, _ string) ([]byte, error) {
			if asked++; asked == 1 {
				cancel()
			}
			return nil, ctx.Err()
		}
	}
	ending, err := Run(ctx, cfg, dir, config.RebootNone, s.system(fsys))
	must.Be(t, err == nil && ending == Interrupted && !strings.Contains(s.log.String(), "early"), "ending",
		ending, err, "log", s.log.String())
	if _, err = Run(t.Context(), cfg, dir, config.RebootNone, s.system(fsys)); err != nil || asked != 9 {
		t.Errorf("asked %d times, %v; want once more than there are executions", asked, err)
	}
}

// TestRecordGoneAfterDecision: a record that a decision looked at is lost, and `krunctl repair`
// makes its slot outstanding. The slot is run again, also if nothing can be decided any more.
func TestRecordGoneAfterDecision(t *testing.T) {
	for name, failure := range map[string]error{"decided": nil, "not decided": errors.New("no krunctl")} {
		t.Run(name, func(t *testing.T) {
			s, fsys, cfg := simulate(t, experimentText("executions = 5\nreboot = \"none\"")+
				stopping[0].sections)
			s.outcome = finishing(s, 1)
			run := func() string {
				t.Helper()
				_, err := Run(t.Context(), cfg, dir, config.RebootNone, s.system(fsys))
				got, endErr := ended(fsys)
				must.Do(t, errors.Join(err, endErr, audit(fsys, cfg, nil)))
				return got
			}
			whole := run()
			flags, _, _ := strings.Cut(whole, "\n")
			must.Need(t, flags == stopping[0].want, whole)
			const lost = 2 // of the key that was finished after three
			name := results.Name{Slot: lost, Attempt: 1}
			must.Do(t, fsys.Remove(dir+"/results/"+name.String()))
			mend(t, fsys)
			if failure != nil {
				s.decide = func(durable.FS) func(context.Context, string) ([]byte, error) {
					return func(context.Context, string) ([]byte, error) { return nil, failure }
				}
			}
			got := run()
			must.Be(t, (failure != nil || got == whole) && strings.HasPrefix(got, stopping[0].want), got,
				"want", whole)
		})
	}
}
