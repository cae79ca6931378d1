package noise

import (
	"bytes"
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

// Summary says in a few words what the certificate is about: for a report.
func (c Certificate) Summary() string {
	m := c.Plain
	if c.Controlled != nil {
		m = *c.Controlled
	}
	text := fmt.Sprintf("noise certificate of %s: %.3g %% of the time lost",
		c.Date.UTC().Format("2006-01-02"), 100*m.Lost())
	if m.Floor != nil {
		for _, d := range m.Floor.Detectable {
			if d.Executions == summaryAt {
				text += fmt.Sprintf(", %.2g %% detectable with %d executions of %s", d.Percent, d.Executions,
					m.Floor.Benchmark)
			}
		}
	}
	return text
}

// summaryAt is the number of executions whose detectable change Summary has.
const summaryAt = 10

// A Floor is the variation of a fixed program that is executed again and again (A/A).
type Floor struct {
	Benchmark  string       `json:"benchmark"`
	Executions int          `json:"executions"`
	Iterations int          `json:"iterations"`
	MeanNS     float64      `json:"mean_ns"` // of an iteration
	SDLog      float64      `json:"sd_log"`  // standard deviation between executions, of the logarithm
	Detectable []Detectable `json:"detectable"`
}

// Detectable is the smallest change that a comparison of so many executions with as many others
// finds with probability 0.8, at level 0.05.
type Detectable struct {
	Executions int     `json:"executions"` // on each side
	Percent    float64 `json:"percent"`
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
	if err = errors.Join(err, f.Close()); err != nil {
		return Certificate{}, fmt.Errorf("read %s: %w", file, err)
	}
	c, err := Parse(data)
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
	halves := []Measurement{c.Plain}
	if c.Controlled != nil {
		halves = append(halves, *c.Controlled)
	}
	for _, m := range halves {
		if !m.valid() {
			return c, errors.New("a number in it is impossible")
		}
	}
	return c, nil
}

// valid reports whether all numbers are possible ones.
func (m Measurement) valid() bool {
	positive := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	for _, c := range m.Census.CPUs {
		if c.TimeNS <= 0 || c.LostNS < 0 || c.LostNS > c.TimeNS || c.Gaps < 0 || c.LongestNS < 0 ||
			c.PeriodNS < 0 {
			return false
		}
	}
	if m.Floor == nil {
		return true
	}
	ok := positive(m.Floor.MeanNS) && positive(m.Floor.SDLog)
	for _, d := range m.Floor.Detectable {
		ok = ok && positive(d.Percent) && d.Executions > 0
	}
	return ok
}

// Newest returns the path of the newest certificate in a directory; "" if there is none.
func Newest(fsys durable.FS, dir string) (string, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for certificates: %w", err)
	}
	var names []string
	for _, e := range entries {
		if _, err := time.Parse(nameForm, e.Name()); err == nil && !strings.Contains(e.Name(), "/") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return filepath.Join(dir, slices.Max(names)), nil
}
