// Package browser tries pages in a real browser: headless Chromium, driven by the Chrome DevTools
// Protocol. Tests skip where it is not installed. Start reading at [New]; a package that uses it
// ends with [Main].
package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/rig/must"
)

// chromium is a headless browser, driven by the Chrome DevTools Protocol over two pipes: messages
// are JSON and end with a zero byte. The tests of a package share one, one after the other; each
// has tabs of its own.
type chromium struct {
	to, from *os.File
	in       *bufio.Reader // of from
	command  *exec.Cmd
	profile  string
	asked    int // requests
	events   []event
}

// event is a message of the browser that is no answer.
type event struct {
	Method    string
	SessionID string `json:"sessionId"`
	Params    json.RawMessage
}

// message is an answer to the request of this number, or an event.
type message struct {
	event
	ID     int
	Result json.RawMessage
	Error  *struct{ Message string }
}

var (
	browser = sync.OnceValues(startChromium)
	started *chromium
)

// Main runs the tests of a package, ends the browser if there was one, and exits.
func Main(m *testing.M) {
	code := m.Run()
	if started != nil {
		started.end()
	}
	os.Exit(code)
}

func startChromium() (*chromium, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, errors.New("chromium is not installed: the pages are not tried in a browser")
	}
	b := &chromium{}
	if b.profile, err = os.MkdirTemp("", "krunhub-chromium-"); err != nil {
		return nil, err
	}
	var theirs, theirsToo *os.File
	if theirs, b.to, err = os.Pipe(); err != nil {
		return nil, err
	}
	if b.from, theirsToo, err = os.Pipe(); err != nil {
		return nil, err
	}
	b.in = bufio.NewReader(b.from)
	b.command = exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--user-data-dir="+b.profile)
	b.command.ExtraFiles = []*os.File{theirs, theirsToo} // descriptors 3 and 4
	if err := b.command.Start(); err != nil {
		return nil, err
	}
	started = b
	return b, errors.Join(theirs.Close(), theirsToo.Close())
}

func (b *chromium) end() {
	_, err := b.send("", "Browser.close", nil)
	for err == nil {
		_, err = b.read()
	}
	_ = b.command.Wait()
	const most = 100
	for range most { // processes of the browser may still write to it
		if os.RemoveAll(b.profile) == nil {
			return
		}
	}
}

// read reads a message, and keeps events.
func (b *chromium) read() (m message, err error) {
	text, err := b.in.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	if err == nil && m.ID == 0 {
		b.events = append(b.events, m.event)
	}
	return m, err
}

