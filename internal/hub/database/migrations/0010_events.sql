-- What was found in the histories of names, so that pages read it instead of finding it again.
-- changed counts the changes of the values, found is what it was when the history was made.
CREATE TABLE histories (
	name      TEXT PRIMARY KEY,
	changed   BIGINT NOT NULL DEFAULT 1,
	found     BIGINT NOT NULL DEFAULT 0,
	unit      TEXT NOT NULL DEFAULT '',
	versions  TEXT NOT NULL DEFAULT '[]'     -- JSON: history.Version
);
INSERT INTO histories (name) SELECT DISTINCT name FROM points;

-- A key on a machine in the history of a name.
CREATE TABLE series (
	name      TEXT NOT NULL,
	key       TEXT NOT NULL,
	machine   TEXT NOT NULL,
	versions  BIGINT NOT NULL,               -- in which it was measured
	value     DOUBLE PRECISION NOT NULL,     -- its last level
	change    DOUBLE PRECISION NOT NULL,     -- logarithm of the ratio of its last change; 0: none
	trend     TEXT NOT NULL,                 -- JSON: its last values
	doc       TEXT NOT NULL,                 -- JSON: history.KeyHistory
	PRIMARY KEY (name, key, machine)
);

-- What happened to a machine, and what people say of it.
CREATE TABLE events (
	id          TEXT PRIMARY KEY,
	name        TEXT NOT NULL,
	machine     TEXT NOT NULL,
	verdict     TEXT NOT NULL,               -- machine, program, undecided
	experiment  TEXT NOT NULL,               -- with which it was found; it may be deleted
	finding     TEXT NOT NULL,               -- JSON: database.Finding, without its keys
	keys        TEXT NOT NULL,               -- JSON: database.EventKey
	present     BIGINT NOT NULL DEFAULT 1,   -- 0: the values do not show it any more
	state       TEXT NOT NULL DEFAULT 'new',
	assignee    TEXT NOT NULL DEFAULT '',
	note        TEXT NOT NULL DEFAULT '',
	link        TEXT NOT NULL DEFAULT '',
	muted       BIGINT NOT NULL DEFAULT 0,   -- until when
	reason      TEXT NOT NULL DEFAULT '',    -- of muting
	created     BIGINT NOT NULL,
	updated     BIGINT NOT NULL
);
CREATE INDEX events_name ON events (name, created);
CREATE INDEX events_created ON events (created);

-- Who changed what of an event.
CREATE TABLE acts (
	seq    {{serial}},
	event  TEXT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
	at     BIGINT NOT NULL,
	who    TEXT NOT NULL,
	text   TEXT NOT NULL
);
CREATE INDEX acts_event ON acts (event);
