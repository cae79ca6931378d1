-- What only the pages of one experiment and of one machine show of a share: JSON of api.Details, as
-- sent last. Lists do not read it. Shares of before have it in their status until they report again.
ALTER TABLE shares ADD COLUMN details TEXT NOT NULL DEFAULT '';

CREATE INDEX shares_newest ON shares (machine, created);
CREATE INDEX files_newest ON files (machine, name, received);
