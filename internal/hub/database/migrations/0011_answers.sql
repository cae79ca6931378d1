-- What an experiment has shown: a sentence, and the comparison of its arms as JSON of
-- compare.Result; both are empty if it could not be reduced. Experiments of before are reduced again.
ALTER TABLE reduced ADD COLUMN answer TEXT NOT NULL DEFAULT '';
ALTER TABLE reduced ADD COLUMN comparison TEXT NOT NULL DEFAULT '';
UPDATE reduced SET updated = 0;
