package watch

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/hub/database"
)

// forge is where people read the answers.
type forge interface {
	// check shows on its revision how far a run is, and what it has shown. Doing it again changes
	// nothing.
	check(ctx context.Context, r database.Run) error
	// thread returns the path of the comments on the change or the revision of a run, with a query
	// for those that are newer than it, and the field with their text.
	thread(r database.Run) (path, query, field string)
	// change returns the newest revision of a change, the branch that it is for, and whether the
	// revision is from a fork.
	change(ctx context.Context, number int64) (revision, branch string, fork bool, err error)
	// mayWrite reports whether a person may write to the repository.
	mayWrite(ctx context.Context, who string) (bool, error)
}

// forgeTime is how long a forge may take to do what it was asked, and how long a lease of the
// outbox is that is used for some requests.
const (
	forgeTime  = 5 * time.Second
	tellTime   = time.Minute
	mostSecret = 64 << 10
)

// secret reads a file with a secret.
func secret(name string) (string, error) {
	text, err := durable.ReadSmallFile(durable.OS(), name, mostSecret)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("%s is empty", name)
	}
	return string(bytes.TrimSpace(text)), err
}

// forge returns that of a schedule.
func (w *Watcher) forge(ctx context.Context, s Schedule) (forge, client, error) {
	c := client{http: w.HTTP, of: s, header: http.Header{"User-Agent": {"krunhub"}}}
	token, err := secret(s.Answer.Token)
	if err != nil {
		return nil, c, err
	}
	if s.Answer.Forge == "gitlab" {
		c.header.Set("PRIVATE-TOKEN", token)
		return gitlab{c}, c, nil
	}
	c.header.Set("Accept", "application/vnd.github+json")
	c.header.Set("X-GitHub-Api-Version", "2022-11-28")
	if s.Answer.App != 0 {
		if token, err = w.tokens.of(ctx, c, token, w.DB.Now()); err != nil {
			return nil, c, err
		}
	}
	c.header.Set("Authorization", "Bearer "+token)
	return github{c}, c, nil
}

// client sends requests to a forge.
type client struct {
	http   *http.Client
	of     Schedule
	header http.Header
}

// forgeError is an answer with a status of 300 or above.
type forgeError struct {
	status int
	text   string
}

func (e forgeError) Error() string { return e.text }

