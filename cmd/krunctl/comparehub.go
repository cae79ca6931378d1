package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"krund/internal/hub/submit"
)

// onHub reports whether the arguments are ids of experiments on a hub: there are no such files.
func (a *app) onHub(args []string) bool {
	const shortest = 16 // letters and digits of an id
	_, err := a.fsys.Lstat(args[0])
	return err != nil && len(args[0]) >= shortest && strings.Trim(args[0],
		"0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// compareOnHub fetches experiments of a hub into a temporary directory, and compares them there.
func (a *app) compareOnHub(ctx context.Context, ids []string, o compareOptions) error {
	client, err := a.hubClient()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "krunctl-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	var dirs, names []string
	for i, id := range ids {
		one := filepath.Join(dir, fmt.Sprint(i))
		name, err := submit.Fetch(ctx, client, id, one)
		if err != nil {
			return err
		}
		one = filepath.Join(one, name)
		dirs, o.names = append(dirs, one), append(o.names, name+" ("+id+")")
		names = append(names, one, o.names[i])
	}
	replace := strings.NewReplacer(names...)
	a.stderr = renaming{a.stderr, replace}
	err = a.compare(dirs, o)
	if message(err) == "" { // success, or a verdict
		return err
	}
	return renamed{err, replace}
}

// renaming writes messages in which temporary directories have the names of their experiments.
type renaming struct {
	io.Writer
	replace *strings.Replacer
}

func (r renaming) Write(text []byte) (int, error) {
	if _, err := r.replace.WriteString(r.Writer, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// renamed is an error with such a message.
type renamed struct {
	error
	replace *strings.Replacer
}

func (r renamed) Error() string { return r.replace.Replace(r.error.Error()) }
func (r renamed) Unwrap() error { return r.error }
