// Package pages shows the hub to people: pages that are rendered by the server and work without
// scripts. What machines and records say is untrusted and is escaped by html/template. The package
// only reads.
//
// Start reading at [Pages.Index].
package pages

import (
	"embed"
	"html/template"
	"log/slog"
	"net/http"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/store"
)

//go:embed *.html
var files embed.FS

// Pages renders the hub's pages.
type Pages struct {
	db        *database.DB
	store     store.Store
	log       *slog.Logger
	templates *template.Template
}

// New returns the pages over a database and a store.
func New(db *database.DB, blobs store.Store, log *slog.Logger) (*Pages, error) {
	templates, err := template.ParseFS(files, "*.html")
	return &Pages{db: db, store: blobs, log: log, templates: templates}, err
}

// Index shows machines and experiments.
func (p *Pages) Index(w http.ResponseWriter, r *http.Request) {
	const newest = 100
	machines, err := p.db.Machines(r.Context())
	if err == nil {
		var experiments []database.Experiment
		experiments, err = p.db.Experiments(r.Context(), newest)
		if err == nil {
			err = p.templates.ExecuteTemplate(w, "index.html", map[string]any{
				"Who": access.From(r.Context()), "Machines": machines, "Experiments": experiments,
			})
		}
	}
	if err != nil {
		p.log.Error("a page was not shown", "path", r.URL.Path, "error", err)
		http.Error(w, "the hub could not show this page; its log has the reason",
			http.StatusInternalServerError)
	}
}
