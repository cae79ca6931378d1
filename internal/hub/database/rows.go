package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"
)

// A row is read into a value: a struct has a column for each field, in their order, and the fields
// of an embedded struct are fields of its own, unless it has the tag db:"json". Columns have what
// place reads and stored writes: a time is in microseconds since 1970, 0 for the zero time, a truth
// is 1 or 0, and a slice, a map or a struct is JSON.

// stamp returns the time as it is stored: 0 for the zero time.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// stamped is the inverse of stamp.
func stamped(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// stored returns the arguments of a statement as they are stored.
func stored(args []any) ([]any, error) {
	all := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			arg = stamp(v)
		case bool:
			arg = 0
			if v {
				arg = 1
			}
		case []byte, sql.NullString:
		default:
			if isDocument(reflect.ValueOf(arg).Kind()) {
				text, err := json.Marshal(arg)
				if err != nil {
					return nil, err
				}
				arg = string(text)
			}
		}
		all[i] = arg
	}
	return all, nil
}

func isDocument(k reflect.Kind) bool {
	return k == reflect.Slice || k == reflect.Map || k == reflect.Struct
}

// places returns where Scan puts the columns of a row.
func places(v reflect.Value) []any {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		return []any{place(v)}
	}
	var all []any
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous && f.Tag.Get("db") != "json" {
			all = append(all, places(v.Field(i))...)
		} else {
			all = append(all, place(v.Field(i)))
		}
	}
	return all
}

func place(v reflect.Value) any {
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		return (*moment)(to)
	case *[]byte:
		return to
	default:
		if isDocument(v.Kind()) {
			return document{to}
		}
		return to
	}
}

// moment is where a time is put.
type moment time.Time

// Scan implements sql.Scanner.
func (m *moment) Scan(from any) error {
	us, ok := from.(int64)
	if !ok {
		return fmt.Errorf("%T is no time", from)
	}
	*m = moment(stamped(us))
	return nil
}

// document is where JSON is put.
type document struct{ to any }

// Scan implements sql.Scanner.
func (d document) Scan(from any) error {
	switch text := from.(type) {
	case string:
		return json.Unmarshal([]byte(text), d.to)
	case []byte:
		return json.Unmarshal(text, d.to)
	}
	return fmt.Errorf("%T is no JSON", from)
}

// in returns what queries in a transaction; without one, of what is stored.
func (db *DB) in(tx *sql.Tx) querier {
	if tx == nil {
		return db.Read
	}
	return tx
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rows returns the rows of a query. Who uses them must not use the database meanwhile: it may have
// no other connection.
func rows[T any](ctx context.Context, from querier, query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		query, args := seen(ctx, query, args)
		args, err := stored(args)
		if err != nil {
			yield(none, err)
			return
		}
		found, err := from.QueryContext(ctx, query, args...)
		if err != nil {
			yield(none, err)
			return
		}
		defer found.Close() //nolint:errcheck // Err has the error
		for found.Next() {
			var one T
			err := found.Scan(places(reflect.ValueOf(&one).Elem())...)
			if !yield(one, err) || err != nil {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(none, err)
		}
	}
}

// each calls do for each row.
func each[T any](ctx context.Context, from querier, do func(T), query string, args ...any) error {
	for one, err := range rows[T](ctx, from, query, args...) {
		if err != nil {
			return err
		}
		do(one)
	}
	return nil
}

// list returns all rows.
func list[T any](ctx context.Context, from querier, query string, args ...any) (all []T, err error) {
	err = each(ctx, from, func(one T) { all = append(all, one) }, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// first returns the first row, and sql.ErrNoRows if there is none.
func first[T any](ctx context.Context, from querier, query string, args ...any) (T, error) {
	for one, err := range rows[T](ctx, from, query, args...) {
		return one, err
	}
	var none T
	return none, sql.ErrNoRows
}

// maybe is first for a row that may be missing: then it is empty.
func maybe[T any](ctx context.Context, from querier, query string, args ...any) (T, error) {
	one, err := first[T](ctx, from, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return one, err
}

// find is first for a row that has a name: the error contains it, and wraps ErrMissing if there is
// none.
func find[T any](ctx context.Context, from querier, what, query string, args ...any) (T, error) {
	one, err := first[T](ctx, from, query, args...)
	return one, missing(err, what)
}

// missing returns ErrMissing with what for sql.ErrNoRows, and other errors with what.
func missing(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrMissing
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// statement changes rows.
type statement struct {
	text string
	args []any
}

// do returns a statement.
func do(text string, args ...any) statement { return statement{text, args} }

// insert adds a row with these columns, unless there is one: "a, b, c".
func insert(table, columns string, args ...any) statement {
	places := make([]string, len(args))
	for i := range places {
		places[i] = placeAt(i + 1)
	}
	return do("INSERT INTO "+table+" ("+columns+") VALUES ("+strings.Join(places, ", ")+
		") ON CONFLICT DO NOTHING", args...)
}

// put is insert that changes these columns of the row with the same key, if there is one.
func put(table, key, columns, changed string, args ...any) statement {
	s := insert(table, columns, args...)
	sets := strings.Split(changed, ", ")
	for i, column := range sets {
		sets[i] = column + " = excluded." + column
	}
	s.text = strings.TrimSuffix(s.text, "DO NOTHING") + "(" + key + ") DO UPDATE SET " +
		strings.Join(sets, ", ")
	return s
}

// run executes statements, until one fails; the error says what they are to do. n is the number of
// rows that the last one has changed.
func run(ctx context.Context, tx *sql.Tx, what string, all ...statement) (n int64, err error) {
	for _, s := range all {
		var result sql.Result
		args, err := stored(s.args)
		if err == nil {
			result, err = tx.ExecContext(ctx, s.text, args...)
		}
		if err == nil {
			n, err = result.RowsAffected()
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", what, err)
		}
	}
	return n, nil
}

// exec executes a statement.
func exec(ctx context.Context, tx *sql.Tx, what, text string, args ...any) error {
	_, err := run(ctx, tx, what, do(text, args...))
	return err
}

// change is exec for what must change a row: the error wraps ErrMissing if it does not.
func change(ctx context.Context, tx *sql.Tx, what, text string, args ...any) error {
	n, err := run(ctx, tx, what, do(text, args...))
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: %w", what, ErrMissing)
	}
	return err
}
