-- Whether the target of an experiment is a pool; else it is a machine. Machines are never removed,
-- so that a target that is no machine's name was a pool's. A name that both had was the machine's:
-- it alone gets what is left.
ALTER TABLE experiments ADD COLUMN to_pool BIGINT NOT NULL DEFAULT 0;
UPDATE experiments SET to_pool = 1 WHERE target <> ''
	AND NOT EXISTS (SELECT 1 FROM machines m WHERE m.name = experiments.target);
