-- How many machines share the experiment, and whether parts are given to machines.
ALTER TABLE experiments ADD COLUMN parts BIGINT NOT NULL DEFAULT 1;
ALTER TABLE experiments ADD COLUMN held BIGINT NOT NULL DEFAULT 0;

-- How many deadlines have passed since the machine reported last.
ALTER TABLE shares ADD COLUMN missed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX shares_lease ON shares (state, lease);

-- When a process of the hub has looked for such machines last: one row.
CREATE TABLE looks (
	id  BIGINT PRIMARY KEY,
	at  BIGINT NOT NULL
);
