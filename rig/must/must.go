// Package must shortens what every test repeats: one line for a call that must succeed and for a
// value that must equal another. It knows nothing of krund. Start reading at Do and Get.
package must

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Do ends the test if err is not nil. The message says what follows, too: the name of a case.
func Do(t testing.TB, err error, about ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(message(err.Error(), about))
	}
}

// Get returns the value of a call, `must.Get(f())(t)`, and ends the test if it failed.
func Get[T any](value T, err error) func(t testing.TB, about ...any) T {
	return func(t testing.TB, about ...any) T {
		t.Helper()
		Do(t, err, about...)
		return value
	}
}

// Get2 is Get for a call that returns two values.
func Get2[T, U any](a T, b U, err error) func(t testing.TB, about ...any) (T, U) {
	return func(t testing.TB, about ...any) (T, U) {
		t.Helper()
		Do(t, err, about...)
		return a, b
	}
}

// Equal reports a value that is not the wanted one. Like those below, it lets the test go on.
func Equal[T comparable](t testing.TB, got, want T, about ...any) {
	t.Helper()
	if got != want {
		t.Error(message(fmt.Sprintf(verbs(got), got, want), about))
	}
}

// EqualList reports a slice whose values are not the wanted ones; nil and an empty one are equal.
func EqualList[T comparable](t testing.TB, got, want []T, about ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Error(message(fmt.Sprintf(verbs(got), got, want), about))
	}
}

// Contain reports a text that part is not in.
func Contain(t testing.TB, text, part string, about ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Error(message(fmt.Sprintf("no %q in\n%s", part, text), about))
	}
}

// Fail reports an error that is not the wanted one, and that there is none.
func Fail(t testing.TB, err, want error, about ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Error(message(fmt.Sprintf("error %v, want %v", err, want), about))
	}
}

// Refuse reports that there is no error, and one whose message does not contain part.
func Refuse(t testing.TB, err error, part string, about ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Error(message(fmt.Sprintf("error %v, want one with %q", err, part), about))
	}
}

// Refused is Refuse for a call that returns a value, too: `must.Refused(f())(t, part)`.
func Refused[T any](_ T, err error) func(t testing.TB, part string, about ...any) {
	return func(t testing.TB, part string, about ...any) {
		t.Helper()
		Refuse(t, err, part, about...)
	}
}

// Be reports a condition that does not hold.
func Be(t testing.TB, holds bool, about ...any) {
	t.Helper()
	if !holds {
		t.Error(message("", about))
	}
}

// Need ends the test if a condition does not hold that what follows depends on.
func Need(t testing.TB, holds bool, about ...any) {
	t.Helper()
	if !holds {
		t.Fatal(message("", about))
	}
}

// Write writes a file whose directories it creates.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

// Long skips a test that repeats one thing very often where tests are to be short: with the race
// detector.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("repeats one thing very often")
	}
}

// Root skips a test that only root can do; why is what needs it.
func Root(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip(why)
	}
}

// Often returns how often a test repeats something: quick, or slow with the build tag slow.
func Often(quick, slow int) int {
	if Slow {
		return slow
	}
	return quick
}

// verbs returns the format of two values like v: texts are quoted, and structures have their names.
func verbs(v any) string {
	switch v.(type) {
	case string, []string:
		return "got %q, want %q"
	}
	return "got %+v, want %+v"
}

// message puts what a failure is about before it.
func message(text string, about []any) string {
	if len(about) == 0 {
		return text
	}
	for i, a := range about {
		switch a := a.(type) {
		case string, error, fmt.Stringer:
		case []byte:
			about[i] = string(a)
		default:
			about[i] = fmt.Sprintf("%+v", a)
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintln(about...), "\n")+": "+text, ": ")
}
