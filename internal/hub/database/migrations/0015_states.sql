-- What states of machines did to keys: their fingerprints, by which they are known again.
CREATE TABLE states (
	machine  TEXT NOT NULL,                  -- name
	name     TEXT NOT NULL,                  -- of the experiments in which it was found
	version  TEXT NOT NULL,                  -- with which it began
	at       BIGINT NOT NULL,                -- order of that version, as in points
	effects  TEXT NOT NULL,                  -- JSON: logarithm of a ratio, by key
	PRIMARY KEY (machine, name, version)
);
