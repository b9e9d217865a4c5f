-- Version 7 of the schema: what happens to a verification is told as events of its search.

CREATE TABLE events_7 (
	search   TEXT NOT NULL REFERENCES searches(id) ON DELETE CASCADE,
	sequence INTEGER NOT NULL,
	kind     TEXT NOT NULL CHECK (kind IN ('state', 'progress', 'incumbent', 'verification')),
	at_us    INTEGER NOT NULL,
	body     TEXT NOT NULL CHECK (json_valid(body)),
	PRIMARY KEY (search, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO events_7 SELECT search, sequence, kind, at_us, body FROM events;
DROP TABLE events;
ALTER TABLE events_7 RENAME TO events;

-- A job that ended elsewhere comes with its events: only one that begins here is told by this.
CREATE TRIGGER verification_told AFTER INSERT ON verification_jobs WHEN NEW.state = 'queued'
	BEGIN INSERT INTO events(search, sequence, kind, at_us, body) SELECT NEW.search,
		1 + coalesce((SELECT max(sequence) FROM events WHERE search = NEW.search), 0), 'verification', NEW.created_us,
		json_object('state', NEW.state, 'plans', NEW.plans, 'attempt', NEW.attempt); END;
CREATE TRIGGER verification_told_change AFTER UPDATE OF state ON verification_jobs WHEN NEW.state <> OLD.state OR NEW.attempt <> OLD.attempt
	BEGIN INSERT INTO events(search, sequence, kind, at_us, body) SELECT NEW.search,
		1 + coalesce((SELECT max(sequence) FROM events WHERE search = NEW.search), 0), 'verification',
		coalesce(CASE NEW.state WHEN 'running' THEN NEW.started_us WHEN 'queued' THEN NULL ELSE NEW.ended_us END, NEW.created_us),
		json_object('state', NEW.state, 'plans', NEW.plans, 'attempt', NEW.attempt, 'verifier', NEW.verifier, 'error', NEW.error); END;
