-- How much the machines of an experiment differ, as JSON of compare.Levels. It is empty if the
-- experiment could not be reduced, or was before this was stored.
ALTER TABLE reduced ADD COLUMN machines TEXT NOT NULL DEFAULT '';