func (b *chromium) send(session, method string, params any) (id int, err error) {
	b.asked++
	message := map[string]any{"id": b.asked, "method": method}
	if params != nil {
		message["params"] = params
	}
	if session != "" {
		message["sessionId"] = session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	return b.asked, err
}

// call calls a method and reads its result.
func (b *chromium) call(t *testing.T, session, method string, params, result any) {
	t.Helper()
	const limit = 5 * time.Minute // of a machine that does much else
	must.Do(t, b.from.SetReadDeadline(time.Now().Add(limit)))
	id := must.Get(b.send(session, method, params))(t)
	var m message
	for m.ID != id {
		m = must.Get(b.read())(t, method)
	}
	must.Need(t, m.Error == nil, method, m.Error)
	if result != nil {
		must.Do(t, json.Unmarshal(m.Result, result), method, m.Result)
	}
}

// Tab is a page of the browser.
type Tab struct {
	*chromium
	t       *testing.T
	session string
	seen    int // events before this number belong to what was there before
}

// Object is one of JavaScript.
type Object = map[string]any

// New opens a page with a window of this width. It is closed when the test ends.
func New(t *testing.T, width int) *Tab {
	t.Helper()
	b, err := browser()
	if err != nil {
		t.Skip(err)
	}
	var target struct{ TargetID string }
	b.call(t, "", "Target.createTarget", Object{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(t, "", "Target.attachToTarget", Object{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Tab{chromium: b, t: t, session: attached.SessionID}
	t.Cleanup(func() { b.call(t, "", "Target.closeTarget", Object{"targetId": target.TargetID}, nil) })
	for _, domain := range []string{"Page", "Runtime", "Log", "Accessibility", "Network"} {
		p.Do(domain+".enable", nil, nil)
	}
	p.Do("Emulation.setDeviceMetricsOverride",
		Object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	return p
}

// Do calls a method of the protocol.
func (p *Tab) Do(method string, params, result any) {
	p.t.Helper()
	p.call(p.t, p.session, method, params, result)
}

// Open goes to an address and waits until it is loaded.
func (p *Tab) Open(address string) {
	p.t.Helper()
	p.seen = len(p.events)
	var result struct{ ErrorText string }
	p.Do("Page.navigate", Object{"url": address}, &result)
	must.Need(p.t, result.ErrorText == "", address, result.ErrorText)
	p.loaded()
}

// Click follows a link, and waits until its page is loaded.
func (p *Tab) Click(selector string) {
	p.t.Helper()
	p.seen = len(p.events)
	p.Eval(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
	p.loaded()
}

// loaded waits for the end of loading a page since Open.
func (p *Tab) loaded() {
	p.t.Helper()
	loaded := func(e event) bool { return e.SessionID == p.session && e.Method == "Page.loadEventFired" }
	for !slices.ContainsFunc(p.events[p.seen:], loaded) {
		must.Get(p.read())(p.t, "the browser has ended")
	}
}

// Eval returns the value of an expression of JavaScript; a promise is waited for.
func (p *Tab) Eval(expression string, into any) {
	p.t.Helper()
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.Do("Runtime.evaluate", Object{"expression": expression, "awaitPromise": true, "returnByValue": true},
		&result)
	if e := result.ExceptionDetails; e != nil {
		p.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if into == nil {
		return
	}
	must.Do(p.t, json.Unmarshal(result.Result.Value, into), expression, result.Result.Value)
}

// Press presses a key.
func (p *Tab) Press(key string) {
	p.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13}[key]
	text := map[string]string{"Enter": "\r"}[key]
	p.Do("Input.dispatchKeyEvent", Object{"type": "keyDown", "key": key, "code": key, "text": text,
		"windowsVirtualKeyCode": code}, nil)
	p.Do("Input.dispatchKeyEvent", Object{"type": "keyUp", "key": key, "code": key,
		"windowsVirtualKeyCode": code}, nil)
}

// Complaints are the messages on the console, exceptions, and requests that failed, since ever.
func (p *Tab) Complaints() []string {
	p.t.Helper()
	p.Eval("1", nil) // what happened before is read with the answer
	var list []string
	for _, e := range p.events {
		if e.SessionID == p.session && complains(e) {
			list = append(list, fmt.Sprintf("%s %.300s", e.Method, e.Params))
		}
	}
	return list
}

// connections are the errors of Chromium (net/base/net_error_list.h) that say something about a
// connection, not about the page: a page that is left cancels its requests, and a browser that has
// much to do closes or loses one that waits for events.
var connections = regexp.MustCompile(
	`net::ERR_(ABORTED|CONNECTION_(CLOSED|RESET|ABORTED)|NETWORK_(CHANGED|IO_SUSPENDED)|` +
		`INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED|TIMED_OUT)\b`)

// complains reports whether an event tells of an error of the page.
func complains(e event) bool {
	var seen struct {
		Entry     struct{ Level, Source, Text string }
		ErrorText string
		Canceled  bool
	}
	if json.Unmarshal(e.Params, &seen) != nil {
		return true
	}
	switch e.Method {
	case "Log.entryAdded":
		return seen.Entry.Level != "verbose" && // a recommendation about passwords
			(seen.Entry.Source != "network" || !connections.MatchString(seen.Entry.Text))
	case "Network.loadingFailed":
		return !seen.Canceled && !connections.MatchString(seen.ErrorText)
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		return true
	}
	return false
}

// Node is a part of the page as a screen reader has it.
type Node struct {
	Role, Name string
	Level      int
}

// Reads returns what a screen reader has of the page.
func (p *Tab) Reads() []Node {
	p.t.Helper()
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
			Properties []struct {
				Name  string
				Value struct{ Value any }
			}
		}
	}
	p.Do("Accessibility.getFullAXTree", nil, &tree)
	var list []Node
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		one := Node{Role: fmt.Sprint(n.Role.Value), Name: strings.TrimSpace(fmt.Sprint(n.Name.Value))}
		if n.Name.Value == nil {
			one.Name = ""
		}
		for _, property := range n.Properties {
			if level, ok := property.Value.Value.(float64); ok && property.Name == "level" {
				one.Level = int(level)
			}
		}
		list = append(list, one)
	}
	return list
}
