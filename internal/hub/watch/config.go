// Package watch lets the hub begin measurements by itself: it looks at repositories, builds their
// revisions with a command that an administrator has configured, submits an experiment that
// compares each with the one that was measured before, and answers on the change.
//
// Each step is a transaction of the database: a hub that is killed goes on where it was. What is to
// be told goes through an outbox, see database.Telling. Names, comments and what builds leave
// behind are hostile; of a repository, the hub itself reads nothing but commits, and the files of a
// revision that a machine is to build. Start reading at [Watcher.Step].
package watch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"krund/internal/experiment/bundle"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
)

// Schedule is a repository that is watched.
type Schedule struct {
	Name       string // of the history of the experiments, see access.Series
	Project    string // of them
	Repository string // as git names it
	Branch     string
	// Every is "commit", or a time of day (UTC) such as "02:30".
	Every string
	// Missed says what happens to what the hub could not begin in time: "skip" or "catch up".
	Missed string
	Build  []string // argument vector, without a shell; see [Schedule.argv]
	// OnMachine: the machine that measures also builds, from the source in the bundle; see
	// execution.Build.
	OnMachine bool
	Timeout   time.Duration
	// Experiment is the path of its configuration, which finds what was built in builds/base and
	// builds/new beside it; {base} and {new} in it are the revisions.
	Experiment string
	// Again is the same for what measures events of the history again, before people are told of
	// them: it has a null arm; "": people are told at once, and nothing can be bisected.
	Again    string
	To       string // a machine or a pool
	Machines int64
	Priority int64
	Owner    string // of the experiments; "": nobody, admins may change them
	Keep     int    // artifacts
	Answer   Answer
}

// Answer is where the hub answers.
type Answer struct {
	Forge   string // github or gitlab; "": nowhere
	API     string // its address
	Project string // OWNER/NAME
	Token   string // path of a file with a token, or with the private key of a GitHub App
	App     int64  // its number, and that of its installation; 0: the file has a token
	Install int64
	Secret  string // path of a file with the secret of the webhook; "": comments begin nothing
	Page    string // address of the hub, for links; "": none
}

// File is a section [[schedule]] of hub.toml.
type File struct {
	Name       string   `toml:"name"`
	Project    string   `toml:"project"`
	Repository string   `toml:"repository"`
	Branch     string   `toml:"branch"`
	Every      string   `toml:"every"`
	Missed     string   `toml:"missed"`
	Build      []string `toml:"build"`
	BuildOn    string   `toml:"build_on"`
	Timeout    string   `toml:"timeout"`
	Experiment string   `toml:"experiment"`
	Again      string   `toml:"again"`
	To         string   `toml:"to"`
	Machines   int64    `toml:"machines"`
	Priority   int64    `toml:"priority"`
	Owner      string   `toml:"owner"`
	Keep       int      `toml:"keep"`
	Answer     struct {
		Forge        string `toml:"forge"`
		API          string `toml:"api"`
		Project      string `toml:"project"`
		Token        string `toml:"token_file"`
		App          int64  `toml:"app"`
		Installation int64  `toml:"installation"`
		Secret       string `toml:"webhook_secret_file"`
		Page         string `toml:"hub"`
	} `toml:"answer"`
}

// forges are the addresses of the forges' APIs.
func forges() map[string]string {
	return map[string]string{"github": "https://api.github.com", "gitlab": "https://gitlab.com/api/v4"}
}

// Schedule returns what the section says, or what is wrong with it.
func (f File) Schedule() (Schedule, error) {
	const keep, usualTime = 20, time.Hour
	a := f.Answer
	project := cmp.Or(f.Project, access.Default)
	s := Schedule{Name: access.Series(project, f.Name), Project: project,
		Repository: f.Repository, Branch: f.Branch, Every: cmp.Or(f.Every, "commit"),
		Missed: cmp.Or(f.Missed, "skip"), Build: f.Build, OnMachine: f.BuildOn == "machine",
		Timeout: usualTime, Experiment: f.Experiment,
		Again: f.Again, To: f.To,
		Machines: cmp.Or(f.Machines, 1), Priority: f.Priority, Owner: f.Owner, Keep: cmp.Or(f.Keep, keep),
		Answer: Answer{Forge: a.Forge, API: strings.TrimRight(cmp.Or(a.API, forges()[a.Forge]), "/"),
			Project: a.Project, Token: a.Token, App: a.App, Install: a.Installation, Secret: a.Secret,
			Page: strings.TrimRight(a.Page, "/")}}
	var err error
	if f.BuildOn != "" && f.BuildOn != "hub" && f.BuildOn != "machine" {
		return s, errors.New(`build_on: write "hub" or "machine"`)
	}
	if f.Timeout != "" {
		s.Timeout, err = time.ParseDuration(f.Timeout)
	}
	if err == nil {
		err = s.check()
	}
	return s, err
}

