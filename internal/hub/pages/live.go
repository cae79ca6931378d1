package pages

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/machine/sysroot"
)

const (
	lookEvery   = time.Second      // at the database, while pages are open
	tellEvery   = 30 * time.Second // when nothing has changed: the times on the pages have
	checkEvery  = 30 * time.Second // whether those who listen still may
	mostPages   = 1000             // that listen at the same time
	mostOfToken = 100              // of these, with one token and its sessions
)

// live tells open pages that something has changed. One loop looks at the database for all of them,
// so that several processes of the hub serve the same.
type live struct {
	db    *database.DB
	log   *slog.Logger
	ctx   context.Context
	clock sysroot.Clock

	mu      sync.Mutex
	pages   map[*listener]bool
	looking bool
}

// listener is an open page.
type listener struct {
	who  access.Identity
	news chan struct{} // closed when it may not listen any more
}

// root identifies the token that a page was opened with, or with whose session.
func (l *listener) root() string { return cmp.Or(l.who.Root, "user "+l.who.Name) }

func newLive(ctx context.Context, db *database.DB, log *slog.Logger) *live {
	return &live{db: db, log: log, ctx: ctx, clock: sysroot.RealClock{}, pages: map[*listener]bool{}}
}

// ServeHTTP sends an event each time something has changed, until the page is left.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := &listener{who: access.From(r.Context()), news: make(chan struct{}, 1)}
	if code := l.add(page); code != http.StatusOK {
		http.Error(w, "too many pages are open", code)
		return
	}
	defer l.remove(page)
	to := http.NewResponseController(w)
	secure(w.Header(), Policy)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy passes events on at once
	if _, err := fmt.Fprint(w, "retry: 3000\n\n"); err != nil || to.Flush() != nil {
		return
	}
	for {
		select {
		case _, ok := <-page.news:
			if !ok {
				return
			}
			if _, err := fmt.Fprint(w, "event: change\ndata:\n\n"); err != nil || to.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// add adds a page, and returns 200, or the status with which it is refused.
func (l *live) add(page *listener) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := 0
	for other := range l.pages {
		if other.root() == page.root() {
			same++
		}
	}
	switch {
	case same >= mostOfToken:
		return http.StatusTooManyRequests
	case len(l.pages) >= mostPages:
		return http.StatusServiceUnavailable
	}
	l.pages[page] = true
	if !l.looking {
		l.looking = true
		go l.look()
	}
	return http.StatusOK
}

func (l *live) remove(page *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, page)
}

// look looks at the database until no page is open.
func (l *live) look() {
	last, told := "", l.clock.Now()
	checked := told
	for {
		version, err := l.db.Version(l.ctx)
		if err != nil && l.ctx.Err() == nil {
			l.log.Error("open pages do not learn what has changed", "error", err)
		}
		now := l.clock.Now()
		if err == nil && version != last || now.Sub(told) >= tellEvery {
			if last != "" {
				l.tell()
			}
			last, told = version, now
		}
		if now.Sub(checked) >= checkEvery {
			l.check()
			checked = now
		}
		if l.clock.Sleep(l.ctx, lookEvery) != nil || l.end() {
			return
		}
	}
}

// tell tells each page; one that has not read the last news needs no more.
func (l *live) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for page := range l.pages {
		select {
		case page.news <- struct{}{}:
		default:
		}
	}
}

// check ends the streams of those who may not read any more. Without an answer of the database they
// go on: they tell only that something has changed.
func (l *live) check() {
	l.mu.Lock()
	all := map[access.Identity]bool{}
	for page := range l.pages {
		all[page.who] = true
	}
	l.mu.Unlock()
	for who := range all {
		permitted, err := l.db.Permitted(l.ctx, who)
		all[who] = permitted || err != nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for page := range l.pages {
		if permitted, asked := all[page.who]; asked && !permitted {
			close(page.news)
			delete(l.pages, page)
		}
	}
}

// end reports that no page is open, and that look ends.
func (l *live) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looking = len(l.pages) > 0
	return !l.looking
}
