// Hubdemo shows the hub with simulated machines, without root and without reboots: it starts
// krunhub in a temporary directory, lets machines join, submits simulated nights and an experiment
// that they share, and prints what the hub says of both. `make hub-demo` runs it:
//
//	hubdemo BIN EXPERIMENT.toml
//
// A machine here is a goroutine with a directory of its own. It does what krunctl hub ship and
// krund do on a real one: it asks the hub for an experiment, unpacks it, runs krund, and ships the
// records while krund runs. Records of nights are simulated. In a terminal, and with
// HUB_DEMO_STAY=1, the hub stays until Ctrl-C.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
)

const (
	machines = 3
	pool     = "demo"
	interval = time.Second // between two shipments
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: hubdemo BIN EXPERIMENT.toml")
		os.Exit(2)
	}
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "hubdemo:", err)
		os.Exit(1)
	}
}

// demo is the running demonstration.
type demo struct {
	bin, dir   string
	url, token string // of the hub; the token is the administrator's
}

func run(ctx context.Context, bin, config string) error {
	dir, err := os.MkdirTemp("", "hub-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	d := &demo{bin: bin, dir: dir}
	hub, err := d.startHub(ctx)
	if err != nil {
		return err
	}
	defer hub.Wait()                       //nolint:errcheck // it was asked to end
	defer hub.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
	fmt.Fprintf(os.Stdout, "The hub is at %s; log in with %s\n", d.url, d.token)
	working, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i := range machines {
		client, err := d.join(ctx, nameOf(i))
		if err != nil {
			return err
		}
		all.Go(func() { client.work(working) })
	}
	if err := d.show(ctx, config); err != nil {
		return err
	}
	stay := os.Getenv("HUB_DEMO_STAY") == "1"
	if terminal, err := os.Stdout.Stat(); err == nil && terminal.Mode()&os.ModeCharDevice != 0 {
		stay = true
	}
	if !stay {
		fmt.Fprintf(os.Stdout, "\nHUB_DEMO_STAY=1 keeps the hub until Ctrl-C; it was at\n%s\n", d.url)
		return nil
	}
	fmt.Fprintf(os.Stdout, "\nThe hub stays until Ctrl-C; log in with %s:\n%s\n", d.token, d.url)
	<-ctx.Done()
	return nil
}

// show submits the nights and an experiment that is measured, and prints what the hub says.
func (d *demo) show(ctx context.Context, config string) error {
	client := &api.Client{URL: d.url, Token: d.token}
	if err := submitNights(ctx, client, filepath.Join(d.dir, "nights")); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%d machines share %d simulated nights: %s/history\n", machines, nights, d.url)
	id, err := d.krunctl(ctx, io.Discard, "hub", "submit", config, "--to", pool, "--machines",
		fmt.Sprint(machines))
	if err != nil {
		return err
	}
	id = strings.TrimSpace(id[strings.LastIndexByte(strings.TrimSpace(id), '\n')+1:])
	fmt.Fprintf(os.Stdout, "They share experiment %s: %s/experiments/%s\n", id, d.url, id)
	if _, err := d.krunctl(ctx, io.Discard, "hub", "wait", id); err != nil {
		return err
	}
	events, err := awaitEvents(ctx, client)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "\nWhat the hub has found:")
	for _, e := range events {
		fmt.Fprintln(os.Stdout, "  "+jobs.EventText(&e))
	}
	return nil
}

// awaitEvents waits until the hub has found the events of the nights: one of each machine, and one
// more of one machine.
func awaitEvents(ctx context.Context, client *api.Client) ([]database.Event, error) {
	const patience = 3 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var answer struct {
			Events []database.Event `json:"events"`
		}
		err := client.Do(ctx, http.MethodGet, "/api/v1/events?name="+nightly, nil, &answer)
		if err != nil || len(answer.Events) > machines {
			return answer.Events, err
		}
		if err := (sysroot.RealClock{}).Sleep(ctx, interval); err != nil {
			return nil, fmt.Errorf("the hub has found %d events: %w", len(answer.Events), err)
		}
	}
}

// startHub starts krunhub, and reads its address and the first token.
func (d *demo) startHub(ctx context.Context) (*exec.Cmd, error) {
	c := exec.CommandContext(ctx, filepath.Join(d.bin, "krunhub"), "serve", "--listen", "127.0.0.1:0",
		"--data", filepath.Join(d.dir, "hub"))
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	log, err := os.Create(filepath.Join(d.dir, "hub.log"))
	if err != nil {
		return nil, err
	}
	c.Stderr = log
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for d.token == "" && lines.Scan() {
		for _, word := range strings.Fields(lines.Text()) {
			switch {
			case strings.HasPrefix(word, "http"):
				d.url = word
			case strings.HasPrefix(word, "krun_"):
				d.token = word
			}
		}
	}
	if d.url == "" || d.token == "" {
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("the hub did not start: %s", text)
	}
	return c, nil
}

