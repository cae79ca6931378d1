-- What the history of an experiment's name is made from: the values of the executions of a key in a
-- version on a machine, reduced to one number each.
CREATE TABLE points (
	experiment  TEXT NOT NULL REFERENCES experiments (id),
	name        TEXT NOT NULL,              -- of the experiment
	version     TEXT NOT NULL,
	source      TEXT NOT NULL,              -- of the version's label: history.Version
	ord         BIGINT NOT NULL,            -- order of the versions of a name: the smallest counts
	key         TEXT NOT NULL,
	machine     TEXT NOT NULL,              -- name
	control     BIGINT NOT NULL,
	unit        TEXT NOT NULL,
	vals        TEXT NOT NULL,              -- JSON: an array of numbers
	PRIMARY KEY (experiment, version, key, machine)
);
CREATE INDEX points_name ON points (name, key, machine);

-- Experiments that were reduced, and when they had changed last.
CREATE TABLE reduced (
	experiment  TEXT PRIMARY KEY REFERENCES experiments (id),
	updated     BIGINT NOT NULL,
	error       TEXT NOT NULL DEFAULT ''
);
