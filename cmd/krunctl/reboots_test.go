package main

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

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
