package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable/trust"
)

// deadline bounds each delivery: an unreachable mail or web server must not delay the next boot.
const deadline = 30 * time.Second

// A MessageKind says what happened; it is in the webhook's JSON and in the command's environment,
// for scripts to switch on.
type MessageKind string

// The events, in the order in which an experiment meets them.
const (
	Started MessageKind = "started" // the schedule was made
	// an execution failed or timed out, or its record has a finding to look at
	Flagged MessageKind = "flagged"
	// the experiment stopped before its end: the machine is unfit, or a limit was reached
	Stopped  MessageKind = "stopped"
	Finished MessageKind = "finished" // nothing is outstanding
)

// A Message is one notification.
type Message struct {
	ID         string // the same when it is sent again, so that it can be dropped; "": it has none
	Event      MessageKind
	Experiment string
	Host       string
	Subject    string // one line, without the experiment and host, which Send prepends
	Text       string
}

// A Notifier delivers messages. The zero Notifier sends nothing.
type Notifier struct {
	Mail     []string // addresses
	Sendmail string   // path of sendmail; called with -t -i
	// Command is an argument vector. The text is on its standard input; its environment has
	// KRUND_EVENT, KRUND_EXPERIMENT, KRUND_HOST, KRUND_SUBJECT and KRUND_ID.
	Command []string
	Webhook string // URL; a JSON object is posted: event, experiment, host, subject, text, id
	Client  *http.Client
	Trust   func(trust.Verdict) error // judges the paths of the command and of sendmail, for root; see Cmd
	// environment of the command and of sendmail, before the KRUND_ variables are added
	Environ []string
}

// WantsMail reports whether Send would send a mail, so that the caller can count it durably before
// it is sent.
func (n Notifier) WantsMail() bool { return len(n.Mail) > 0 }

// Send delivers m in every configured way, by mail only if mail is true: the limit on mails is the
// caller's, because it must outlive this process. It tries all ways and joins the errors. Control
// characters in subject and text, which may quote a benchmark's output, are replaced.
func (n Notifier) Send(ctx context.Context, m Message, mail bool) error {
	m.Subject, m.Text = display.PlainLine(oneLine(m.Subject)), display.Plain(m.Text)
	var errs []error
	tried := func(way string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", way, err))
		}
	}
	if mail && n.WantsMail() {
		_, err := Run(ctx, Cmd{Argv: []string{n.Sendmail, "-t", "-i"}, Env: n.Environ,
			Stdin: mailText(n.Mail, m), Timeout: deadline, Trust: n.Trust})
		tried("send mail", err)
	}
	if len(n.Command) > 0 {
		env := slices.Concat(n.Environ, []string{"KRUND_EVENT=" + string(m.Event),
			"KRUND_EXPERIMENT=" + m.Experiment, "KRUND_HOST=" + m.Host, "KRUND_SUBJECT=" + m.Subject,
			"KRUND_ID=" + m.ID})
		_, err := Run(ctx, Cmd{Argv: n.Command, Env: env, Stdin: m.Text + "\n", Timeout: deadline,
			Trust: n.Trust})
		tried("notify command", err)
	}
	if n.Webhook != "" {
		tried("notify webhook", n.post(ctx, m))
	}
	return errors.Join(errs...)
}

// mailText is the message in the form of RFC 5322. Line breaks in header values become spaces, so
// that no text can add a header.
func mailText(to []string, m Message) string {
	subject := fmt.Sprintf("[krund] %s on %s: %s", m.Experiment, m.Host, m.Subject)
	var b strings.Builder
	fmt.Fprintf(&b, "To: %s\n", oneLine(strings.Join(to, ", ")))
	fmt.Fprintf(&b, "Subject: %s\n", mime.QEncoding.Encode("utf-8", oneLine(subject)))
	if m.ID != "" {
		fmt.Fprintf(&b, "Message-ID: <%s@krund.invalid>\n", oneLine(m.ID))
	}
	b.WriteString("Auto-Submitted: auto-generated\nMIME-Version: 1.0\n" +
		"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n")
	b.WriteString(strings.TrimRight(m.Text, "\n"))
	b.WriteByte('\n')
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (n Notifier) post(ctx context.Context, m Message) error {
	body, err := json.Marshal(map[string]string{
		"event": string(m.Event), "experiment": m.Experiment, "host": m.Host, "subject": m.Subject,
		"text": m.Text, "id": m.ID,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.Webhook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	client := n.Client
	if client == nil {
		// No keep-alive connection: nothing of a notification may last into the next execution.
		transport := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
		client = &http.Client{Transport: transport}
	}
	resp, err := client.Do(req)
	if err == nil {
		err = resp.Body.Close()
	}
	if err == nil && resp.StatusCode/100 != 2 {
		err = errors.New("the server answered " + resp.Status)
	}
	return err
}
