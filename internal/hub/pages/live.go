package pages

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"krund/internal/hub/database"
	"krund/internal/sysroot"
)

const (
	lookEvery = time.Second      // at the database, while pages are open
	tellEvery = 30 * time.Second // when nothing has changed: the times on the pages have
	mostPages = 1000             // that listen at the same time
)

// live tells open pages that something has changed. One loop looks at the database for all of them,
// so that several processes of the hub serve the same.
type live struct {
	db  *database.DB
	log *slog.Logger
	ctx context.Context

	mu      sync.Mutex
	pages   map[chan struct{}]bool
	looking bool
}

func newLive(ctx context.Context, db *database.DB, log *slog.Logger) *live {
	return &live{db: db, log: log, ctx: ctx, pages: map[chan struct{}]bool{}}
}

// ServeHTTP sends an event each time something has changed, until the page is left.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	news, ok := l.add()
	if !ok {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer l.remove(news)
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
		case <-news:
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

func (l *live) add() (chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pages) >= mostPages {
		return nil, false
	}
	news := make(chan struct{}, 1)
	l.pages[news] = true
	if !l.looking {
		l.looking = true
		go l.look()
	}
	return news, true
}

func (l *live) remove(news chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, news)
}

// look looks at the database until no page is open.
func (l *live) look() {
	clock := sysroot.RealClock{}
	last, told := "", clock.Now()
	for {
		version, err := l.db.Version(l.ctx)
		if err != nil && l.ctx.Err() == nil {
			l.log.Error("open pages do not learn what has changed", "error", err)
		}
		if now := clock.Now(); err == nil && version != last || now.Sub(told) >= tellEvery {
			if last != "" {
				l.tell()
			}
			last, told = version, now
		}
		if clock.Sleep(l.ctx, lookEvery) != nil || l.end() {
			return
		}
	}
}

// tell tells each page; one that has not read the last news needs no more.
func (l *live) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for news := range l.pages {
		select {
		case news <- struct{}{}:
		default:
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
