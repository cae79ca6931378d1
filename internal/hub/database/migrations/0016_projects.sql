-- Projects separate what people see. An experiment belongs to one. What is found by the name of
-- experiments (histories, series, events, states, runs and artifacts of a schedule) has the name
-- PROJECT/NAME, or in the project default NAME, as before.
ALTER TABLE experiments ADD COLUMN project TEXT NOT NULL DEFAULT 'default';

-- The role of a user in each project, JSON; {}: in default, the user's role.
ALTER TABLE users ADD COLUMN projects TEXT NOT NULL DEFAULT '{}';

-- The projects that may use the machines of a pool; one that is not here is open to all.
CREATE TABLE pools (
	pool     TEXT NOT NULL,
	project  TEXT NOT NULL,
	PRIMARY KEY (pool, project)
);

-- Who submits a bundle has sent it: the hash of what another user has sent is not enough.
CREATE TABLE sent_bundles (
	hash      TEXT NOT NULL REFERENCES blobs (hash),
	owner     TEXT NOT NULL,
	manifest  TEXT NOT NULL DEFAULT '{}',
	created   BIGINT NOT NULL,
	PRIMARY KEY (hash, owner)
);
INSERT INTO sent_bundles (hash, owner, manifest, created) SELECT hash, owner, manifest, created FROM bundles;
DROP TABLE bundles;
ALTER TABLE sent_bundles RENAME TO bundles;
