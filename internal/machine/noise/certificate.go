package noise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/durable"
)

// Format of a certificate. docs/noise.md specifies it.
const Format = 1

// A Certificate is what was measured of a machine on one day. It is a file DATE.json; an experiment
// keeps a copy of the newest one.
type Certificate struct {
	Format  int       `json:"format"`
	Date    time.Time `json:"date"`
	BootID  string    `json:"boot_id"`
	Host    string    `json:"host"`
	Krund   string    `json:"krund"`   // version
	Virtual string    `json:"virtual"` // hypervisor or container; "" if none was found
	// hardware and software, as in records
	Fingerprint map[string]string `json:"fingerprint"`
	Plain       Measurement       `json:"plain"`      // the machine as it was
	Controlled  *Measurement      `json:"controlled"` // with the study's settings; null if not measured
	// settings that krund set for Controlled, and those not as wanted; null without a floor
	Applied    []string `json:"applied"`
	NotApplied []string `json:"not_applied"`
	// what the settings do to the time of the fixed program; null without Controlled or a floor
	Effect *Effect `json:"effect"`
	// what differs between boots, from this certificate and earlier ones; null from too few boots
	Boots *Boots `json:"boots"`
}

// Boots is the variation of the fixed program between boots of the unchanged machine, each with a
// certificate. Where an experiment reboots before each execution, it sees Total.
type Boots struct {
	Boots   int     `json:"boots"`
	Since   string  `json:"since"`    // date of the oldest of these certificates
	SDLog   float64 `json:"sd_log"`   // between boots, without what executions in one boot differ
	Total   float64 `json:"sd_total"` // of executions in one boot each
	SDLow   float64 `json:"sd_low"`   // the 95 % interval of Total
	SDHigh  float64 `json:"sd_high"`
	Percent float64 `json:"percent"` // smallest change found with 10 executions, each in its own boot
	High    float64 `json:"high"`    // at the upper end of the interval
}

// A Measurement is one half of a certificate.
type Measurement struct {
	Census Census `json:"census"`
	Floor  *Floor `json:"floor"` // null if it was not measured
}

// Lost is the share of the time of all CPUs that was lost to gaps; NaN without any.
func (m Measurement) Lost() float64 {
	var lost, all float64
	for _, c := range m.Census.CPUs {
		lost += float64(c.LostNS)
		all += float64(c.TimeNS)
	}
	return lost / all
}

// Summary says in a few words what the certificate is about: for the report of what was measured at
// a time; zero: unknown.
func (c Certificate) Summary(at time.Time) string {
	m := c.Plain
	if c.Controlled != nil {
		m = *c.Controlled
	}
	age := ""
	if days := int(at.Sub(c.Date).Hours() / 24); !at.IsZero() && days > 0 {
		age = fmt.Sprintf(", %d days before", days)
	}
	text := fmt.Sprintf("noise certificate of %s%s: %.3g %% of the time lost",
		c.Date.UTC().Format("2006-01-02"), age, 100*m.Lost())
	if b := c.Boots; b != nil && m.Floor != nil {
		return text + fmt.Sprintf(", at best %.2g %% detectable with %d executions of %s, each in its own "+
			"boot (%d boots)", max(b.Percent, b.High), SummaryAt, m.Floor.Benchmark, b.Boots)
	}
	if m.Floor != nil {
		for _, d := range m.Floor.Detectable {
			if d.Executions == SummaryAt {
				text += fmt.Sprintf(", at best %.2g %% detectable with %d executions of %s in one boot",
					max(d.Percent, d.High), d.Executions, m.Floor.Benchmark)
			}
		}
		if n := len(m.Floor.Strays); n > 0 {
			text += fmt.Sprintf(", %d of %d executions strayed", n, m.Floor.Executions)
		}
	}
	return text
}

// Effect is the ratio of the fixed program's times, with the settings to without, of pairs of
// blocks that follow each other.
type Effect struct {
	Pairs int     `json:"pairs"`
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"` // of its 95 % interval
	High  float64 `json:"high"`
}

