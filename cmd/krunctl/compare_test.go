package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// armsDirectory makes an experiment of 10 blocks with the arms base, new and twin, of which new
// takes changed and twin null times as long.
func armsDirectory(t *testing.T, changed, null float64) string {
	t.Helper()
	const text = `[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
[arms.base]
[arms.new]
env = { X = "1" }
[arms.twin]
null = true
`
	r := rand.New(rand.NewPCG(1, 2))
	var records []results.Record
	for block := range 10 {
		for i, arm := range []string{"base", "new", "twin"} {
			level := 1e8 * [...]float64{1, changed, null}[i] * (1 + 0.05*float64(block)) * (1 +
				0.002*r.NormFloat64())
			k := key.Key{Benchmark: "b", VM: "C", Variant: "v", Arm: arm}
			records = append(records, completed(k, len(records), block+1, noisy(r, level, 0.001)))
		}
	}
	return storedIn(t, filepath.Join(t.TempDir(), "ab.krun"), text, records)
}

// TestCompareArms: verdict, null arm and exit status of the arms of one experiment.
func TestCompareArms(t *testing.T) {
	for _, c := range []struct {
		name          string
		changed, null float64
		args          []string
		exit          int
		verdict       string
		unfit         bool
	}{
		{"slower", 1.03, 1, nil, exitError, "worse", false},
		{"slower, and no reason to fail", 1.03, 1, []string{"--fail-on", "never"}, exitOK, "worse", false},
		{"faster", 0.97, 1, nil, exitOK, "better", false},
		{"faster, and nothing may change", 0.97, 1, []string{"--fail-on", "changed"}, exitError, "better",
			false},
		{"the null arm", 1.03, 1, []string{"--arms", "base,twin"}, exitOK, "same", false},
		{"the machine is not fit", 1.03, 1.03, nil, exitLeftOut, "cannot tell", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"compare", "-f", "json", armsDirectory(t, c.changed, c.null)}, c.args...)
			r := krunctl(t, args...)
			var got struct {
				Paired  bool
				Changes []struct{ Key, Verdict string }
				NullArm *struct{ Unfit bool } `json:"null_arm"`
			}
			must.Do(t, json.Unmarshal([]byte(r.stdout), &got), r.text())
			must.Be(t, r.code == c.exit && got.Paired && len(got.Changes) == 1 &&
				got.Changes[0].Key == "b:C:v" && got.Changes[0].Verdict == c.verdict, r.text())
			must.Be(t, got.NullArm == nil || got.NullArm.Unfit == c.unfit, "null arm", got.NullArm)
		})
	}
}

// TestBetweenArms: arms are keys if no other key has them, and the mistake of a second key that is
// also a directory is named.
func TestBetweenArms(t *testing.T) {
	dir := armsDirectory(t, 1.03, 1)
	t.Chdir(t.TempDir())
	must.Do(t, os.Mkdir("new", 0o700))
	r := krunctl(t, "compare", "--between", "base", "new", dir)
	must.Be(t, r.code == exitUsage && strings.Contains(r.stderr, "new, "+dir+" are files or directories") &&
		strings.Contains(r.stderr, "--between base --between KEY"), r.text())
	r = krunctl(t, "compare", "--between", "base", "--between", "new", dir)
	must.Be(t, r.code == exitOK && strings.HasPrefix(r.stdout, "b:C:v@new is 2.9 % slower than b:C:v@base"),
		r.text())
}

// TestJudgementOfLost: a benchmark that fails in every execution of the new build is not "nothing
// got worse" because another benchmark can be compared.
func TestJudgementOfLost(t *testing.T) {
	two, one := make([]compare.Execution, 2), make([]compare.Execution, 1)
	for _, test := range []struct {
		name   string
		lost   compare.Change
		failOn string
		want   bool
	}{
		{"fails after", compare.Change{Key: "b:C:v", ExecutionsBefore: two, ExecutionsAfter: one}, "worse",
			true},
		{"fails before", compare.Change{Key: "b:C:v", ExecutionsBefore: one, ExecutionsAfter: two}, "worse",
			false},
		{"removed", compare.Change{Key: "b:C:v", OnlyIn: "before", ExecutionsBefore: two}, "worse", false},
		{"never", compare.Change{Key: "b:C:v", ExecutionsBefore: two}, "never", false},
	} {
		r := compare.Result{TestsSteady: 1, Changes: []compare.Change{test.lost}}
		err := (&app{}).judgement(&r, test.failOn)
		must.Be(t, errors.Is(err, errUnjudged) == test.want && (err == nil ||
			strings.Contains(err.Error(), "b:C:v")), test.name, err)
	}
}

