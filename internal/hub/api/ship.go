// Package api is what machines, programs and the hub say to each other: paths, messages, limits,
// and the client. krunctl links it, and nothing else of the hub. It contains no SQL and starts
// nothing.
//
// Messages are JSON. A request has the header "Authorization: Bearer TOKEN". An error is {"error":
// "what, where, what to do next"} with a status of 400 or above. Fields that a reader does not know
// are skipped.
//
// # Shipping
//
// The body of POST /api/v1/ship is one line of JSON, a [Ship], and then the contents of its
// Entries, one after the other, each as long as its Size. The answer, a [Receipt], is sent after
// everything is durable: contents first, then the rows that refer to them, in one transaction.
// Sending the same again changes nothing. A machine has the experiments that it shipped or was
// given, and no others.
//
// Start reading at [Ship] and [Client].
package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"krund/internal/display"
)

// Paths.
const (
	PathShip = "/api/v1/ship"
	PathJoin = "/api/v1/join"
	PathHave = "/api/v1/records" // ?experiment=ID&after=SEQ
	PathBlob = "/api/v1/blobs/"  // and the hash
)

// Limits of one request. The hub refuses what exceeds them, and cuts what is for people: texts,
// flags, and lists of warnings, controls and failures.
const (
	MaxJSON    = 1 << 20   // bytes of a message without contents, or of its first line
	MaxEntries = 1000      // of a Ship
	MaxBlob    = 256 << 20 // bytes of one content
	MaxShip    = 320 << 20 // bytes of a whole Ship
	MaxFile    = 32 << 20  // bytes of a file that is not a record
	MaxName    = 200       // bytes of a name

	MaxFacts    = 16 << 10 // bytes of the names and values of a machine's facts
	MaxFlags    = 100000
	MaxFailures = 20
	MaxWarnings = 20
	MaxUnfit    = 20
	MaxText     = 1000 // bytes of a warning, a reason, a key or a name of a control
)

// Ship is what a machine reports and sends. Without an experiment it only reports, and asks what is
// next.
type Ship struct {
	Status     Status             `json:"status"`
	Experiment *ShippedExperiment `json:"experiment,omitempty"`
	Entries    []Entry            `json:"entries,omitempty"`
}

// Status is the state of a machine.
type Status struct {
	Krund  string `json:"krund"`           // version
	BootID string `json:"boot_id"`         // the kernel's random name of the boot
	Host   string `json:"host"`            // name
	Clock  string `json:"clock,omitempty"` // the machine's wall clock, RFC 3339; may be wrong
	Held   bool   `json:"held,omitempty"`  // all experiments of the machine are held
	Busy   bool   `json:"busy,omitempty"`  // an experiment is enabled: the machine cannot begin another

	Facts    map[string]string `json:"facts,omitempty"`    // of the machine, by name; at most MaxFacts bytes
	Warnings []string          `json:"warnings,omitempty"` // at most MaxWarnings
}

// ShippedExperiment names an experiment of a machine and reports how far it is.
type ShippedExperiment struct {
	ID         string   `json:"id,omitempty"` // as the hub gave it; "": one that the machine began by itself
	Name       string   `json:"name"`
	ConfigHash string   `json:"config_hash"` // SHA-256 of the configuration's text
	Created    string   `json:"created"`     // of the schedule, with the next two its identity
	Seed       uint64   `json:"seed,string"`
	Progress   Progress `json:"progress"`
}

// Progress is how far an experiment is on a machine.
type Progress struct {
	Slots     int    `json:"slots"`     // planned process executions
	Completed int    `json:"completed"` // with a result
	Failed    int    `json:"failed"`    // error or timeout, no attempts left
	Skipped   int    `json:"skipped"`
	Left      int    `json:"left"`                // outstanding
	Seconds   int64  `json:"seconds,omitempty"`   // estimate until the end, 0 unknown
	NextBoot  int64  `json:"next_boot,omitempty"` // seconds until the machine should ask again, 0 unknown
	Held      bool   `json:"held,omitempty"`
	Ended     bool   `json:"ended,omitempty"`  // nothing is outstanding, or krund stopped
	Reason    string `json:"reason,omitempty"` // why krund stopped
	Running   string `json:"running,omitempty"`

	Flags    string    `json:"flags,omitempty"`    // of the slots, as in the schedule: at most MaxFlags letters
	Failures []Failure `json:"failures,omitempty"` // the first ones, at most MaxFailures
	// Of the last record: how many controls were checked, and which were not as wanted.
	Controls int      `json:"controls,omitempty"`
	Unfit    []string `json:"unfit,omitempty"` // at most MaxUnfit names
}

