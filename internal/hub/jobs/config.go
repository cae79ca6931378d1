package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/hub/access"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
	"krund/internal/machine/command"
)

// Config is the file that says how machines are restarted by their power, who is notified, and what
// is measured by itself.
type Config struct {
	Notify command.Notifier
	// Projects are notified of their events, and nobody else of these.
	Projects map[string]command.Notifier
	Power    []Power

	Weights   Weights          // of machine time
	Schedules []watch.Schedule // repositories that are measured without being asked

	Keep time.Duration // how long experiments are kept after they have changed last; 0: for ever

	Histories *Histories  // not in the file
	Store     store.Store // not in the file
}

// Power restarts machines. The first whose pattern matches counts.
type Power struct {
	Machines string        // a pattern of names; * ? and [a-z] match as in file names
	Cycle    []string      // argument vector, without a shell; {machine} is the machine's name
	Timeout  time.Duration // of the command
	Times    int64         // how often, until the machine reports again
}

// ReadConfig reads the file; without one, nothing is restarted and no one is notified.
func ReadConfig(fsys durable.FS, name string) (Config, error) {
	const most = 1 << 20
	text, err := durable.ReadSmallFile(fsys, name, most)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err == nil {
		var c Config
		if c, err = ParseConfig(string(text)); err == nil {
			return c, nil
		}
	}
	return Config{}, fmt.Errorf("%s: %w", name, err)
}

// file is the text's form.
type file struct {
	Keep    string            `toml:"keep"`
	Notify  notify            `toml:"notify"`
	Project map[string]notify `toml:"project"`
	Power   []struct {
		Machines string   `toml:"machines"`
		Cycle    []string `toml:"cycle"`
		Timeout  string   `toml:"timeout"`
		Times    *int64   `toml:"times"`
	} `toml:"power"`
	Schedule []watch.Schedule `toml:"schedule"`
	Weights  []struct {
		User   string  `toml:"user"`
		Series string  `toml:"series"`
		Weight float64 `toml:"weight"`
	} `toml:"share"`
}

// notify is a section of those who are notified.
type notify struct {
	Mail     []string `toml:"mail"`
	Sendmail string   `toml:"sendmail"`
	Command  []string `toml:"command"`
	Webhook  string   `toml:"webhook"`
}

func (n notify) notifier() command.Notifier {
	return command.Notifier{Mail: n.Mail, Sendmail: cmp.Or(n.Sendmail, "/usr/sbin/sendmail"),
		Command: n.Command, Webhook: n.Webhook}
}

// ParseConfig parses the text.
func ParseConfig(text string) (Config, error) {
	var f file
	meta, err := toml.Decode(text, &f)
	if err != nil {
		return Config{}, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Config{}, fmt.Errorf("there is no key %s; correct its name, or remove it", unknown[0])
	}
	c := Config{Notify: f.Notify.notifier(), Projects: map[string]command.Notifier{}}
	for project, n := range f.Project {
		if !access.ValidProject(project) || project == access.Default {
			return Config{}, fmt.Errorf("project.%s: write the name of a project, in lower-case letters, "+
				"digits and hyphens; [notify] is for the project default", project)
		}
		c.Projects[project] = n.notifier()
	}
	if f.Keep != "" {
		const least = 24 * time.Hour
		if c.Keep, err = config.ParseDuration(f.Keep); err == nil && c.Keep < least {
			err = errors.New("it is shorter than a day")
		}
		if err != nil {
			return Config{}, fmt.Errorf("keep = %q: %w; write \"365d\", or remove it to keep experiments "+
				"for ever", f.Keep, err)
		}
	}
	for i, p := range f.Power {
		power := Power{Machines: p.Machines, Cycle: p.Cycle, Timeout: time.Minute, Times: 2}
		if p.Timeout != "" {
			if power.Timeout, err = time.ParseDuration(p.Timeout); err != nil {
				return Config{}, fmt.Errorf("power %d: timeout: %w", i+1, err)
			}
		}
		if p.Times != nil {
			power.Times = *p.Times
		}
		if err := power.check(); err != nil {
			return Config{}, fmt.Errorf("power %d: %w", i+1, err)
		}
		c.Power = append(c.Power, power)
	}
	for i, w := range f.Weights {
		const least, most = 0.001, 1000
		one := Weight{w.User + w.Series, w.Weight}
		_, err := path.Match(one.Name, "")
		switch {
		case err != nil, (w.User == "") == (w.Series == ""), !(w.Weight >= least && w.Weight <= most):
			return Config{}, fmt.Errorf(`share %d: write user = "NAME" or series = "NAME", and weight = 0.001 `+
				"to 1000", i+1)
		case w.User != "":
			c.Weights.Users = append(c.Weights.Users, one)
		default:
			c.Weights.Series = append(c.Weights.Series, one)
		}
	}
	for i, f := range f.Schedule {
		s, err := f.Complete()
		if err != nil {
			return Config{}, fmt.Errorf("schedule %d: %w", i+1, err)
		}
		c.Schedules = append(c.Schedules, s)
	}
	return c, watch.Check(c.Schedules)
}

func (p Power) check() error {
	const mostTimes, longest = 10, 10 * time.Minute
	if _, err := path.Match(p.Machines, ""); err != nil || p.Machines == "" {
		return fmt.Errorf("machines = %q is no pattern of names; write \"lab*\"", p.Machines)
	}
	switch {
	case len(p.Cycle) == 0 || !filepath.IsAbs(p.Cycle[0]):
		return errors.New(`cycle is no command; write ["/usr/bin/ipmitool", "-H", "{machine}-bmc", ...], ` +
			`with the absolute path of the program`)
	case p.Timeout <= 0 || p.Timeout > longest:
		return fmt.Errorf("timeout = %q; write up to %q", p.Timeout, longest)
	case p.Times < 1 || p.Times > mostTimes:
		return fmt.Errorf("times = %d; write 1 to %d", p.Times, mostTimes)
	}
	return nil
}

// power returns how a machine is restarted; ok is false if that is not configured.
func (c Config) power(machine string) (p Power, ok bool) {
	for _, p := range c.Power {
		if match, err := path.Match(p.Machines, machine); err == nil && match {
			return p, true
		}
	}
	return Power{}, false
}

// argv returns the command for a machine.
func (p Power) argv(machine string) []string {
	argv := make([]string, len(p.Cycle))
	for i, word := range p.Cycle {
		argv[i] = strings.ReplaceAll(word, "{machine}", machine)
	}
	return argv
}
