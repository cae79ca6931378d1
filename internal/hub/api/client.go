package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client sends requests to a hub.
type Client struct {
	URL   string // https://hub.example, without a slash at the end
	Token string
	// Project is that of what is submitted; "": the only one of the token's user.
	Project string
	HTTP    *http.Client // nil: http.DefaultClient
}

// Error is an answer of the hub with a status of 400 or above.
type Error struct {
	Status int
	Text   string
}

// Refused reports whether asking again would get the same answer. Else the hub, or what is between,
// could not answer now, or the request did not arrive in time.
func (e *Error) Refused() bool {
	return e.Status < http.StatusInternalServerError && e.Status != http.StatusTooManyRequests &&
		e.Status != http.StatusRequestTimeout
}

func (e *Error) Error() string { return fmt.Sprintf("the hub answers: %s (%d)", e.Text, e.Status) }

// NewClient checks the address and returns a client.
func NewClient(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of a hub; write https://HOST or http://HOST:PORT", address)
	}
	return &Client{URL: strings.TrimRight(address, "/"), Token: token}, nil
}

// Ship sends a message with its contents; open returns the content of an entry.
func (c *Client) Ship(ctx context.Context, s Ship, open func(Entry) (io.ReadCloser, error)) (Receipt, error) {
	read, write := io.Pipe()
	go func() { write.CloseWithError(WriteShip(write, s, open)) }()
	defer read.Close() //nolint:errcheck // ends the goroutine
	var receipt Receipt
	err := c.Do(ctx, http.MethodPost, PathShip, read, &receipt)
	return receipt, err
}

// Join registers a machine.
func (c *Client) Join(ctx context.Context, request JoinRequest) (answer JoinAnswer, err error) {
	err = c.DoJSON(ctx, http.MethodPost, PathJoin, request, &answer)
	if err == nil && answer.Token == "" {
		err = errors.New("the answer has no token; is this the hub's address?")
	}
	return answer, err
}

// Have returns records of an experiment that the hub has of this machine: those after seq, at most
// MaxEntries.
func (c *Client) Have(ctx context.Context, experiment string, seq int64) (list []Have, err error) {
	query := url.Values{"experiment": {experiment}, "after": {strconv.FormatInt(seq, 10)}}
	err = c.Do(ctx, http.MethodGet, PathHave+"?"+query.Encode(), nil, &list)
	return list, err
}

// Blob opens a content that the hub has. The caller checks its hash and bounds its size.
func (c *Client) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	response, err := c.send(ctx, http.MethodGet, PathBlob+hash, nil, "")
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// DoJSON sends a message and reads the answer into answer unless it is nil.
func (c *Client) DoJSON(ctx context.Context, method, path string, message, answer any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.Do(ctx, method, path, bytes.NewReader(text), answer)
}

// Do sends body, which may be nil, and reads the answer as JSON into answer unless it is nil. The
// error is an [*Error] if the hub answered with one.
func (c *Client) Do(ctx context.Context, method, path string, body io.Reader, answer any) error {
	response, err := c.send(ctx, method, path, body, "application/json")
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if answer == nil {
		return nil
	}
	const most = 16 << 20
	if err := json.NewDecoder(io.LimitReader(response.Body, most)).Decode(answer); err != nil {
		return fmt.Errorf("%s%s: the answer is not the hub's: %w; is this the hub's address?", c.URL, path,
			err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path string, body io.Reader, accept string) (
	*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return nil, err
	}
	return c.roundTrip(request, accept)
}

func (c *Client) roundTrip(request *http.Request, accept string) (*http.Response, error) {
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the URL is added below
		}
		return nil, fmt.Errorf("ask the hub at %s: %w", c.URL, err)
	}
	if response.StatusCode < http.StatusBadRequest {
		return response, nil
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	return nil, failure(response)
}

// failure reads the error of a response.
func failure(response *http.Response) error {
	const most = 4 << 10
	text, _ := io.ReadAll(io.LimitReader(response.Body, most)) // what was read is enough
	var message struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &message) != nil || message.Error == "" {
		message.Error = "no message; is this the hub's address?"
	}
	return &Error{Status: response.StatusCode, Text: message.Error}
}

// Paths for people and programs.
const (
	PathBundle      = "/api/v1/bundles/"    // and the hash
	PathExperiments = "/api/v1/experiments" // /ID, /ID/request, /ID/results
	PathUsers       = "/api/v1/users"       // /NAME
)

// MaxMachines bounds the machines that share an experiment.
const MaxMachines = 1000

// Submission is an experiment for the queue. Its bundle was sent before.
type Submission struct {
	// ID is chosen by the submitter (NewID), so that sending the submission again adds nothing.
	// "": the hub chooses one.
	ID       string `json:"id,omitempty"`
	Bundle   string `json:"bundle"`            // hash
	Target   string `json:"target"`            // a machine's name or a pool
	Machines int    `json:"machines"`          // that share it, from 1
	Priority int64  `json:"priority"`          // higher ones are begun first
	Project  string `json:"project,omitempty"` // "": that of the submitter
}

