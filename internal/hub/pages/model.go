package pages

import (
	"html/template"
	"time"

	"krund/internal/analysis/compare"
	"krund/internal/display"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
)

// Frame is what surrounds the content of every page.
type Frame struct {
	Title   string // of the page, without the hub's name
	Section string // of the navigation, such as "machines"; "" marks none
	User    string // name; "": not logged in, and there is no navigation
	Role    string
	Writes  bool      // the user may change something
	Live    bool      // the page follows the hub's events
	Now     time.Time // of the page
	Note    string    // a message about the request before this one; "": none
	Open    int       // events that are open
	Version string    // of krunhub
}

// Link is a text that leads somewhere. Address "" is text alone.
type Link struct {
	Text    string `json:"name"`
	Address string `json:"page"` // on this hub
}

// State is a word with a class for its color: "good", "busy", "bad", "idle".
type State struct{ Text, Class string }

// MarshalText is the word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.Text), nil }

// Machines is the list of all machines.
type Machines struct {
	Frame `json:"-"`
	List  []Machine `json:"machines"`
	Total int       `json:"total"` // machines of the hub
	Next  string    `json:"next"`  // address of the next part of the list; "": this is the end
}

// Machine is a line of Machines, and the head of MachinePage.
type Machine struct {
	Link
	Pool       string        `json:"pool"`
	State      State         `json:"state"`
	Experiment Link          `json:"experiment"` // that it runs now; "" none
	Seen       time.Time     `json:"seen"`       // last message; zero: never
	Booted     time.Time     `json:"booted"`     // start of its last boot that the hub knows; zero: unknown
	Controls   int           `json:"controls"`   // that were checked in its last record; 0: unknown
	Unfit      []string      `json:"unfit"`      // of these, those that were not as wanted
	Warnings   []string      `json:"warnings"`   // other problems that it reported last
	More       int           `json:"more"`       // of both, those that are on the machine's page only
	Noise      string        `json:"noise"`      // summary of its noise certificate; "": none
	Left       time.Duration `json:"left_ns"`    // until its experiment is done; 0: unknown
}

// MachinePage is about one machine.
type MachinePage struct {
	Frame `json:"-"`
	Machine
	Events []EventRow          `json:"events"` // that are open
	Power  []database.PowerAct `json:"power"`  // the newest first
	Facts  []Fact              `json:"facts"`
	Shares []ShareRow          `json:"experiments"` // its parts of them, the newest first
}

// Fact is a named value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Queue is what waits and what runs, in the order in which it is served.
type Queue struct {
	Frame `json:"-"`
	List  []Job  `json:"experiments"`
	More  int    `json:"more"` // that follow
	Next  string `json:"next"` // address of the next part of the list; "": this is the end
	Busy  []Link `json:"busy"` // machines that measure for other projects
}

// Runs are revisions that the hub measures by itself, the newest first.
type Runs struct {
	Frame `json:"-"`
	List  []RunRow `json:"runs"`
	Next  string   `json:"next"` // address of the next part of the list; "": this is the end
}

// RunRow is a revision that the hub measures by itself.
type RunRow struct {
	database.Run
	Shown State `json:"-"`
	Link  Link  `json:"experiment"` // without an address: there is none
}

// Experiments is the list of all experiments, the newest first.
type Experiments struct {
	Frame `json:"-"`
	List  []Job  `json:"experiments"`
	Next  string `json:"next"` // address of the next part of the list; "": this is the end
}

// Job is an experiment in a list.
type Job struct {
	Link
	ID        string        `json:"id"`
	Owner     string        `json:"owner"`
	Project   string        `json:"project"`
	State     State         `json:"state"`
	Target    string        `json:"target"` // machine or pool
	Priority  int           `json:"priority"`
	Submitted time.Time     `json:"submitted"`
	Finished  int           `json:"finished"` // slots
	Total     int           `json:"slots"`    // of the parts that were begun; 0: unknown
	Parts     int           `json:"parts"`    // that machines share
	Begun     int           `json:"begun"`    // of them
	Failed    int           `json:"failed"`   // slots
	Left      time.Duration `json:"left_ns"`  // 0: unknown
	Why       string        `json:"reason"`   // why it waits; "": it does not
	Answer    string        `json:"answer"`   // what it has shown; "": nothing yet
	Mine      bool          `json:"-"`        // the user may change it
	Ends      bool          `json:"-"`        // it runs or waits, so that it can be stopped
}

