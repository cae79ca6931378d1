package exchange

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"krund/internal/durable"
)

// byteOrderMark is the UTF-8 byte order mark, which some programs write.
const byteOrderMark = "\ufeff"

// table is a CSV table with a header. Its errors wrap ErrFormat unless the file cannot be read.
type table struct {
	in   *csv.Reader
	what string // it is about, for errors
	head []string
}

func newTable(r io.Reader, what string) (*table, error) {
	t := &table{in: csv.NewReader(r), what: what}
	head, err := t.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, t.wrong(errors.New("no table: the file is empty"))
	}
	if err != nil {
		return nil, t.unread(err)
	}
	head[0] = strings.TrimPrefix(head[0], byteOrderMark)
	t.head, t.in.ReuseRecord = head, true
	return t, nil
}

// columns returns the indexes of columns. It says hint if one is missing.
func (t *table) columns(hint string, names ...string) (map[string]int, error) {
	at := map[string]int{}
	for _, name := range names {
		if at[name] = slices.Index(t.head, name); at[name] < 0 {
			return nil, t.wrong(fmt.Errorf("line 1: there is no column %s; %s", name, hint))
		}
	}
	return at, nil
}

// each calls row with the cells of each line, which are valid until it returns.
func (t *table) each(row func(cells []string) error) error {
	for {
		cells, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return t.unread(err)
		}
		if err := row(cells); err != nil {
			line, _ := t.in.FieldPos(0)
			return t.wrong(fmt.Errorf("line %d: %w", line, err))
		}
	}
}

// unread distinguishes an error of the table from one of reading the file.
func (t *table) unread(err error) error {
	if _, ok := errors.AsType[*csv.ParseError](err); ok {
		return t.wrong(err)
	}
	return fmt.Errorf("read %s: %w", t.what, err)
}

func (t *table) wrong(err error) error { return fmt.Errorf("read %s: %w: %w", t.what, ErrFormat, err) }

// readNamed opens a file for read, and adds its name to the errors of read.
func readNamed[T any](name, what string, read func(durable.File) (T, error)) (value T, err error) {
	file, err := durable.OpenUserFile(name)
	if err != nil {
		return value, fmt.Errorf("read %s: %w", what, err)
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	if value, err = read(file); err != nil {
		return value, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}
