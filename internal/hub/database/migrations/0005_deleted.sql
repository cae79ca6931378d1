-- The parts of experiments that were deleted: a machine that ships one learns that.
CREATE TABLE deleted (
	experiment  TEXT NOT NULL,
	machine     TEXT NOT NULL,
	at          BIGINT NOT NULL,
	PRIMARY KEY (experiment, machine)
);