// ExperimentPage is about one experiment.
type ExperimentPage struct {
	Frame `json:"-"`
	Job
	Picture  template.HTML  `json:"-"`        // of the effects; "" unless arms were compared
	Bundle   string         `json:"bundle"`   // hash
	Shares   []ShareRow     `json:"machines"` // its parts
	Failures []Failure      `json:"failures"`
	Omitted  int            `json:"omitted"` // failures that are not listed
	Report   string         `json:"report"`  // address; "": nothing was measured yet
	Others   []Choice       `json:"-"`       // what it can be compared with
	Levels   compare.Levels `json:"levels"`  // how much its machines differ
	Events   []EventRow     `json:"events"`  // that were found with it
}

// ShareRow is one machine's part of an experiment.
type ShareRow struct {
	Machine    Link          `json:"machine"`
	Experiment Link          `json:"experiment"`
	Answer     string        `json:"answer,omitempty"` // what the experiment has shown
	State      State         `json:"state"`
	Strip      template.HTML `json:"-"`      // of its slots
	Counts     []count       `json:"counts"` // of slots in each state
	Left       time.Duration `json:"left_ns"`
	Report     string        `json:"report"` // address; "": there is nothing to report yet
}

// Failure is an attempt that failed.
type Failure struct {
	api.Failure
	Machine Link      `json:"machine"`
	When    time.Time `json:"when"`
}

// Compare is the choice of two sides to compare.
type Compare struct {
	Frame
	Choices             []Choice
	Before, After       string // values of the choices
	ArmBefore, ArmAfter string
}

// Choice is an option of a list.
type Choice struct{ Value, Text string }

// Alerts is the list of alerts, those that are open first.
type Alerts struct {
	List []Alert `json:"alerts"`
	Next string  `json:"next"` // address of the next part of the list; "": this is the end
}

// Alert is a machine that does not report.
type Alert struct {
	ID      string    `json:"id"`
	Raised  time.Time `json:"raised"`
	State   State     `json:"state"` // open, closed or muted
	Subject Link      `json:"subject"`
	Text    string    `json:"text"`
	Muted   bool      `json:"muted"`
	Mine    bool      `json:"-"` // the user may mute it
}

// Result is what an experiment has shown.
type Result struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	State  State  `json:"state"`
	Answer string `json:"answer"` // a sentence; "": nothing yet
	// Comparison is of its arms, nil without them, and Levels how much its machines differ.
	Comparison *compare.Result `json:"comparison"`
	Levels     compare.Levels  `json:"levels"`
}

// Tokens is the list of the tokens that the user may see.
type Tokens struct {
	Frame    `json:"-"`
	List     []Token  `json:"tokens"`
	Fresh    string   `json:"-"` // a token that was just made, shown once
	Roles    []string `json:"-"` // that the user may give
	Everyone bool     `json:"-"` // the tokens of all are listed, and can be made for others
	Own      string   `json:"-"` // name of the user
	Next     string   `json:"next"`
}

// Token is a line of Tokens.
type Token struct {
	database.Token      // Owner is the name of the user or machine
	Current        bool `json:"current"` // the one that this page was asked for with
}

// Login asks who the user is.
type Login struct {
	Frame
	Failed   string // why the last attempt did not succeed; "": it is the first one
	Next     string // address to go to afterwards, a path of the hub
	Provider string // address of the OpenID Connect provider's log-in; "": there is none
}

// Message is a page with one message: an error, or something that takes time.
type Message struct {
	Frame
	Text string
	Back Link
}

// All is the number of slots, as far as it is known: parts that no machine has begun are as large
// as the others.
func (j Job) All() int {
	if j.Ends && j.Begun > 0 && j.Begun < j.Parts {
		return j.Total * j.Parts / j.Begun
	}
	return j.Total
}

// Progress is the number of finished slots as a sentence for the screen and a screen reader.
func (j Job) Progress() string {
	if j.Total == 0 {
		return "not started"
	}
	text := display.Count(j.Finished, "execution")
	if all := j.All(); j.Finished < all {
		text = progressOf(j.Finished, all)
	}
	if j.Failed > 0 {
		text += ", " + display.Count(j.Failed, "failure")
	}
	return text
}