// krunctl runs krunctl with the administrator's token.
func (d *demo) krunctl(ctx context.Context, show io.Writer, args ...string) (string, error) {
	var out strings.Builder
	c := exec.CommandContext(ctx, filepath.Join(d.bin, "krunctl"), args...)
	c.Env = append(os.Environ(), "KRUNHUB_URL="+d.url, "KRUNHUB_TOKEN="+d.token)
	c.Stdout, c.Stderr = io.MultiWriter(&out, show), os.Stderr
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("krunctl %s: %w", args[0], err)
	}
	return out.String(), nil
}

func nameOf(machine int) string { return fmt.Sprintf("bench-%d", machine+1) }

// machine is a simulated machine.
type machine struct {
	*demo
	name   string
	client *api.Client
}

// join registers a machine.
func (d *demo) join(ctx context.Context, name string) (*machine, error) {
	answer, err := (&api.Client{URL: d.url, Token: d.token}).Join(ctx,
		api.JoinRequest{Name: name, Pool: pool})
	if err != nil {
		return nil, err
	}
	return &machine{d, name, &api.Client{URL: d.url, Token: answer.Token}}, nil
}

func (m *machine) status() api.Status {
	return api.Status{Krund: display.Version(), BootID: m.name, Host: m.name}
}

// work asks for experiments and runs them until ctx ends.
func (m *machine) work(ctx context.Context) {
	for ctx.Err() == nil {
		receipt, err := m.client.Ship(ctx, api.Ship{Status: m.status()}, nil)
		if next := receipt.Orders.Next; err == nil && next != nil {
			if next.Name == nightly {
				err = measureNight(ctx, m.client, m.name, m.place(*next), *next)
			} else {
				err = m.execute(ctx, *next)
			}
			if err == nil {
				continue
			}
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", m.name, err)
		}
		_ = sysroot.RealClock{}.Sleep(ctx, interval) // ctx is looked at above
	}
}

// place is the machine's directory of an experiment.
func (m *machine) place(next api.Next) string {
	return filepath.Join(m.dir, m.name+"-"+next.Experiment)
}

// execute runs the machine's part of an experiment, and ships its records while it runs.
func (m *machine) execute(ctx context.Context, next api.Next) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	dir := m.place(next)
	file, err := unpack(ctx, m.client, dir, next)
	if err != nil {
		return err
	}
	results := filepath.Join(dir, next.Name+".krun")
	c := exec.CommandContext(ctx, filepath.Join(m.bin, "krund"), "run", "--directory", results, file)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	if err := c.Start(); err != nil {
		return err
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer end()
		ended <- c.Wait()
	}()
	for (sysroot.RealClock{}).Sleep(running, interval) == nil {
		if err := m.ship(ctx, results, next.Experiment, host); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", m.name, err)
		}
	}
	return errors.Join(<-ended, m.ship(ctx, results, next.Experiment, host))
}

// unpack unpacks a machine's part of an experiment, and returns the path of its configuration.
func unpack(ctx context.Context, client *api.Client, dir string, next api.Next) (string, error) {
	content, err := client.Blob(ctx, next.Bundle)
	if err != nil {
		return "", err
	}
	manifest, err := bundle.Unpack(content, dir, func(text []byte) ([]byte, error) {
		return config.WithShard(text, next.Index, next.Count), nil
	}, nil)
	return filepath.Join(dir, filepath.FromSlash(manifest.Config)), errors.Join(err, content.Close())
}

// ship sends what the hub does not have.
func (m *machine) ship(ctx context.Context, results, id, host string) error {
	f, err := experiment.Open(durable.OS(), results)
	if err != nil {
		return err
	}
	progress, name, err := ship.ProgressOf(f, host)
	if err != nil {
		return err
	}
	if _, err := os.Stat(f.Hub()); errors.Is(err, os.ErrNotExist) {
		memory := ship.Memory{Format: 1, Hub: m.client.URL, Experiment: id, Given: true,
			Files: map[string]string{}}
		if err := memory.Store(durable.OS(), f.Hub()); err != nil {
			return err
		}
	}
	_, err = ship.Shipper{Directory: f.Directory, Client: m.client, Name: name, Status: m.status(),
		Progress: progress}.Ship(ctx)
	return err
}
