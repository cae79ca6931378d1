package database

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"krund/internal/hub/access"
)

// What belongs to projects: the table of experiments, those with rows of an experiment, and those
// with rows of the name of experiments, PROJECT/NAME, in a column.
var (
	ofExperiments = []string{"shares", "records", "files", "alerts", "points", "reduced"}
	ofNames       = [][2]string{{"histories", "name"}, {"series", "name"}, {"events", "name"},
		{"states", "name"}, {"runs", "schedule"}, {"watched", "schedule"}, {"artifacts", "schedule"}}
	separated = regexp.MustCompile(`(^|[^.\w])(experiments|shares|records|files|alerts|points|reduced|` +
		`histories|series|events|states|runs|watched|artifacts|acts|machines)\b`)
)

// seen returns a query of somebody who sees some projects only, and its arguments: it reads of each
// table the rows of these, so that no query can forget that. Who sees a machine may use it, or it
// has measured something for them. What locks rows is not changed: it names what was seen before.
func seen(ctx context.Context, query string, args []any) (string, []any) {
	roles, only := access.From(ctx).InProjects()
	if query = strings.TrimSpace(query); !only || !strings.HasPrefix(query, "SELECT") {
		return query, args
	}
	args = slices.Clone(args)
	place := func(arg string) string {
		args = append(args, arg)
		return placeAt(len(args))
	}
	var projects, series []string
	for _, project := range slices.Sorted(maps.Keys(roles)) {
		projects = append(projects, place(project))
		if project == access.Default {
			series = append(series, "%[1]s NOT LIKE '%%/%%'")
		} else {
			series = append(series, "%[1]s LIKE "+place(access.Series(project, "%")))
		}
	}
	mine := " IN (" + strings.Join(projects, ", ") + ")"
	var with strings.Builder
	add := func(table, where string) {
		fmt.Fprintf(&with, ", seen_%[1]s AS NOT MATERIALIZED (SELECT * FROM %[1]s t WHERE %[2]s)", table,
			where)
	}
	add("experiments", "t.project"+mine)
	for _, table := range ofExperiments {
		add(table, "EXISTS (SELECT 1 FROM seen_experiments x WHERE x.id = t.experiment)")
	}
	for _, of := range ofNames {
		add(of[0], fmt.Sprintf(strings.Join(series, " OR "), "t."+of[1]))
	}
	add("acts", "EXISTS (SELECT 1 FROM seen_events e WHERE e.id = t.event)")
	add("machines", openTo("t.pool", mine)+" OR EXISTS (SELECT 1 FROM seen_shares s WHERE s.machine = t.id)")
	return "WITH" + with.String()[1:] + " " + separated.ReplaceAllString(query, "${1}seen_$2"), args
}

// openTo is the condition that a pool is open to a project: "= x.project", or one of several.
func openTo(pool, project string) string {
	const of = "EXISTS (SELECT 1 FROM pools p WHERE p.pool = "
	return "(NOT " + of + pool + ") OR " + of + pool + " AND p.project" + project + "))"
}

// OwnProject is the project of what a machine begins by itself: the first one of those that may use
// its pool.
func (db *DB) OwnProject(ctx context.Context, tx *sql.Tx, machine string) (string, error) {
	return first[string](ctx, tx, `SELECT COALESCE(MIN(p.project), 'default') FROM pools p
		JOIN machines m ON m.pool = p.pool WHERE m.id = $1`, machine)
}

// SetProjects changes the roles of a user in projects; none: the user's in access.Default. The
// error wraps ErrMissing if there is none of this name.
func (db *DB) SetProjects(ctx context.Context, tx *sql.Tx, user string, roles map[string]string) error {
	return change(ctx, tx, "user "+user, `UPDATE users SET projects = $2 WHERE name = $1`, user, roles)
}

// SetPool opens a pool to some projects only; none: to all.
func (db *DB) SetPool(ctx context.Context, tx *sql.Tx, pool string, projects []string) error {
	all := []statement{do(`DELETE FROM pools WHERE pool = $1`, pool)}
	for _, project := range projects {
		all = append(all, insert("pools", "pool, project", pool, project))
	}
	_, err := run(ctx, tx, "store to whom pool "+pool+" is open", all...)
	return err
}

// Pool is a pool that a project may use.
type Pool struct {
	Pool    string `json:"pool"`
	Project string `json:"project"`
}

// Member is a user with the role in a project.
type Member struct {
	User    string      `json:"user"`
	Project string      `json:"project"`
	Role    access.Role `json:"role"`
}

// Projects returns all users, each with every project, and the pools that are not open to all.
func (db *DB) Projects(ctx context.Context) (members []Member, pools []Pool, err error) {
	members, pools = []Member{}, []Pool{}
	err = each(ctx, db.Read, func(u User) {
		who := u.Identity()
		roles, only := who.InProjects()
		if !only {
			roles = map[string]access.Role{"": who.Role}
		}
		for _, project := range slices.Sorted(maps.Keys(roles)) {
			members = append(members, Member{u.Name, project, roles[project]})
		}
	}, `SELECT name, role, subject, created, projects FROM users ORDER BY name`)
	if err == nil {
		err = each(ctx, db.Read, func(p Pool) { pools = append(pools, p) },
			`SELECT pool, project FROM pools ORDER BY pool, project`)
	}
	return members, pools, err
}
