-- What an event needs before people are told of it. JSON: database.Again.
ALTER TABLE events ADD COLUMN again TEXT NOT NULL DEFAULT '{}';

-- The machine that is to measure a run; '' is that of the schedule.
ALTER TABLE runs ADD COLUMN machine TEXT NOT NULL DEFAULT '';
