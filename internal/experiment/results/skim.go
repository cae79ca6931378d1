package results

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"krund/internal/durable"
)

// Skimmed is a record for inspecting one execution: Record has everything except the series, whose
// lists are empty, and the series are packed. A nil series is null in the file.
type Skimmed struct {
	Record                  // StartNS and WallNS are nil, and so are Counts and Values of the Columns
	Start, Wall   *Packed   // as StartNS and WallNS
	Series        []*Packed // of each column, as its Counts or Values; nil unless requested
	ColumnLengths []int     // number of values of each column
}

// Skim reads the record in the file path without ever having its text, or a list of its values, in
// memory: a record of a million iterations takes as much memory as a short one, plus a few bytes
// for each value that is kept. It keeps the values of the columns if columns is set.
//
// It accepts what Decode accepts, with the same errors: it leaves unusual input, which krund does
// not write (a list before its kind, a duplicate field, damage), to Decode.
func Skim(fsys durable.FS, path string, columns bool) (Skimmed, error) {
	s := skimmer{columns: columns, seen: map[string]bool{}}
	opened := false
	err := withPacked(fsys, path, func(in *durable.PackedInput) error {
		opened = true
		return s.file(in)
	})
	switch {
	case err == nil:
		return s.out, nil
	case !opened:
		return Skimmed{}, err
	}
	text, err := durable.ReadFile(fsys, path)
	if err != nil {
		return Skimmed{}, err
	}
	r, err := Decode(text)
	if err != nil {
		return Skimmed{}, err
	}
	return skimmed(r, columns), nil
}

// withPacked calls read with the bytes of the file path.
func withPacked(fsys durable.FS, path string, read func(*durable.PackedInput) error) error {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = read(durable.NewPackedInput(f, info.Size()))
	}
	return errors.Join(err, f.Close())
}

// Copy writes the document in the file path to w, unchanged. It is for a record that Skim has read.
func Copy(w io.Writer, fsys durable.FS, path string) error {
	return withPacked(fsys, path, func(in *durable.PackedInput) error {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, in.Bound(zip, maxJSON))
		return err
	})
}

// skimmed packs the series of a record that is in memory.
func skimmed(r Record, columns bool) Skimmed {
	s := Skimmed{Start: packed(r.StartNS), Wall: packed(r.WallNS)}
	r.StartNS, r.WallNS = nil, nil
	for i, c := range r.Columns {
		s.ColumnLengths = append(s.ColumnLengths, c.Len())
		if columns && c.Kind == KindCounter {
			s.Series = append(s.Series, packed(c.Counts))
		} else if columns {
			s.Series = append(s.Series, packed(c.Values))
		}
		r.Columns[i].Counts, r.Columns[i].Values = nil, nil
	}
	s.Record = r
	return s
}

// Check is Record.Check for a skimmed record.
func (s *Skimmed) Check() error {
	is := shape{starts: s.Start.Len(), done: s.Wall.Len(), negative: -1, columns: s.ColumnLengths}
	if s.Start == nil {
		is.starts = -1
	}
	i := 0
	for v := range s.Wall.All() {
		if ns := int64(v); ns < 0 { //nolint:gosec // the value was stored as an int64
			is.negative, is.negativeNS = i, ns
			break
		}
		i++
	}
	return s.check(is)
}

// errUnusual reports input that is left to Decode.
var errUnusual = errors.New("not in the form that krund writes")

// skimmer traverses the JSON of a record. It collects everything except the series in rest, an
// object that Record can decode.
type skimmer struct {
	out     Skimmed
	columns bool            // keep their values
	seen    map[string]bool // series found so far
	json    *json.Decoder
	rest    bytes.Buffer
}

