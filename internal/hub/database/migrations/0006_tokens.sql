-- The token that a session was made with, and with which it ends. Of sessions that were made before
-- it is not known: people log in again.
ALTER TABLE tokens ADD COLUMN parent TEXT REFERENCES tokens (hash) ON DELETE CASCADE;
CREATE INDEX tokens_parent ON tokens (parent);
DELETE FROM tokens WHERE label = 'session';

-- When the tokens that are made with it end at the latest; 0: never.
ALTER TABLE tokens ADD COLUMN bound BIGINT NOT NULL DEFAULT 0;
UPDATE tokens SET bound = expires;