// Details are the parts of Progress that are long.
type Details struct {
	Flags    string    `json:"flags,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
}

// Details returns p without its details, and these.
func (p Progress) Details() (Progress, Details) {
	d := Details{p.Flags, p.Failures}
	p.Flags, p.Failures = "", nil
	return p, d
}

// Failure is a slot that failed, with its last attempt.
type Failure struct {
	Slot    int    `json:"slot"`
	Attempt int    `json:"attempt"`
	Key     string `json:"key"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// Entry announces a content. It is a record if Name is empty.
type Entry struct {
	Slot    int    `json:"slot,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // from 1
	Name    string `json:"name,omitempty"`    // of another file of the directory; see FileNames
	Hash    string `json:"hash"`              // SHA-256, 64 lower-case hexadecimal digits
	Size    int64  `json:"size"`
}

// FileNames returns the files of an experiment's directory that are shipped beside the records:
// what the readers of a directory need, and what people look at. A file is sent again when it
// changes.
func FileNames() []string {
	return []string{"config.toml", "schedule", "fingerprint.json", "noise.json", "decisions.json", FileLog,
		FileReplaced}
}

// Files that are shipped in another form than they have in the directory.
const (
	FileLog      = "log"      // its end
	FileReplaced = "replaced" // the names of the records that a rerun has replaced, a line each
)

// Receipt is the answer to a Ship: all of its entries are durable.
type Receipt struct {
	Experiment string `json:"experiment,omitempty"` // the hub's id
	New        int    `json:"new"`                  // records that the hub did not have
	Orders     Orders `json:"orders"`
}

// What a machine can be asked to do with its experiment.
const (
	RequestHold   = "hold"
	RequestResume = "resume"
	RequestStop   = "stop"
)

// Orders is what a machine is to do.
type Orders struct {
	Request string `json:"request,omitempty"` // hold, resume or stop, for the experiment
	Next    *Next  `json:"next,omitempty"`    // an experiment to begin when none runs
}

// Next is an experiment that a machine is to run.
type Next struct {
	Experiment string `json:"experiment"` // id
	Name       string `json:"name"`
	Bundle     string `json:"bundle"` // hash of a blob
	Index      int    `json:"index"`  // the machine's part of Count parts, from 0
	Count      int    `json:"count"`
}

// Have is a record that the hub has received.
type Have struct {
	Seq     int64  `json:"seq"`
	Slot    int    `json:"slot"`
	Attempt int    `json:"attempt"`
	Hash    string `json:"hash"`
}

// JoinRequest registers a machine. The request has a token with the role join.
type JoinRequest struct {
	Name string `json:"name"`
	Pool string `json:"pool,omitempty"`
	// Replace confirms that a machine of this name, if there is one, leaves the hub.
	Replace bool `json:"replace,omitempty"`
	// Former is the token that this machine has of the hub: it proves that the name is its own.
	Former string `json:"former,omitempty"`
}

// JoinAnswer has the machine's own token.
type JoinAnswer struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	// Replaced is when the former machine of this name was seen last, RFC 3339; "": there was none,
	// or it was never seen.
	Replaced string `json:"replaced,omitempty"`
}

// WriteShip writes the message and its contents, which open returns in the order of the entries.
func WriteShip(w io.Writer, s Ship, open func(Entry) (io.ReadCloser, error)) error {
	head, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(head, '\n')); err != nil {
		return err
	}
	for _, e := range s.Entries {
		if err := copyEntry(w, e, open); err != nil {
			return err
		}
	}
	return nil
}

func copyEntry(w io.Writer, e Entry, open func(Entry) (io.ReadCloser, error)) error {
	r, err := open(e)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // it was only read
	n, err := io.Copy(w, io.LimitReader(r, e.Size))
	if err == nil && n != e.Size {
		err = fmt.Errorf("a file became shorter while it was sent: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// ReadHead reads the first line of a shipment: at most MaxJSON bytes. The contents follow in the
// reader.
func ReadHead(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxJSON:
			return nil, fmt.Errorf("the first line is longer than %d bytes", MaxJSON)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("the first line is incomplete: %w", err)
		}
	}
}

// ParseShip parses the first line of a shipment, which is hostile until it is checked: each entry
// has a valid hash, size and name, and every list and text is bounded. While it is parsed, it may
// take fifty times its size.
func ParseShip(line []byte) (Ship, error) {
	var s Ship
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&s); err != nil {
		return s, fmt.Errorf("the first line is no message: %w", err)
	}
	s.cut()
	return s, s.Check()
}

// cut bounds what a machine says for people. It does not refuse that: a machine with many problems
// must be able to ship.
func (s *Ship) cut() {
	text(&s.Status.Krund, &s.Status.Host, &s.Status.Clock)
	few(&s.Status.Warnings, MaxWarnings)
	if s.Experiment == nil {
		return
	}
	p := &s.Experiment.Progress
	text(&p.Reason, &p.Running)
	few(&p.Unfit, MaxUnfit)
	p.Flags = p.Flags[:min(len(p.Flags), MaxFlags)]
	p.Failures = slices.Clone(p.Failures[:min(len(p.Failures), MaxFailures)])
	for i := range p.Failures {
		text(&p.Failures[i].Key, &p.Failures[i].Outcome, &p.Failures[i].Reason)
	}
}

// text cuts texts.
func text(all ...*string) {
	for _, s := range all {
		*s = display.Clip(*s, MaxText)
	}
}

// few cuts a list and its texts. The last one of a list that was cut counts the others.
func few(list *[]string, most int) {
	n := len(*list)
	kept := slices.Clone((*list)[:min(n, most)])
	for i := range kept {
		text(&kept[i])
	}
	if n > most {
		kept[most-1] = fmt.Sprintf("and %d more", n-most+1)
	}
	*list = kept
}

// Check returns what is wrong with a message; it looks at its form only.
func (s Ship) Check() error {
	if len(s.Entries) > MaxEntries {
		return fmt.Errorf("%d entries; send at most %d in one request", len(s.Entries), MaxEntries)
	}
	size := 0
	for name, value := range s.Status.Facts {
		if size += len(name) + len(value); size > MaxFacts {
			return fmt.Errorf("the machine's facts have more than %d bytes", MaxFacts)
		}
	}
	if !IsText(s.Status.BootID) || len(s.Status.BootID) > MaxName {
		return fmt.Errorf("boot_id %.40q is too long, or no text", s.Status.BootID)
	}
	if s.Experiment == nil {
		if len(s.Entries) > 0 {
			return errors.New("there are entries but no experiment that they belong to")
		}
		return nil
	}
	if err := s.Experiment.check(); err != nil {
		return err
	}
	var total int64
	names := map[string]bool{}
	for i, e := range s.Entries {
		if e.Name != "" && names[e.Name] {
			return fmt.Errorf("entry %d: %.40q is sent twice", i, e.Name)
		}
		names[e.Name] = true
		if err := e.check(); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if total += e.Size; total > MaxShip-MaxJSON {
			return fmt.Errorf("more than %d bytes; send less in one request", MaxShip)
		}
	}
	return nil
}

func (x ShippedExperiment) check() error {
	if !ValidName(x.Name) {
		return fmt.Errorf("the experiment's name %.40q is empty, too long, or not printable", x.Name)
	}
	if !ValidHash(x.ConfigHash) {
		return fmt.Errorf("config_hash %.80q is no SHA-256", x.ConfigHash)
	}
	if len(x.ID) > MaxName || len(x.Created) > MaxName || !IsText(x.ID) {
		return errors.New("the experiment's id or date is too long, or no text")
	}
	return nil
}

func (e Entry) check() error {
	const mostSlots, mostAttempts = 1e10, 999 // as in the schedule
	switch {
	case !ValidHash(e.Hash):
		return fmt.Errorf("%.80q is no SHA-256", e.Hash)
	case e.Size < 0 || e.Size > MaxBlob:
		return fmt.Errorf("%d bytes; at most %d are accepted", e.Size, MaxBlob)
	case e.Name != "" && e.Size > MaxFile:
		return fmt.Errorf("%d bytes of %.40q; at most %d are accepted", e.Size, e.Name, MaxFile)
	case e.Name != "" && !slices.Contains(FileNames(), e.Name):
		return fmt.Errorf("%.40q is none of the files that are shipped", e.Name)
	case e.Name == "" && (e.Slot < 0 || e.Slot >= mostSlots || e.Attempt < 1 || e.Attempt > mostAttempts):
		return fmt.Errorf("there is no slot %d, attempt %d", e.Slot, e.Attempt)
	}
	return nil
}

// IsText reports whether every database stores s: UTF-8 without zero bytes.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// ValidHash reports whether s is a SHA-256: 64 lower-case hexadecimal digits.
func ValidHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// ValidMachine reports whether s can name a machine or a pool: 1 to 64 letters, digits, dots,
// underscores and hyphens, beginning with a letter or a digit. Names become arguments of the
// commands that control power, and directories.
func ValidMachine(s string) bool {
	const most = 64
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return ValidName(s) && len(s) <= most && s[0] != '_' &&
		!strings.ContainsFunc(s, func(c rune) bool { return !strings.ContainsRune(letters+"._-", c) })
}

// ValidName reports whether s can name a user or an experiment: 1 to MaxName
// bytes of printable ASCII without slashes, not beginning with a dot, a hyphen or a space.
func ValidName(s string) bool {
	if s == "" || len(s) > MaxName || strings.ContainsAny(s[:1], ".- ") {
		return false
	}
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '/' || c == '\\' {
			return false
		}
	}
	return true
}