// file reads one gzip member, and nothing after it.
func (s *skimmer) file(all *durable.PackedInput) error {
	zip, err := gzip.NewReader(all)
	if err != nil {
		return err
	}
	zip.Multistream(false)
	s.json = json.NewDecoder(all.Bound(zip, maxJSON))
	if err := s.record(); err != nil {
		return err
	}
	if _, err := s.json.Token(); !errors.Is(err, io.EOF) { // reading to the end verifies the checksum
		return errUnusual
	}
	if _, err := all.ReadByte(); !errors.Is(err, io.EOF) {
		return errUnusual
	}
	return json.Unmarshal(s.rest.Bytes(), &s.out.Record)
}

func (s *skimmer) record() error {
	return s.object(func(name string) (err error) {
		switch name {
		case "start_ns":
			s.out.Start, err = series[int64](s, name, 0, true)
		case "wall_ns":
			s.out.Wall, err = series[int64](s, name, 0, true)
		case "columns":
			if s.seen[name] {
				return errUnusual
			}
			s.seen[name] = true
			return s.list(s.column)
		default:
			return s.copyValue(name, "start_ns", "wall_ns", "columns")
		}
		return err
	})
}

// column reads one column.
func (s *skimmer) column() error {
	kind, values := Kind(""), (*Packed)(nil)
	delete(s.seen, "values")
	err := s.object(func(name string) (err error) {
		at := s.rest.Len()
		switch {
		case name == "kind" && kind == "":
			if err = s.copyValue(""); err == nil {
				err = json.Unmarshal(s.rest.Bytes()[at:], &kind)
			}
		case name == "values" && kind == KindCounter:
			values, err = series(s, name, MissingCount, s.columns)
		case name == "values" && kind == KindUser:
			values, err = series(s, name, Missing, s.columns)
		default:
			err = s.copyValue(name, "kind", "values")
		}
		return err
	})
	s.out.ColumnLengths = append(s.out.ColumnLengths, values.Len())
	if s.columns {
		s.out.Series = append(s.out.Series, values)
	}
	return err
}

// series reads a list of integers in which null means missing, or null. It only counts the values
// unless keep is set.
func series[T int64 | uint64](s *skimmer, name string, missing T, keep bool) (*Packed, error) {
	if s.seen[name] {
		return nil, errUnusual
	}
	s.seen[name] = true
	s.rest.WriteString("null")
	switch start, err := s.json.Token(); {
	case err != nil || start == nil:
		return nil, err
	case start != json.Delim('['):
		return nil, errUnusual
	}
	p, v := new(Packed), missing // v is allocated once
	for ; s.json.More(); v = missing {
		if err := s.json.Decode(&v); err != nil {
			return nil, err
		}
		if keep {
			p.add(uint64(v))
		} else {
			p.n++
		}
	}
	_, err := s.json.Token()
	return p, err
}

// object reads an object and copies it into rest, except for the values, which field reads.
func (s *skimmer) object(field func(name string) error) error {
	return s.each('{', '}', func() error {
		token, err := s.json.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errUnusual
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		s.rest.Write(append(quoted, ':'))
		return field(name)
	})
}

// list reads a list and copies it into rest, except for its elements, which element reads.
func (s *skimmer) list(element func() error) error { return s.each('[', ']', element) }

func (s *skimmer) each(open, end json.Delim, element func() error) error {
	if start, err := s.json.Token(); err != nil || start != open {
		return errors.Join(err, errUnusual)
	}
	s.rest.WriteString(open.String())
	for first := true; s.json.More(); first = false {
		if !first {
			s.rest.WriteByte(',')
		}
		if err := element(); err != nil {
			return err
		}
	}
	s.rest.WriteString(end.String())
	_, err := s.json.Token()
	return err
}

// copyValue copies the value of a field unchanged. The field must not be one of reserved, because
// encoding/json matches names in any case.
func (s *skimmer) copyValue(name string, reserved ...string) error {
	for _, r := range reserved {
		if strings.EqualFold(name, r) {
			return errUnusual
		}
	}
	var value json.RawMessage
	if err := s.json.Decode(&value); err != nil {
		return err
	}
	s.rest.Write(value)
	return nil
}
