-- How far the hub has looked at a repository that it watches.
CREATE TABLE watched (
	schedule  TEXT PRIMARY KEY,
	head      TEXT NOT NULL DEFAULT '',      -- the newest revision for which there is a run
	night     BIGINT NOT NULL DEFAULT 0      -- the last time of day that was looked at
);

-- A revision that the hub measures by itself, or because a person has asked for it in a comment.
CREATE TABLE runs (
	seq         {{serial}},
	id          TEXT NOT NULL UNIQUE,        -- of its experiment, too
	schedule    TEXT NOT NULL,
	cause       TEXT NOT NULL,               -- commit REVISION, night DATE, comment ID
	revision    TEXT NOT NULL,               -- '' until the change was looked at
	base        TEXT NOT NULL DEFAULT '',    -- the revision that it is compared with
	change      BIGINT NOT NULL DEFAULT 0,   -- number of the pull or merge request; 0: none
	asked       TEXT NOT NULL DEFAULT '',    -- who has asked: untrusted
	words       TEXT NOT NULL DEFAULT '',    -- what the comment says after the command: untrusted
	state       TEXT NOT NULL,               -- asked, waiting, measuring, ended
	verdict     TEXT NOT NULL DEFAULT '',
	text        TEXT NOT NULL DEFAULT '',    -- a sentence
	created     BIGINT NOT NULL,
	updated     BIGINT NOT NULL,
	UNIQUE (schedule, cause)
);
CREATE INDEX runs_state ON runs (schedule, state);
CREATE INDEX runs_updated ON runs (updated);

-- What builds have made of revisions.
CREATE TABLE artifacts (
	schedule  TEXT NOT NULL,
	revision  TEXT NOT NULL,
	hash      TEXT NOT NULL REFERENCES blobs (hash),
	created   BIGINT NOT NULL,
	used      BIGINT NOT NULL,
	PRIMARY KEY (schedule, revision)
);
CREATE INDEX artifacts_hash ON artifacts (hash);

-- What is to be told to the forge, once each. What is told is made of the run at that time.
CREATE TABLE outbox (
	seq    {{serial}},
	run    TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	kind   TEXT NOT NULL,                    -- begun, check, comment
	tries  BIGINT NOT NULL DEFAULT 0,
	next   BIGINT NOT NULL DEFAULT 0,        -- not before; while it is sent, the end of the lease
	done   BIGINT NOT NULL DEFAULT 0,        -- when; 0: not yet
	error  TEXT NOT NULL DEFAULT '',         -- of the last try
	UNIQUE (run, kind)
);
CREATE INDEX outbox_next ON outbox (done, next);
