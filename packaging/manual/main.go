// Manual generates the manual pages whose text is maintained elsewhere: one for krunctl (or
// krunhub) and one for each of its commands, from the output of `krunctl COMMAND --help`, and
// krund.toml(5), from docs/config.md. krund(8) and libkrun(3) are written by hand.
//
//	manual -program build/bin/krunctl -config docs/config.md -version 0.1.0 \
//	       -date 2026-11-21 -o DIR
//
// Start reading at run. help.go and markdown.go convert texts to blocks, roff.go converts blocks to
// man(7).
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// options are the command line flags.
type options struct {
	program, config, out string
	version, date        string
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("manual", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.program, "program", "", "the program whose help is the text")
	flags.StringVar(&o.config, "config", "", "the page about the configuration; none without it")
	flags.StringVar(&o.out, "o", "", "directory for the pages; it must exist")
	flags.StringVar(&o.version, "version", "", "of krund, for the foot of the page")
	flags.StringVar(&o.date, "date", "", "of the text, YYYY-MM-DD")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, f := range []string{"program", "o", "version", "date"} {
		if flags.Lookup(f).Value.String() == "" {
			return fmt.Errorf("-%s is missing", f)
		}
	}
	pages, err := o.programPages(ctx)
	if err != nil {
		return err
	}
	if o.config != "" {
		text, err := os.ReadFile(o.config)
		if err != nil {
			return err
		}
		pages = append(pages, configPage(string(text)))
	}
	for _, p := range pages {
		name := filepath.Join(o.out, fmt.Sprintf("%s.%d", p.name, p.section))
		if err := os.WriteFile(name, []byte(p.roff(o.version, o.date)),
			0o644); err != nil { //nolint:gosec // readable by all users
			return err
		}
	}
	return nil
}

// helpTimeout bounds one call of the program.
const helpTimeout = 30 * time.Second

// programPages returns krunctl(1) and krunctl-COMMAND(1) for every command that `krunctl --help`
// lists.
func (o options) programPages(ctx context.Context) ([]page, error) {
	top, err := o.help(ctx)
	if err != nil {
		return nil, err
	}
	all := parseCommands(top)
	if len(all) == 0 {
		return nil, errors.New(o.program + " --help lists no commands")
	}
	name := filepath.Base(o.program)
	pages := []page{overview(name, top, all)}
	for _, c := range all {
		text, err := o.help(ctx, c.name)
		if err != nil {
			return nil, err
		}
		pages = append(pages, commandPage(name, c, text))
	}
	return pages, nil
}

func (o options) help(ctx context.Context, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, helpTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, o.program, append(command, "--help")...)
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, bytes.TrimSpace(talk.Bytes()))
	}
	return out.String(), nil
}
