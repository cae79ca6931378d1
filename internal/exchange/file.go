// Package exchange reads and writes the file formats of other tools. Readers return a dataset
// (package analysis/dataset). formats.go has the table of the formats of most tools.
//
// A reader preserves values exactly: integers stay integers, times keep their digits. It rejects a
// file of another format with the position and the reason. Bad data in a valid file (a crashed
// execution, a NaN) is kept, for the analysis to report. Start reading at [ReadFile].
package exchange

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/durable"
)

// ErrUnknown reports that a file has none of the known formats.
var ErrUnknown = errors.New(
	"this is no NAME.krun, NAME.toml or file of results that krunctl knows; docs/exchange.md lists them; a " +
		"CSV of your own begins with " + plainHeader,
)

// sniffed returns the content of a file and its format; the error wraps ErrUnknown for a file of
// none that is read.
func sniffed(file io.Reader) (in *bufio.Reader, format string, err error) {
	in = bufio.NewReaderSize(file, SniffSize)
	head, err := in.Peek(SniffSize)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return in, "", err
	case len(head) == 0:
		return in, "", fmt.Errorf("%w: the file is empty", ErrFormat)
	}
	if format = Sniff(head); format == "" {
		return in, "", foreign(head)
	}
	return in, format, nil
}

// FileOptions supply what a file lacks, and select what to read.
type FileOptions struct {
	VM       string // "": taken from the file if present, else the tool's name
	Variant  string // "": "default"
	Uname    string // output of uname -a, for the CSV of warmup_stats; "" is unknown
	Counters bool   // also read APERF and MPERF of Krun's files, each a third of a large file
	AnyUnit  bool   // also read values that are not times, which cannot be analyzed

	size int64 // of the file in bytes, 0 if unknown; it limits the uncompressed size
}

// ReadFile reads a file of results, which is recognized by its beginning. The error wraps
// ErrUnknown for a file of another format.
func ReadFile(name string, o FileOptions) (*dataset.Dataset, error) {
	d, err := readNamed(name, "the results", func(file durable.File) (*dataset.Dataset, error) {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		o.size = info.Size()
		in, format, err := sniffed(file)
		switch {
		case err != nil:
			return nil, err
		case format == FormatWarmupCSV:
			return ReadWarmupCSV(in, o)
		case format == FormatKrun:
			return ReadKrunJSON(in, o)
		}
		return readTimes(in, format, o)
	})
	if err != nil {
		return nil, err
	}
	nameOfCriterion(d, name)
	if err := d.CheckKeys(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.Source = name
	return d, nil
}

// readTimes reads a file of another tool. Values other than times are rejected: for operations per
// second higher is better, so every comparison would be inverted.
func readTimes(in io.Reader, format string, o FileOptions) (*dataset.Dataset, error) {
	d, err := Read(format, in, o)
	if err != nil {
		return nil, err
	}
	for _, p := range d.Pairs {
		for i := range p.Executions {
			if c, ok := p.Executions[i].Column(dataset.Wall, dataset.NoCore); ok &&
				c.Unit != dataset.Seconds && !o.AnyUnit {
				return nil, fmt.Errorf("%s was measured in %s, and only times can be analyzed; "+
					"measure times (JMH: -bm avgt)", p.Key, c.Unit)
			}
		}
	}
	return d, nil
}

// HasEnding reports whether the name of a file has one of the endings, in lower case.
func HasEnding(name string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(e string) bool {
		return strings.HasSuffix(strings.ToLower(name), e)
	})
}

// Stem returns the name of a file of results without its endings.
func Stem(name string) string {
	for _, ending := range []string{".bz2", ".json", ".csv", ".txt"} {
		if rest, ok := strings.CutSuffix(strings.ToLower(name), ending); ok {
			name = name[:len(rest)]
		}
	}
	return name
}

// ReadUOpTimeFile reads a result file of µOpTime, optionally compressed with gzip. It returns nil
// for a file of another format. The error wraps ErrUnknown for a compressed file of another format.
func ReadUOpTimeFile(name string) (s *optimize.Suite, err error) {
	if s, err = readNamed(name, "the results", readUOpTime); err != nil {
		return nil, err
	}
	if s != nil {
		s.Source = name
	}
	return s, nil
}

// mostUnpackedUOpTime limits the uncompressed size of a µOpTime file, in bytes.
const mostUnpackedUOpTime = 2 << 30

func readUOpTime(file durable.File) (*optimize.Suite, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	from := durable.NewPackedInput(file, info.Size())
	head, err := from.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	in := bufio.NewReaderSize(from, SniffSize)
	packed := string(head) == gzipMagic
	if packed {
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, fmt.Errorf("unpack it: %w", err)
		}
		in = bufio.NewReaderSize(from.Bound(z, mostUnpackedUOpTime), SniffSize)
	}
	if head, err = in.Peek(SniffSize); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	if !IsUOpTime(head) {
		if packed {
			return nil, foreign([]byte(gzipMagic))
		}
		return nil, nil //nolint:nilnil // another format is no error
	}
	s, err := ReadUOpTime(in)
	if size, ok := errors.AsType[*durable.UnpackError](err); ok {
		return nil, fmt.Errorf(
			"read the results: %w; if you trust it, unpack it (gzip -d) and name the result", size)
	}
	return s, err
}
