package command

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

var message = Message{Event: Flagged, Experiment: "warmup", Host: "bencher3",
	Subject: "nbody:C:default-c ended in an error", ID: "one",
	Text: "exit status 1\nlast words"}

// notifyProgram writes an executable script into a temporary directory and returns its path and
// that of a file for its traces.
func notifyProgram(t *testing.T, script string) (path, traces string) {
	t.Helper()
	dir := t.TempDir()
	path, traces = filepath.Join(dir, "program"), filepath.Join(dir, "traces")
	text := "#!/bin/sh\ntraces=" + traces + "\n" + script
	if err := os.WriteFile(path, []byte(text),
		0o755); err != nil { //nolint:gosec // a program must be executable
		t.Fatal(err)
	}
	return path, traces
}

func TestMail(t *testing.T) {
	sendmail, traces := notifyProgram(t, `echo "$@" >$traces.args; cat >$traces`)
	n := Notifier{Mail: []string{"a@example.org", "b@example.org"}, Sendmail: sendmail}
	hostile := message
	hostile.Subject = "läuft\nBcc: everyone@example.org"
	must.Do(t, n.Send(t.Context(), hostile, true))
	text := must.Get(os.ReadFile(traces))(t)
	m := must.Get(mail.ReadMessage(strings.NewReader(string(text))))(t, "not a mail", text)
	must.Equal(t, m.Header.Get("Message-ID"), "<one@krund.invalid>")
	must.Equal(t, m.Header.Get("To"), "a@example.org, b@example.org", "To")
	must.Equal(t, m.Header.Get("Bcc"), "", "a subject added a header")
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	must.Be(t, err == nil && subject == "[krund] warmup on bencher3: läuft Bcc: everyone@example.org",
		"Subject", subject, err)
	args, _ := os.ReadFile(traces + ".args")
	must.Equal(t, string(args), "-t -i\n", "sendmail got", args)
}

func TestNoMailWhenTheCapIsReached(t *testing.T) {
	sendmail, traces := notifyProgram(t, `cat >$traces`)
	n := Notifier{Mail: []string{"a@example.org"}, Sendmail: sendmail}
	must.Do(t, n.Send(t.Context(), message, false))
	must.Refused(os.Stat(traces))(t, "", "a mail was sent")
}

func TestCommand(t *testing.T) {
	path, traces := notifyProgram(t,
		`echo "$KRUND_EVENT|$KRUND_EXPERIMENT|$KRUND_HOST|$KRUND_SUBJECT" >$traces; cat >>$traces`)
	must.Do(t, (Notifier{Command: []string{path}}).Send(t.Context(), message, true))
	got, _ := os.ReadFile(traces)
	want := "flagged|warmup|bencher3|nbody:C:default-c ended in an error\nexit status 1\nlast " + "words\n"
	must.Equal(t, string(got), want, "command saw", got)
}

func TestWebhook(t *testing.T) {
	var got map[string]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Do(t, json.NewDecoder(r.Body).Decode(&got))
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	must.Do(t, (Notifier{Webhook: server.URL}).Send(t.Context(), message, true))
	want := map[string]string{"event": "flagged", "experiment": "warmup", "host": "bencher3",
		"subject": message.Subject, "text": message.Text, "id": "one"}
	for k, v := range want {
		must.Equal(t, got[k], v)
	}
}

func TestAllWaysAreTriedAndErrorsJoined(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	failing, _ := notifyProgram(t, "exit 7")
	n := Notifier{Mail: []string{"a@example.org"}, Sendmail: "/nowhere/sendmail",
		Command: []string{failing}, Webhook: server.URL}
	err := n.Send(t.Context(), message, true)
	for _, want := range []string{"/nowhere/sendmail", "exit status 7", "404"} {
		must.Refuse(t, err, want, "error")
	}
}

// TestControlCharacters: what a benchmark has said last is in the text, and must not drive the
// terminal of the reader.
func TestControlCharacters(t *testing.T) {
	var posted map[string]string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		must.Do(t, json.NewDecoder(r.Body).Decode(&posted))
	}))
	defer server.Close()
	sendmail, mailed := notifyProgram(t, `cat >$traces`)
	path, traces := notifyProgram(t, `printf %s "$KRUND_SUBJECT" >$traces; cat >>$traces`)
	m := message
	m.Subject, m.Text = "a\x1b[2J\x00b", "- it said last: \x1b]0;owned\a\u202e\x00\r\n- \tnext"
	n := Notifier{Mail: []string{"a@example.org"}, Sendmail: sendmail, Command: []string{path},
		Webhook: server.URL}
	must.Do(t, n.Send(t.Context(), m, true))
	const subject = "a\uFFFD[2J\uFFFDb"
	const text = "- it said last: \uFFFD]0;owned\uFFFD\uFFFD\uFFFD\uFFFD\n- \tnext"
	got, err := os.ReadFile(mailed)
	must.Be(t, err == nil && strings.HasSuffix(string(got), "\n\n"+text+"\n"), "mailed", got, err)
	got, err = os.ReadFile(traces)
	must.Be(t, err == nil && string(got) == subject+text+"\n", "the command got", got, err)
	must.Be(t, posted["subject"] == subject && posted["text"] == text, "posted", posted)
}