// Merge joins the censuses of several times: sums, and the longest gap.
func Merge(list []Census) Census {
	var all Census
	for _, c := range list {
		all.Seconds, all.ThresholdNS, all.Nice = all.Seconds+c.Seconds, c.ThresholdNS, c.Nice
		for _, cpu := range c.CPUs {
			i := slices.IndexFunc(all.CPUs, func(o CPU) bool { return o.CPU == cpu.CPU })
			if i < 0 {
				cpu.Sources = slices.Clone(cpu.Sources)
				all.CPUs = append(all.CPUs, cpu)
				continue
			}
			to := &all.CPUs[i]
			to.TimeNS, to.LostNS, to.Gaps = to.TimeNS+cpu.TimeNS, to.LostNS+cpu.LostNS, to.Gaps+cpu.Gaps
			to.LongestNS, to.Preempted = max(to.LongestNS, cpu.LongestNS), to.Preempted+cpu.Preempted
			to.PeriodNS = cmp.Or(to.PeriodNS, cpu.PeriodNS)
			for _, s := range cpu.Sources {
				j := slices.IndexFunc(to.Sources,
					func(o Source) bool { return o.Kind == s.Kind && o.Name == s.Name })
				if j < 0 {
					to.Sources = append(to.Sources, s)
					continue
				}
				to.Sources[j].Count += s.Count
				to.Sources[j].NS += s.NS
			}
			sortSources(to.Sources)
			to.Sources = to.Sources[:min(len(to.Sources), mostSources)]
		}
	}
	return all
}

// SummaryAt is the number of executions whose detectable change Summary has.
const SummaryAt = 10

// A Floor is the variation of a fixed program that is executed again and again (A/A).
type Floor struct {
	Benchmark  string       `json:"benchmark"`
	Executions int          `json:"executions"`
	Iterations int          `json:"iterations"`
	MeanNS     float64      `json:"mean_ns"` // of an iteration
	SDLog      float64      `json:"sd_log"`  // standard deviation between executions, of the logarithm
	SDLow      float64      `json:"sd_low"`  // its limits, as far as strays were seen; 0 in older certificates
	SDHigh     float64      `json:"sd_high"`
	Detectable []Detectable `json:"detectable"`
	// The rest is empty in older certificates. By which factor less 1 two executions differ in half
	// of the cases, with its 95 % interval, whatever the distribution.
	Differ     float64 `json:"differ"`
	DifferLow  float64 `json:"differ_low"`
	DifferHigh float64 `json:"differ_high"`
	// Executions that are far from the others: their places in LevelsNS, and the 95 % interval of
	// their share.
	Strays     []int     `json:"strays"`
	StraysLow  float64   `json:"strays_low"`
	StraysHigh float64   `json:"strays_high"`
	LevelsNS   []float64 `json:"levels_ns"` // of the executions, in their order
}

// Detectable is the smallest change that a comparison of so many executions with as many others
// finds with probability 0.8, at level 0.05.
type Detectable struct {
	Executions int     `json:"executions"` // on each side
	Percent    float64 `json:"percent"`
	High       float64 `json:"high"` // at the upper end of the deviation's interval; 0 in older ones
}

// Changed names what differs between the machine of a certificate and a fingerprint of now, sorted.
// Entries that only one of them has do not count: versions of krund read different ones.
func Changed(c Certificate, now map[string]string) []string {
	var names []string
	for name, was := range c.Fingerprint {
		if is, known := now[name]; known && is != was {
			names = append(names, fmt.Sprintf("%s %s -> %s", name, was, is))
		}
	}
	slices.Sort(names)
	return names
}

// Directory is the name of the directory of certificates below that of what must survive a crash.
const Directory = "noise"

// nameForm is the date in a file's name: names sort by date.
const nameForm = "2006-01-02T15-04-05Z.json"

// Store writes a certificate to a directory, which it makes, and returns the file's path.
func Store(fsys durable.FS, dir string, c Certificate) (string, error) {
	if err := durable.MkdirAll(fsys, dir); err != nil {
		return "", fmt.Errorf("make the directory of certificates: %w", err)
	}
	file := filepath.Join(dir, c.Date.UTC().Format(nameForm))
	return file, Copy(fsys, file, c)
}

// Copy writes a certificate to a file.
func Copy(fsys durable.FS, file string, c Certificate) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the certificate: %w", err)
	}
	return durable.WriteFile(fsys, file, append(data, '\n'), 0o644)
}