var (
	plainName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	branchName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$`)
	projectName = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
	gitAddress  = regexp.MustCompile(`^(https://|ssh://|git@|/)[^\s]+$`)
	webAddress  = regexp.MustCompile(`^https?://[^\s?#]+$`)
)

// check reports the first thing that is wrong.
func (s Schedule) check() error {
	const longest, mostKept = bundle.MaxBuild, 1000
	a := s.Answer
	_, isTime := s.timeOfDay()
	for _, c := range []struct {
		ok  bool
		say string
	}{
		{plainName.MatchString(s.plain()),
			`name = "` + s.plain() + `": write letters, digits, dots, hyphens`},
		{access.ValidProject(s.Project), `project: write its name: lower-case letters, digits, hyphens`},
		{gitAddress.MatchString(s.Repository),
			`repository: write "https://...", "ssh://..." or a path from /`},
		{branchName.MatchString(s.Branch) && !strings.Contains(s.Branch, ".."),
			`branch: write its name: "main"`},
		{s.Every == "commit" || isTime, `every: write "commit", or a time of day in UTC such as "02:30"`},
		{s.Missed == "skip" || s.Missed == "catch up", `missed: write "skip" or "catch up"`},
		{len(s.Build) > 0 && (s.OnMachine || filepath.IsAbs(s.Build[0])),
			`build: write the command, with the absolute path of its program: ["/usr/local/bin/build-vm", ` +
				`"{repository}", "{ref}", "{revision}", "{directory}"]`},
		{s.Timeout >= time.Second && s.Timeout <= longest, `timeout (of the build): write up to "12h"`},
		{filepath.IsAbs(s.Experiment), `experiment: write the absolute path of the configuration`},
		{s.Again == "" || filepath.IsAbs(s.Again), `again: write the absolute path of a configuration`},
		{api.ValidMachine(s.To), `to: write the name of a machine or a pool`},
		{s.Machines > 0, `machines: write how many share it, from 1`},
		{s.Owner == "" || api.ValidName(s.Owner), `owner: write the name of a user`},
		{s.Keep > 1 && s.Keep <= mostKept, `keep (artifacts): write 2 to 1000`},
		{a.Forge == "" || forges()[a.Forge] != "", `answer.forge: write "github" or "gitlab"`},
		{a.Forge == "" || webAddress.MatchString(a.API), `answer.api: write its address, "https://..."`},
		{a.Forge == "" || projectName.MatchString(a.Project), `answer.project: write "OWNER/NAME"`},
		{a.Forge == "" || filepath.IsAbs(a.Token), `answer.token_file: write the absolute path of a file`},
		{(a.App == 0) == (a.Install == 0), `answer.app, answer.installation: write both numbers, or none`},
		{a.Secret == "" || filepath.IsAbs(a.Secret), `answer.webhook_secret_file: write an absolute path`},
		{a.Page == "" || webAddress.MatchString(a.Page),
			`answer.hub: write this hub's address, "https://..."`},
	} {
		if !c.ok {
			return errors.New(c.say)
		}
	}
	return nil
}

// plain is the name of the experiments.
func (s Schedule) plain() string { return strings.TrimPrefix(s.Name, s.Project+"/") }

// Rebuilds reports whether one of the schedules says how events of a name are measured again.
func Rebuilds(all []Schedule, name string) bool {
	return slices.ContainsFunc(all, func(s Schedule) bool { return s.Name == name && s.Again != "" })
}

// timeOfDay returns the time after midnight at which nights begin; ok is false if it is no time.
func (s Schedule) timeOfDay() (time.Duration, bool) {
	t, err := time.Parse("15:04", s.Every)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err == nil
}

// night returns the last time at which a night has begun.
func (s Schedule) night(now time.Time) time.Time {
	const day = 24 * time.Hour
	after, _ := s.timeOfDay()
	now = now.UTC()
	t := now.Truncate(day).Add(after)
	if t.After(now) {
		t = t.Add(-day)
	}
	return t
}

// argv returns the command that builds a revision, found at ref, into a directory. {directory} may
// stand for itself: the machine that builds puts its own there.
func (s Schedule) argv(revision, ref, directory string) []string {
	words := strings.NewReplacer("{repository}", s.Repository, "{revision}", revision, "{ref}", ref,
		"{directory}", directory)
	argv := slices.Clone(s.Build)
	for i := range argv {
		argv[i] = words.Replace(argv[i])
	}
	return argv
}

// Check returns an error unless the names of the schedules differ.
func Check(all []Schedule) error {
	seen := map[string]bool{}
	for _, s := range all {
		if seen[strings.ToLower(s.Name)] {
			return fmt.Errorf("there are two schedules %q; give one another name", s.Name)
		}
		seen[strings.ToLower(s.Name)] = true
	}
	return nil
}
