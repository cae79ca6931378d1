package pages

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium is a headless browser, driven by the Chrome DevTools Protocol over two pipes: messages
// are JSON and end with a zero byte.
type chromium struct {
	t    *testing.T
	to   *os.File
	mu   sync.Mutex
	next int
	// Answers by the number of their request, and what has happened.
	answers map[int]chan answer
	events  []event
	news    *sync.Cond
	dead    bool
}

type answer struct {
	ID     int
	Result json.RawMessage
	Error  *struct{ Message string }
}

type event struct {
	Method    string
	SessionID string `json:"sessionId"`
	Params    json.RawMessage
}

// startChromium starts a browser that ends with the test.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: the pages are not tried in a browser")
	}
	profile, err := os.MkdirTemp("", "krunhub-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	// Processes of the browser may write a moment longer, so that removing it may fail.
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	theirs, to := pipe(t)
	from, theirsToo := pipe(t)
	command := exec.CommandContext(t.Context(), program, "--headless=new", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--user-data-dir="+profile)
	command.ExtraFiles = []*os.File{theirs, theirsToo} // descriptors 3 and 4
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	theirsToo.Close()
	b := &chromium{t: t, to: to, answers: map[int]chan answer{}}
	b.news = sync.NewCond(&b.mu)
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(from)
	}()
	t.Cleanup(func() {
		_ = b.send("", "Browser.close", nil, b.number())
		<-read
		_ = command.Wait()
	})
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func (b *chromium) read(from *os.File) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		b.mu.Lock()
		if err != nil {
			b.dead = true
			b.news.Broadcast()
			b.mu.Unlock()
			return
		}
		var a answer
		var e event
		if json.Unmarshal(text[:len(text)-1], &a) == nil && a.ID > 0 {
			if to := b.answers[a.ID]; to != nil {
				to <- a
			}
		} else if json.Unmarshal(text[:len(text)-1], &e) == nil {
			b.events = append(b.events, e)
			b.news.Broadcast()
		}
		b.mu.Unlock()
	}
}

func (b *chromium) number() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return b.next
}

func (b *chromium) send(session, method string, params any, id int) error {
	message := map[string]any{"id": id, "method": method}
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
	return err
}

// call calls a method and reads its result.
func (b *chromium) call(session, method string, params, result any) {
	b.t.Helper()
	id, to := b.number(), make(chan answer, 1)
	b.mu.Lock()
	b.answers[id] = to
	b.mu.Unlock()
	if err := b.send(session, method, params, id); err != nil {
		b.t.Fatal(err)
	}
	const limit = time.Minute // of a machine that does much else
	select {
	case a := <-to:
		if a.Error != nil {
			b.t.Fatalf("%s: %s", method, a.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(a.Result, result); err != nil {
				b.t.Fatalf("%s: %v: %s", method, err, a.Result)
			}
		}
	case <-time.After(limit):
		b.t.Fatalf("%s: no answer", method)
	}
}

// tab is a page of a browser.
type tab struct {
	*chromium
	session string
	seen    int // events before this number belong to what was there before
}

type object = map[string]any

// tab opens a page with a window of this width.
func (b *chromium) tab(width int) *tab {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", object{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &tab{chromium: b, session: attached.SessionID}
	for _, domain := range []string{"Page", "Runtime", "Log", "Accessibility", "Network"} {
		p.do(domain+".enable", nil, nil)
	}
	p.do("Emulation.setDeviceMetricsOverride",
		object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	return p
}

func (p *tab) do(method string, params, result any) {
	p.t.Helper()
	p.call(p.session, method, params, result)
}

// open goes to an address and waits until it is loaded.
func (p *tab) open(address string) {
	p.t.Helper()
	p.mu.Lock()
	p.seen = len(p.events)
	p.mu.Unlock()
	var result struct{ ErrorText string }
	p.do("Page.navigate", object{"url": address}, &result)
	if result.ErrorText != "" {
		p.t.Fatalf("%s: %s", address, result.ErrorText)
	}
	p.loaded()
}

// loaded waits for the end of loading a page since open.
func (p *tab) loaded() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for from := p.seen; ; {
		for ; from < len(p.events); from++ {
			if e := p.events[from]; e.SessionID == p.session && e.Method == "Page.loadEventFired" {
				p.seen = from + 1
				return
			}
		}
		if p.dead {
			p.t.Fatal("the browser has ended")
		}
		p.news.Wait()
	}
}

// eval returns the value of an expression of JavaScript; a promise is waited for.
func (p *tab) eval(expression string, into any) {
	p.t.Helper()
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.do("Runtime.evaluate", object{"expression": expression, "awaitPromise": true, "returnByValue": true},
		&result)
	if e := result.ExceptionDetails; e != nil {
		p.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(result.Result.Value, into); err != nil {
		p.t.Fatalf("%s: %v: %s", expression, err, result.Result.Value)
	}
}

// press presses a key.
func (p *tab) press(key string) {
	p.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13}[key]
	text := map[string]string{"Enter": "\r"}[key]
	p.do("Input.dispatchKeyEvent", object{"type": "keyDown", "key": key, "code": key, "text": text,
		"windowsVirtualKeyCode": code}, nil)
	p.do("Input.dispatchKeyEvent", object{"type": "keyUp", "key": key, "code": key,
		"windowsVirtualKeyCode": code}, nil)
}

// complaints are the messages on the console, exceptions, and requests that failed, since ever.
func (p *tab) complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, e := range p.events {
		if e.SessionID != p.session {
			continue
		}
		var log struct{ Entry struct{ Level string } }
		switch e.Method {
		case "Log.entryAdded":
			if json.Unmarshal(e.Params, &log) == nil && log.Entry.Level == "verbose" {
				continue // a recommendation about passwords
			}
			fallthrough
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Network.loadingFailed":
			list = append(list, fmt.Sprintf("%s %.300s", e.Method, e.Params))
		}
	}
	return list
}

// node is a part of the page as a screen reader has it.
type node struct {
	Role, Name string
	Level      int
}

// reads returns what a screen reader has of the page.
func (p *tab) reads() []node {
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
	p.do("Accessibility.getFullAXTree", nil, &tree)
	var list []node
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		one := node{Role: fmt.Sprint(n.Role.Value), Name: strings.TrimSpace(fmt.Sprint(n.Name.Value))}
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
