-- The token that a token was made with, so that one that leaked can be revoked together with those
-- that were made with it. Of tokens that were made before it is not known.
ALTER TABLE tokens ADD COLUMN maker TEXT NOT NULL DEFAULT '';
CREATE INDEX tokens_maker ON tokens (maker) WHERE maker <> '';
