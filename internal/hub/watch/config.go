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

// Schedule is a repository that is watched: a section [[schedule]] of hub.toml.
type Schedule struct {
	Name       string `toml:"name"`       // when completed: of the history of the experiments, see access.Series
	Project    string `toml:"project"`    // of them
	Repository string `toml:"repository"` // as git names it
	Branch     string `toml:"branch"`
	// Every is "commit", or a time of day (UTC) such as "02:30".
	Every string `toml:"every"`
	// Missed says what happens to what the hub could not begin in time: "skip" or "catch up".
	Missed string   `toml:"missed"`
	Build  []string `toml:"build"` // argument vector, without a shell; see [Schedule.argv]
	// BuildOn is "hub", or "machine": the machine that measures also builds, from the source in the
	// bundle; see execution.Build.
	BuildOn string        `toml:"build_on"`
	Timeout time.Duration `toml:"timeout"`
	// Experiment is the path of its configuration, which finds what was built in builds/base and
	// builds/new beside it; {base} and {new} in it are the revisions.
	Experiment string `toml:"experiment"`
	// Again is the same for what measures events of the history again, before people are told of
	// them: it has a null arm; "": people are told at once, and nothing can be bisected.
	Again    string `toml:"again"`
	To       string `toml:"to"` // a machine or a pool
	Machines int64  `toml:"machines"`
	Priority int64  `toml:"priority"`
	Owner    string `toml:"owner"` // of the experiments; "": nobody, admins may change them
	Keep     int    `toml:"keep"`  // artifacts
	Answer   Answer `toml:"answer"`
}

// Answer is where the hub answers.
type Answer struct {
	Forge   string `toml:"forge"`   // github or gitlab; "": nowhere
	API     string `toml:"api"`     // its address
	Project string `toml:"project"` // OWNER/NAME
	// Token is the path of a file with a token, or with the private key of a GitHub App.
	Token   string `toml:"token_file"`
	App     int64  `toml:"app"` // its number, and that of its installation; 0: the file has a token
	Install int64  `toml:"installation"`
	// Secret is the path of a file with the secret of the webhook; "": comments begin nothing.
	Secret string `toml:"webhook_secret_file"`
	Page   string `toml:"hub"` // address of the hub, for links; "": none
}

// forges are the addresses of the forges' APIs.
func forges() map[string]string {
	return map[string]string{"github": "https://api.github.com", "gitlab": "https://gitlab.com/api/v4"}
}

// Complete returns what the section says with what it leaves out, or what is wrong with it.
func (s Schedule) Complete() (Schedule, error) {
	const keep = 20
	s.Project = cmp.Or(s.Project, access.Default)
	s.Name = access.Series(s.Project, s.Name)
	s.Every, s.Missed = cmp.Or(s.Every, "commit"), cmp.Or(s.Missed, "skip")
	s.BuildOn, s.Timeout = cmp.Or(s.BuildOn, "hub"), cmp.Or(s.Timeout, time.Hour)
	s.Machines, s.Keep = cmp.Or(s.Machines, 1), cmp.Or(s.Keep, keep)
	a := &s.Answer
	a.API = strings.TrimRight(cmp.Or(a.API, forges()[a.Forge]), "/")
	a.Page = strings.TrimRight(a.Page, "/")
	return s, s.check()
}

// onMachine reports whether the machine that measures also builds.
func (s Schedule) onMachine() bool { return s.BuildOn == "machine" }

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
		{s.BuildOn == "hub" || s.onMachine(), `build_on: write "hub" or "machine"`},
		{len(s.Build) > 0 && (s.onMachine() || filepath.IsAbs(s.Build[0])),
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