// mostBytes of a certificate: that of 8192 CPUs with all their sources has half of it.
const mostBytes = 32 << 20

// Read reads a certificate. It may have been written by anyone: it is bounded, and its numbers are
// finite and not negative.
func Read(fsys durable.FS, file string) (Certificate, error) {
	f, err := fsys.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return Certificate{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	var c Certificate
	if err = errors.Join(err, f.Close()); err == nil {
		c, err = Parse(data)
	}
	if err != nil {
		return Certificate{}, fmt.Errorf("read %s: %w", file, err)
	}
	return c, nil
}

// Parse reads a certificate from hostile bytes.
func Parse(data []byte) (Certificate, error) {
	var c Certificate
	if len(data) > mostBytes {
		return c, fmt.Errorf("it has more than %d bytes", mostBytes)
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&c); err != nil {
		return c, fmt.Errorf("it is no noise certificate: %w", err)
	}
	if c.Format != Format {
		return c, fmt.Errorf("its format is %d, and this version reads %d", c.Format, Format)
	}
	possible := c.Plain.valid() && (c.Controlled == nil || c.Controlled.valid())
	if b := c.Boots; b != nil {
		possible = possible && b.Boots > 0 && finite(b.SDLog, b.Total, b.SDLow, b.SDHigh, b.Percent, b.High)
	}
	if e := c.Effect; e != nil {
		possible = possible && e.Low > 0 && e.Ratio >= e.Low && e.High >= e.Ratio && e.High < math.MaxFloat64
	}
	if !possible {
		return c, errors.New("a number in it is impossible")
	}
	return c, nil
}

// finite reports whether no value is negative or infinite.
func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return !(v >= 0) || math.IsInf(v, 0) })
}

// valid reports whether all numbers are possible ones.
func (m Measurement) valid() bool {
	for _, c := range m.Census.CPUs {
		if c.TimeNS <= 0 || c.LostNS < 0 || c.LostNS > c.TimeNS || c.Gaps < 0 || c.LongestNS < 0 ||
			c.PeriodNS < 0 {
			return false
		}
	}
	if m.Floor == nil {
		return true
	}
	f := m.Floor
	ok := finite(f.LevelsNS...) && finite(f.MeanNS, f.SDLog, f.SDLow, f.SDHigh, f.Differ, f.DifferLow,
		f.DifferHigh, f.StraysLow, f.StraysHigh)
	for _, i := range f.Strays {
		ok = ok && i >= 0 && i < len(f.LevelsNS)
	}
	for _, d := range f.Detectable {
		ok = ok && finite(d.Percent, d.High) && d.Executions > 0
	}
	return ok
}

// mostBoots is how many certificates Earlier reads.
const mostBoots = 100

// Earlier returns the newest certificate of each other boot of the same unchanged machine, measured
// by the same version of krund with the same program; the newest first.
func Earlier(fsys durable.FS, dir string, c Certificate) ([]Certificate, error) {
	names, err := certificates(fsys, dir)
	if err != nil || c.Plain.Floor == nil {
		return nil, err
	}
	var list []Certificate
	seen := map[string]bool{c.BootID: true}
	for _, name := range names[:min(len(names), mostBoots)] {
		old, err := Read(fsys, filepath.Join(dir, name))
		if f := old.Plain.Floor; err != nil || seen[old.BootID] || old.Host != c.Host ||
			old.Krund != c.Krund || f == nil || f.Benchmark != c.Plain.Floor.Benchmark ||
			f.Iterations != c.Plain.Floor.Iterations || f.MeanNS <= 0 || f.Executions < 1 ||
			len(Changed(old, c.Fingerprint)) > 0 {
			continue // of another state, or damaged: it says nothing about this one
		}
		list, seen[old.BootID] = append(list, old), true
	}
	return list, nil
}

// Newest returns the path of the newest certificate in a directory; "" if there is none.
func Newest(fsys durable.FS, dir string) (string, error) {
	names, err := certificates(fsys, dir)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return filepath.Join(dir, names[0]), nil
}

// certificates returns the names of the certificates in a directory, the newest first.
func certificates(fsys durable.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for certificates: %w", err)
	}
	var names []string
	for _, e := range entries {
		if _, err := time.Parse(nameForm, e.Name()); err == nil && !strings.Contains(e.Name(), "/") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}