// Check returns what is wrong with a submission; it looks at its form only.
func (s Submission) Check() error {
	const most = 100
	switch {
	case s.ID != "" && !validID(s.ID):
		return fmt.Errorf("the id %.40q is not %d lower-case letters and digits", s.ID, idLetters)
	case !ValidHash(s.Bundle):
		return fmt.Errorf("bundle %.80q is no SHA-256", s.Bundle)
	case !ValidMachine(s.Target):
		return fmt.Errorf("the target %.40q is no name of a machine or a pool", s.Target)
	case s.Machines < 1 || s.Machines > MaxMachines:
		return fmt.Errorf("%d machines; 1 to %d can share an experiment", s.Machines, MaxMachines)
	case s.Priority < -most || s.Priority > most:
		return fmt.Errorf("the priority %d is not between -%d and %[2]d", s.Priority, most)
	}
	return nil
}

// NewID returns a random id for a submission.
func NewID() string { return strings.ToLower(rand.Text()) }

// idLetters is the length of such an id. Those that the hub makes are shorter, so that none can be
// taken beforehand.
const idLetters = 26

func validID(s string) bool {
	return len(s) == idLetters && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// State is the state of an experiment on the hub.
type State struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Owner    string       `json:"owner"` // "": a machine began it by itself
	Project  string       `json:"project"`
	State    string       `json:"state"` // queued, running, done, stopped or failed
	Held     bool         `json:"held"`
	Target   string       `json:"target"`
	Machines int          `json:"machines"` // that share it
	Priority int64        `json:"priority"`
	Shares   []ShareState `json:"shares"` // the parts that machines have begun
}

// ShareState is a machine's part of an experiment.
type ShareState struct {
	Machine  string   `json:"machine"`
	Index    int      `json:"index"`    // of the part, from 0
	State    string   `json:"state"`    // running, done, stopped or failed
	Progress Progress `json:"progress"` // without its details
}

// Ended reports whether nothing of the experiment remains to be run.
func (s State) Ended() bool { return s.State != "queued" && s.State != "running" }

// RoleMessage changes the role of a user.
type RoleMessage struct {
	Role string `json:"role"` // reader, user or admin
	// Projects are the roles in projects; nil: as before, {}: Role in the project default.
	Projects map[string]string `json:"projects,omitzero"`
}

// PoolMessage opens a pool to some projects; none: to all.
type PoolMessage struct {
	Projects []string `json:"projects"`
}

// RequestMessage asks the machines of an experiment for something.
type RequestMessage struct {
	Request string `json:"request"` // hold, resume or stop
}

// SendBundle sends a bundle of size bytes. Sending it again changes nothing.
func (c *Client) SendBundle(ctx context.Context, hash string, size int64, content io.Reader) error {
	if size > MaxBlob {
		return fmt.Errorf("the bundle has %d bytes; a hub accepts %d", size, MaxBlob)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, c.URL+PathBundle+hash, content)
	if err != nil {
		return err
	}
	request.ContentLength = size
	response, err := c.roundTrip(request, "application/json")
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Submit adds an experiment to the queue, and returns its id.
func (c *Client) Submit(ctx context.Context, s Submission) (string, error) {
	var answer State
	s.Project = cmp.Or(s.Project, c.Project)
	err := c.DoJSON(ctx, http.MethodPost, PathExperiments, s, &answer)
	if err == nil && answer.ID == "" {
		err = errors.New("the answer names no experiment; is this the hub's address?")
	}
	return answer.ID, err
}

// Experiment returns the state of an experiment.
func (c *Client) Experiment(ctx context.Context, id string) (s State, err error) {
	err = c.Do(ctx, http.MethodGet, experimentPath(id), nil, &s)
	if err == nil && (s.ID != id || s.State == "") {
		err = fmt.Errorf("the answer is not about experiment %s; is this the hub's address?", id)
	}
	return s, err
}

// Request asks the machines of an experiment to hold, resume or stop.
func (c *Client) Request(ctx context.Context, id, request string) error {
	return c.DoJSON(ctx, http.MethodPost, experimentPath(id)+"/request", RequestMessage{request}, nil)
}

// Results opens what the machines have shipped of an experiment: a tar archive of
// MACHINE/NAME.krun.
func (c *Client) Results(ctx context.Context, id string) (io.ReadCloser, error) {
	response, err := c.send(ctx, http.MethodGet, experimentPath(id)+"/results", nil, "")
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Get returns a document of the API, indented if it is JSON: path is below /api/v1/, or an address
// that such a document has.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	const below, most = "/api/v1/", 256 << 20
	response, err := c.send(ctx, http.MethodGet, below+strings.TrimPrefix(path, below), nil, "")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil || response.Header.Get("Content-Type") != "application/json" {
		return text, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(text), "", "  "); err != nil {
		return nil, fmt.Errorf("%s: the answer is no JSON: %w; is this the hub's address?", c.URL, err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func experimentPath(id string) string { return PathExperiments + "/" + url.PathEscape(id) }
