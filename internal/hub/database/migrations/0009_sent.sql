-- How many bytes of bundles a user has sent on a day, in days since 1970.
CREATE TABLE sent (
	owner  TEXT NOT NULL,
	day    BIGINT NOT NULL,
	bytes  BIGINT NOT NULL,
	PRIMARY KEY (owner, day)
);
