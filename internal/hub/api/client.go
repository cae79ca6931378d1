package api

import (
	"bytes"
	"context"
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