// do sends a document, unless it is nil, and reads the answer into answer, unless that is nil.
func (c client) do(ctx context.Context, method, path string, document, answer any) error {
	const patience, most = 20 * time.Second, 8 << 20
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var body io.Reader
	if document != nil {
		text, err := json.Marshal(document)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.of.Answer.API+path, body)
	if err != nil {
		return err
	}
	request.Header = c.header.Clone()
	if document != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	// A redirection could take the token elsewhere.
	direct := *c.http
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := direct.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	switch {
	case response.StatusCode >= http.StatusMultipleChoices:
		return forgeError{response.StatusCode, fmt.Sprintf("%s %s: %s: %s", method, path, response.Status,
			display.Clip(display.PlainLine(string(text)), display.MaxMessage))}
	case err != nil || answer == nil:
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// pages calls add with each part of a list, at most mostPages of them, until there are less than
// perPage in one: add returns how many.
func pages[P any](ctx context.Context, c client, path string, add func(P) int) error {
	const mostPages = 20
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for page := 1; page <= mostPages; page++ {
		var part P
		err := c.do(ctx, http.MethodGet, fmt.Sprintf("%s%sper_page=%d&page=%d", path, separator, perPage,
			page),
			nil, &part)
		if err != nil || add(part) < perPage {
			return err
		}
	}
	return errors.New("the forge's list is too long")
}

const perPage = 100

// checkName is the name of the checks of a schedule.
func (s Schedule) checkName() string { return "krund: " + s.Name }

// link is the address of a run's page; "" unless the hub's is known.
func (s Schedule) link(r database.Run) string {
	if s.Answer.Page == "" || r.Base == "" {
		return ""
	}
	return s.Answer.Page + "/experiments/" + r.ID
}

// headline is what a run has shown, in a few words.
func headline(r database.Run) string {
	words := map[string]string{Worse: "slower", Better: "faster", Same: "as fast as before",
		Unclear: "no certain answer", Failed: "not measured"}
	if r.State != database.RunEnded {
		return "being measured"
	}
	return words[r.Verdict]
}

// summary is what a run has shown, how sure that is, and how it was found. Parts of it are from
// others: they are shown as code, in which nothing is a link, a name or a command.
func (s Schedule) summary(r database.Run) string {
	text := "`" + strings.ReplaceAll(r.Text, "`", "'") + "`"
	if r.Text == "" {
		text = "The experiment is in the queue, or runs."
	}
	if r.Verdict == Worse || r.Verdict == Better || r.Verdict == Unclear {
		text += fmt.Sprintf("\n\nOf identical programs, at most one comparison in %d is called slower or faster.",
			Certainty)
	}
	if r.Base != "" {
		text += fmt.Sprintf("\n\n%s against %s, in turns on the same machines.", short(r.Revision), short(r.Base))
	}
	if link := s.link(r); link != "" {
		text += " [The experiment](" + link + ")"
	}
	return text
}

// marker is the text by which the hub recognizes its own comment on a run. It is an HMAC, so that
// others cannot write it in advance.
func marker(token string, r database.Run) string {
	sum := hmac.New(sha256.New, []byte(token))
	_, _ = sum.Write([]byte(r.ID)) // it cannot fail
	return "<!-- krund " + hex.EncodeToString(sum.Sum(nil)[:12]) + " -->"
}

// tell tells the next thing of the outbox, and reports whether there was one.
func (w *Watcher) tell(ctx context.Context) (bool, error) {
	of := map[string]Schedule{}
	var names []string
	for _, s := range w.Schedules {
		if s.Answer.Forge != "" {
			of[s.Name], names = s, append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return false, nil
	}
	t, err := w.DB.Take(ctx, names, tellTime)
	if err != nil {
		if errors.Is(err, database.ErrMissing) {
			err = nil
		}
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, tellTime-forgeTime)
	defer cancel()
	failed := w.say(limited, of[t.Schedule], t)
	if ctx.Err() != nil {
		return false, ctx.Err() // told or not: the next process looks
	}
	why, again := "", time.Time{}
	if failed != nil {
		const mostTries, longest = 40, time.Hour
		why = display.Clip(display.PlainLine(failed.Error()), display.MaxMessage)
		if t.Tries < mostTries {
			again = w.DB.Now().Add(min(forgeTime<<min(t.Tries, mostTries/2), longest))
		}
		w.Log.Warn("an answer was not given", "schedule", t.Schedule, "run", t.ID, "error", failed,
			"again", again)
	}
	return true, w.DB.Told(ctx, t, why, again)
}

// say tells something: what the forge has already is found, and not told again.
func (w *Watcher) say(ctx context.Context, s Schedule, t database.Telling) error {
	if t.Kind == "begun" && t.State == database.RunEnded {
		return nil // the end is told, too
	}
	f, c, err := w.forge(ctx, s)
	if err != nil {
		return err
	}
	if t.Kind != "comment" {
		return f.check(ctx, t.Run)
	}
	key, err := secret(s.Answer.Token)
	if err != nil {
		return err
	}
	mark, said := marker(key, t.Run), false
	path, query, field := f.thread(t.Run)
	err = pages(ctx, c, path+query, func(list []struct{ Body, Note string }) int {
		for _, one := range list {
			said = said || strings.Contains(one.Body+one.Note, mark)
		}
		return len(list)
	})
	if err != nil || said {
		return err
	}
	text := mark + "\n**" + s.checkName() + ": " + headline(t.Run) + "**\n\n" + s.summary(t.Run)
	return c.do(ctx, http.MethodPost, path, map[string]string{field: text}, nil)
}

// permit finds out whether who has asked for a run may do that, and what is to be measured.
func (w *Watcher) permit(ctx context.Context, s Schedule, r *database.Run) error {
	const longest = 24 * time.Hour
	if s.Answer.Forge == "" || w.DB.Now().Sub(r.Created) > longest {
		return w.end(ctx, s, r, Refused, "it could not be found out whether it is permitted")
	}
	f, _, err := w.forge(ctx, s)
	if err != nil {
		return err
	}
	may, err := f.mayWrite(ctx, r.Asked)
	if err != nil {
		return err
	}
	if !may {
		return w.end(ctx, s, r, Refused, r.Asked+" may not write to the repository")
	}
	revision, branch, fork, err := f.change(ctx, r.Change)
	var failed forgeError
	switch {
	case errors.As(err, &failed) && failed.status == http.StatusNotFound:
		return w.end(ctx, s, r, Refused, "the forge knows no such change")
	case err != nil:
		return err
	case !commit.MatchString(revision) || branch != s.Branch:
		return w.end(ctx, s, r, Failed, "the change is not for the branch "+s.Branch)
	case fork && r.Words == "":
		return w.end(ctx, s, r, Failed, "the change is from a fork, whose owner may replace it after you have "+
			"read it: name the whole revision that you have read, /krund run "+revision)
	case r.Words != "" && r.Words != revision:
		return w.end(ctx, s, r, Failed, "the newest revision of the change is "+revision+" now")
	}
	m := w.mirror(s)
	if _, err = m.fetch(ctx, "refs/heads/"+s.Branch, watched); err == nil {
		_, err = m.fetch(ctx, s.ref(r.Change), fmt.Sprint("refs/heads/change-", r.Change))
	}
	var base string
	if err == nil {
		base, err = m.base(ctx, revision)
	}
	if err != nil {
		return err
	}
	r.Revision, r.Base, r.State = revision, base, database.RunWaiting
	return w.DB.Update(ctx, func(tx *sql.Tx) error { return w.DB.SetRun(ctx, tx, *r, database.RunAsked) })
}
