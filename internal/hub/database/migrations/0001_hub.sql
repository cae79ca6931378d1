-- Times are microseconds since 1970 by the hub's clock, 0: never. Hashes are hexadecimal. JSON is
-- text. The order of what machines send is that of its arrival: their clocks may be wrong.

CREATE TABLE machines (
	id         TEXT PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	pool       TEXT NOT NULL DEFAULT '',
	joined     BIGINT NOT NULL,
	last_seen  BIGINT NOT NULL DEFAULT 0,
	boot_id    TEXT NOT NULL DEFAULT '',
	booted     BIGINT NOT NULL DEFAULT 0,   -- when a message of this boot arrived first
	facts      TEXT NOT NULL DEFAULT '{}',  -- of the machine: processors, memory, kernel
	status     TEXT NOT NULL DEFAULT '{}',  -- api.Status, as sent last
	eta        BIGINT NOT NULL DEFAULT 0,   -- when the machine should have asked again
	power      TEXT NOT NULL DEFAULT '[]'   -- what was done to its power, the newest ten; JSON
);

CREATE TABLE users (
	name     TEXT PRIMARY KEY,
	role     TEXT NOT NULL,
	subject  TEXT NOT NULL DEFAULT '',      -- issuer and subject of OpenID Connect
	created  BIGINT NOT NULL
);
CREATE UNIQUE INDEX users_subject ON users (subject) WHERE subject <> '';

-- A token belongs to a user, to a machine, or (role join) to nothing.
CREATE TABLE tokens (
	hash     TEXT PRIMARY KEY,
	role     TEXT NOT NULL,
	owner    TEXT NOT NULL DEFAULT '',      -- name of a user or id of a machine
	label    TEXT NOT NULL DEFAULT '',      -- what it is for; "session" is one of a browser
	created  BIGINT NOT NULL,
	expires  BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX tokens_owner ON tokens (owner);

-- Contents that the store has durably.
CREATE TABLE blobs (
	hash     TEXT PRIMARY KEY,
	size     BIGINT NOT NULL,
	created  BIGINT NOT NULL
);

-- What the store may have although nothing refers to it, and since when: hashes of blobs, and names
-- of directories of tables.
CREATE TABLE garbage (
	name   TEXT PRIMARY KEY,
	since  BIGINT NOT NULL
);
CREATE INDEX garbage_since ON garbage (since);

CREATE TABLE bundles (
	hash      TEXT PRIMARY KEY REFERENCES blobs (hash),
	owner     TEXT NOT NULL,
	manifest  TEXT NOT NULL DEFAULT '{}',
	created   BIGINT NOT NULL
);

CREATE TABLE experiments (
	id        TEXT PRIMARY KEY,
	name      TEXT NOT NULL,
	owner     TEXT NOT NULL DEFAULT '',     -- '': a machine began it without the hub
	bundle    TEXT NOT NULL DEFAULT '',
	config    TEXT NOT NULL DEFAULT '',     -- SHA-256 of the configuration's text
	state     TEXT NOT NULL,                -- queued, running, done, stopped, failed
	priority  BIGINT NOT NULL DEFAULT 0,
	target    TEXT NOT NULL DEFAULT '',     -- a machine's name or a pool
	created   BIGINT NOT NULL,
	updated   BIGINT NOT NULL
);
CREATE INDEX experiments_state ON experiments (state, priority, created);
CREATE INDEX experiments_name ON experiments (name, created);

-- A machine's part of an experiment.
CREATE TABLE shares (
	experiment  TEXT NOT NULL REFERENCES experiments (id),
	machine     TEXT NOT NULL REFERENCES machines (id),
	idx         BIGINT NOT NULL DEFAULT 0,  -- of the part, from 0
	count       BIGINT NOT NULL DEFAULT 1,  -- of the parts
	state       TEXT NOT NULL,              -- as of experiments
	lease       BIGINT NOT NULL DEFAULT 0,  -- until when the machine has it
	status      TEXT NOT NULL DEFAULT '{}', -- api.Progress, as sent last
	request     TEXT NOT NULL DEFAULT '',   -- hold, resume or stop: passed on until it is followed
	created     BIGINT NOT NULL,
	updated     BIGINT NOT NULL,
	PRIMARY KEY (experiment, machine)
);
CREATE INDEX shares_machine ON shares (machine, state);

-- One row per record; seq is the order of arrival.
CREATE TABLE records (
	seq         {{serial}},
	experiment  TEXT NOT NULL REFERENCES experiments (id),
	machine     TEXT NOT NULL REFERENCES machines (id),
	slot        BIGINT NOT NULL,
	attempt     BIGINT NOT NULL,
	blob        TEXT NOT NULL REFERENCES blobs (hash),
	received    BIGINT NOT NULL,
	UNIQUE (experiment, machine, slot, attempt)
);
CREATE INDEX records_blob ON records (blob);

-- The other files of a shipped directory, as sent last. They change with each boot, so that they are
-- here, and not in the store: what the store has is never replaced.
CREATE TABLE files (
	experiment  TEXT NOT NULL REFERENCES experiments (id),
	machine     TEXT NOT NULL REFERENCES machines (id),
	name        TEXT NOT NULL,
	hash        TEXT NOT NULL,
	content     {{bytes}} NOT NULL,         -- gzip
	received    BIGINT NOT NULL,
	PRIMARY KEY (experiment, machine, name)
);

CREATE TABLE alerts (
	id          TEXT PRIMARY KEY,
	kind        TEXT NOT NULL,              -- what is wrong: overdue, change, ...
	subject     TEXT NOT NULL,              -- one alert is open per kind and subject
	machine     TEXT NOT NULL DEFAULT '',   -- that is silent: its next message closes the alert
	experiment  TEXT NOT NULL DEFAULT '',
	text        TEXT NOT NULL,
	state       TEXT NOT NULL,              -- open, closed
	muted       BIGINT NOT NULL DEFAULT 0,  -- until when
	created     BIGINT NOT NULL,
	closed      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX alerts_machine ON alerts (machine) WHERE state = 'open';
CREATE UNIQUE INDEX alerts_open ON alerts (kind, subject) WHERE state = 'open';