// TestCompareOtherTools: executions of hyperfine and go test are compared, and a comparison that
// cannot be judged names what is missing.
func TestCompareOtherTools(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	hyperfine := func(name, command string, factor float64) string {
		var times []string
		for i := range 10 {
			times = append(times, fmt.Sprint(factor*(1+0.001*float64(i%3))))
		}
		return write(name, fmt.Sprintf(`{"results":[{"command":%q,"times":[%s]}]}`, command,
			strings.Join(times, ",")))
	}
	gobench := func(name string, count int, factor float64) string {
		var b strings.Builder
		for range 10 / count {
			b.WriteString("goos: linux\npkg: p\n")
			for i := range count {
				fmt.Fprintf(&b, "BenchmarkFib-2 \t 1000\t %g ns/op\n", factor*(1000+float64(i%3+b.Len()%3)))
			}
			b.WriteString("PASS\n")
		}
		return write(name, b.String())
	}
	for _, c := range []struct {
		name, before, after string
		code                int
		stdout, stderr      string
	}{
		{"hyperfine", hyperfine("a.json", "x", 1), hyperfine("b.json", "x", 1.1), exitError,
			"+10.0 % (+", ""},
		{"hyperfine, two names", hyperfine("c.json", "x", 1), hyperfine("d.json", "y", 1.1), exitLeftOut,
			"only before has this key", "no key is on both sides"},
		{"go test in processes", gobench("a.txt", 1, 1), gobench("b.txt", 1, 1.1), exitError,
			"+10.0 % (+", ""},
		{"go test -count 10", gobench("c.txt", 10, 1), gobench("d.txt", 10, 1.1), exitError,
			"+10.0 % (+", "c.txt: 10 lines of a benchmark are of one process: each counts as an execution"},
	} {
		krunctl(t, "compare", c.before, c.after).says(t, c.code, c.stdout, c.stderr, c.name)
	}
}

// TestCompareNamesTheCommand: the advice on one experiment is a command, if its file is there.
func TestCompareNamesTheCommand(t *testing.T) {
	dir := armsDirectory(t, 1.0092, 1)
	args := []string{"compare", "--arms", "base,new", "--fail-on", "never", dir}
	r := krunctl(t, args...)
	must.Be(t, !strings.Contains(r.stdout, "--executions"), r.text())
	file := strings.TrimSuffix(dir, ".krun") + ".toml"
	must.Do(t, os.WriteFile(file, nil, 0o644))
	r = krunctl(t, args...)
	must.Contain(t, r.stdout, "`krunctl run "+file+" --executions +", "the command")
	r = krunctl(t, append(args, "--format", "markdown")...)
	must.Be(t, !strings.Contains(r.stdout, "--executions +"), r.text())
}

// seriesDirectory makes an experiment of one key with n executions. of returns the wall times of
// each and what was restarted before it.
func seriesDirectory(t *testing.T, n int, of func(slot int) (wall []int64, reboot string)) string {
	t.Helper()
	var records []results.Record
	for slot := range n {
		wall, reboot := of(slot)
		r := completed(key.Key{Benchmark: "b", VM: "C", Variant: "v"}, slot, slot+1, wall)
		r.Reboot = reboot
		records = append(records, r)
	}
	return storedIn(t, filepath.Join(t.TempDir(), "series.krun"), "", records)
}

// ladderDirectory makes an experiment of 12 restarts of the hardware, each followed by four by
// kexec. Executions by kexec take factor times as long, and the level of each restart of the
// hardware differs by the standard deviation between.
func ladderDirectory(t *testing.T, factor, between float64, kinds ...string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	boot := 0.0
	return seriesDirectory(t, 60, func(slot int) ([]int64, string) {
		level := 1e8
		if slot%5 == 0 {
			boot = between * r.NormFloat64()
		} else {
			level *= factor
		}
		level *= 1 + boot + 0.001*r.NormFloat64()
		return noisy(r, level, 0.0005), kinds[min(slot%5, len(kinds)-1)]
	})
}

func TestReboots(t *testing.T) {
	hardware, kexec := results.RebootHardware, results.RebootKexec
	for _, c := range []struct {
		name            string
		factor, between float64
		verdict         string
		status          int
		low, high       float64 // of the share between restarts of the hardware
	}{
		{"the same", 1, 0, "same", exitOK, 0, 0.3},
		{"kexec is 3 % slower", 1.03, 0, "worse", exitError, 0, 0.3},
		{"the hardware differs from boot to boot", 1, 0.005, "same", exitOK, 0.8, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := ladderDirectory(t, c.factor, c.between, hardware, kexec)
			ran := krunctl(t, "compare", "--by", "restart", "--format", "json", dir)
			must.Equal(t, ran.code, c.status, "status", ran.stderr)
			var got struct {
				Before, After string
				Compare       compare.Result
				Spread        []compare.KeySpread
			}
			must.Do(t, json.Unmarshal([]byte(ran.stdout), &got))
			must.Be(t, got.Before == hardware && got.After == kexec && len(got.Compare.Changes) == 1 &&
				string(got.Compare.Changes[0].Verdict) == c.verdict, got.Before, "against", got.After,
				got.Compare.Changes, "want", c.verdict)
			must.Need(t, len(got.Spread) == 1 && got.Spread[0].RestartSpread != nil &&
				got.Spread[0].Boots == 12, "spread", got.Spread, "want one key with 12 boots")
			if s := got.Spread[0]; s.Key != "b:C:v" || s.Share < c.low || s.Share > c.high {
				t.Errorf("%s: share %v, want %v to %v", s.Key, s.Share, c.low, c.high)
			}
		})
	}
}
